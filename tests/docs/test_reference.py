"""The generated reference has every command, every key and every name; pages that list algorithms have all of them."""

from __future__ import annotations

import re

import clue
from clue.cli.arguments import command_line
from clue.collectives import ALGORITHMS
from clue.config import SCHEMA_KINDS
from docs.site import reference
from tests.docs.pages import ROOT, SITE
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


def test_what_help_says_below_the_options_is_there() -> None:
    """Columns of tables, examples, and lines for start files of shells are as on the terminal."""
    assert "processor athlon+pentium-ii, processors 1+8, processes 3+1." in MADE["reference/commands/model.md"]
    assert "has runs\n(seconds, separated by blanks) in place of measured." in MADE["reference/commands/model.md"]
    assert '\n~/.bashrc:\n  eval "$(clue completion bash)"\n' in MADE["reference/commands/completion.md"]


def test_every_form_has_its_keys() -> None:
    """Keys of nested forms are listed too, and links lead to headings of the page."""
    page = MADE["reference/yaml/machine.md"]
    for key in ("node_types", "performance_factor", "send_delay", "copy_bandwidth", "routers_per_group"):
        assert f"| `{key}`" in page, key
    assert "name: two-hosts" in page
    assert "`criterion`" in MADE["reference/yaml/scenario.md"]
    assert {f"reference/yaml/{kind}.md" for kind in SCHEMA_KINDS} == {uri for uri in MADE if "/yaml/" in uri}
    part = MADE["reference/yaml/part.md"]
    assert "[Switch part](#SwitchPartForm)" in part and "| `rack_units`" in part
    assert "(#DragonflyForm)" in page.replace("Dragonfly](#", "Dragonfly](#") or "](#" in page


def test_every_name_of_the_package_is_there() -> None:
    """All names of ``clue.__all__`` are there, except the version."""
    page = MADE["reference/python.md"]
    for name in clue.__all__:
        assert f".{name}\n" in page or name.startswith("_"), name


def test_every_algorithm_of_a_collective_is_listed() -> None:
    """The README of machines lists the algorithms of each collective as the code does."""
    rows = re.findall(r"^\| (\w+) \| ([\w, ]+) \|$", (ROOT / "machines" / "README.md").read_text("utf-8"), re.MULTILINE)
    listed = {name: names.split(", ") for name, names in rows if name in ALGORITHMS}
    assert listed == {name: list(algorithms) for name, algorithms in ALGORITHMS.items()}


def test_every_algorithm_of_a_collective_is_described() -> None:
    """The model describes each algorithm once, under the heading of its collectives."""
    page = (SITE / "model" / "collectives.md").read_text("utf-8")
    described = {}
    for heading, text in re.findall(r"^### (.+)\n((?:(?!#).*\n)*)", page, re.MULTILINE):
        cells = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
        described[tuple(heading.split(", "))] = sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell))
    assert sorted(name for names in described for name in names) == sorted(ALGORITHMS)
    for names, algorithms in described.items():
        assert algorithms == sorted({each for name in names for each in ALGORITHMS[name]})
