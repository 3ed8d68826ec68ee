"""The generated reference has every command, every key and every name."""

from __future__ import annotations

import clue
from clue.cli.arguments import command_line
from docs.site import reference
from tests.docs.test_commands import options_of

MADE = reference.pages()


def test_every_command_and_option_is_there() -> None:
    """Options of commands and of their subcommands are listed on the command's page."""
    commands = {name: parser for name, parser in options_of(command_line()).items() if parser}
    assert {f"reference/commands/{name}.md" for name in commands} == {uri for uri in MADE if "/commands/" in uri}
    for name, parser in commands.items():
        page = MADE[f"reference/commands/{name}.md"]
        for option, inner in options_of(parser).items():
            assert option in page or option in ("-h", "--help"), f"{name} {option}"
            for deeper in options_of(inner) if inner else ():
                assert deeper in page or deeper in ("-h", "--help"), f"{name} {option} {deeper}"


def test_every_form_has_its_keys() -> None:
    """Keys of nested forms are listed too, and links lead to headings of the page."""
    page = MADE["reference/yaml/machine.md"]
    for key in ("node_types", "performance_factor", "send_delay", "copy_bandwidth", "routers_per_group"):
        assert f"| `{key}`" in page, key
    assert "name: two-hosts" in page
    assert "`criterion`" in MADE["reference/yaml/scenario.md"]
    assert "(#DragonflyForm)" in page.replace("Dragonfly](#", "Dragonfly](#") or "](#" in page


def test_every_name_of_the_package_is_there() -> None:
    """All names of ``clue.__all__`` are there, except the version."""
    page = MADE["reference/python.md"]
    for name in clue.__all__:
        assert f".{name}\n" in page or name.startswith("_"), name
