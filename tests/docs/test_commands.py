"""The commands of the README, the site and the examples run here, page by page, each in its own folder."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clue.cli import main
from clue.cli.arguments import command_line
from tests.docs.pages import PAGES, ROOT, SITE, Block, blocks, prose

TYPED = {"sh", "setup"}
#: Characters that only a shell interprets.
SHELL = re.compile(r"[|<>&;$*]")


def name_of(page: Path) -> str:
    """Return the name of a page for a test."""
    return page.relative_to(ROOT).as_posix()


def is_run(block: Block) -> bool:
    """Return whether a block is run or, if it is a file, needed."""
    return not block.not_run and (block.language in {*TYPED, "python"} or bool(block.title))


RUN = [page for page in PAGES if any(is_run(block) and not block.title for block in blocks(page))]
NOT_RUN = [
    pytest.param(block.not_run, id=f"{name_of(page)}:{block.line}")
    for page in PAGES
    for block in blocks(page)
    if block.not_run
]


class Typist:
    """Types the commands of pages; a recording that several pages make is made once."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._made: dict[str, list[Path]] = {}

    def type_command(self, command: str) -> None:
        """Run a command in the current folder."""
        words = shlex.split(command, comments=True)
        if words[0] != "clue" or SHELL.search(command):
            environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            done = subprocess.run(
                ["bash", "-ec", command], env=environment, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        elif words[1] == "record" and command in self._made:
            for trace in self._made[command]:
                shutil.copytree(trace, trace.name, dirs_exist_ok=True)
        else:
            before = set(Path().glob("*.clue"))
            assert main(words[1:]) == 0, command
            if words[1] == "record":
                folder = self._kept / str(len(self._made))
                new = sorted(set(Path().glob("*.clue")) - before)
                self._made[command] = [Path(shutil.copytree(each, folder / each.name)) for each in new]


@pytest.fixture(scope="module")
def typist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    """Yield a typist, with a cache for these tests alone; each recording that a configuration needs is made once."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("repeated", "kept"):
            patch.setattr(f"clue.recording.{module}.OFTEN", 1)
        patch.setenv("CLUE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield Typist(tmp_path_factory.mktemp("recordings"))


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_what_a_page_says_to_type_works(
    page: Path, typist: Typist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page's commands and programs run from top to bottom, with the files that the page shows."""
    monkeypatch.chdir(tmp_path)
    if page.is_relative_to(ROOT / "examples"):
        shutil.copytree(page.parent, tmp_path, dirs_exist_ok=True)
    else:
        for shipped in ("scenarios", "machines", "examples"):
            Path(shipped).symlink_to(ROOT / shipped)
    for block in blocks(page):
        if block.title and not block.not_run:
            Path(block.title).write_text(block.text + "\n", encoding="utf-8")
        elif block.not_run:
            continue
        elif block.language in TYPED:
            for command in block.commands():
                typist.type_command(command)
        elif block.language == "python":
            exec(compile(block.text, f"{page}:{block.line}", "exec"), {})
    capfd.readouterr()


@pytest.mark.parametrize("reason", NOT_RUN)
def test_what_is_not_run_says_why(reason: str) -> None:
    """Skipped tests thus list the commands that are not tried, with their reasons."""
    assert reason.strip(), "a mark must say why"
    pytest.skip(reason)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_stand_in_blocks_that_are_run(page: Path) -> None:
    """A block of another language that begins with a command would not be tested."""
    assert not re.search(r"(?m)^ +```", page.read_text(encoding="utf-8")), "a block must begin where its line does"
    for block in blocks(page):
        if block.language not in TYPED and not block.title:
            assert not re.match(r"(\$ )?(clue|mpiexec|pip|python|srun|sbatch) ", block.text), (
                f"{name_of(page)}:{block.line}: must be marked sh"
            )


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser | None]:
    """Return the words that may follow a command: its options, and its subcommands with their parsers."""
    found: dict[str, argparse.ArgumentParser | None] = {}
    for action in parser._actions:
        found |= dict.fromkeys(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            found |= action.choices
    return found


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.is_relative_to(SITE) or page.parent == ROOT], ids=name_of
)
def test_commands_in_sentences_exist(page: Path) -> None:
    """In text, a command between backticks must exist, and so must its long options."""
    for command in re.findall(r"`(clue [^`]+)`", prose(page)):
        parser: argparse.ArgumentParser = command_line()
        for word in command.split()[1:]:
            known = options_of(parser)
            inner = known.get(word)
            if inner is not None:
                parser = inner
            elif re.match(r"--[a-z]", word):
                below = [name for deeper in known.values() if deeper for name in options_of(deeper)]
                assert word.split("=")[0] in [*known, *below], f"{name_of(page)}: {command}"
        assert parser.prog != "clue", f"{name_of(page)}: {command}"
