"""Completion by Tab: what clue offers at the cursor, asked the way shells ask."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clue.cli import main
from clue.cli.arguments import command_line
from clue.cli.completion import answer
from clue.config import shipped
from tests.cli.test_options import commands


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that holds files of several kinds."""
    monkeypatch.chdir(tmp_path)
    for name in ("heat.yaml", "heat.py", "notes with blanks.txt"):
        Path(name).write_text("")
    Path("jacobi.clue").mkdir()
    Path("recordings").mkdir()
    return tmp_path


class LeftError(Exception):
    """Raised in place of the end of the process."""


def leave(status: int) -> None:
    """Raise instead of ending the process."""
    assert status == 0
    raise LeftError


def complete(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the completions of a line, requested the way argcomplete's scripts request them."""
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line)),
             "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}  # fmt: skip
    output = io.StringIO()
    with monkeypatch.context() as patch:
        for name, value in asked.items():
            patch.setenv(name, value)
        patch.setattr("argcomplete.finders.CompletionFinder._init_debug_stream", lambda _: _quiet(patch))
        with pytest.raises(LeftError):
            answer(output, leave)
    return output.getvalue().split("\n") if output.getvalue() else []


def _quiet(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("argcomplete.io.debug_stream", io.StringIO())


def test_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of the first level, and of ``model``, are completed."""
    (subcommands,) = (a for a in command_line()._actions if isinstance(a, argparse._SubParsersAction))
    assert set(complete("clue ", monkeypatch)) == set(subcommands.choices)
    assert complete("clue sim", monkeypatch) == ["simulate"]
    assert set(complete("clue model ", monkeypatch)) >= {"fit", "show", "predict", "best", "graph"}


COMMANDS = list(commands(command_line()))


@pytest.mark.parametrize(("name", "parser"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_all_options_of_all_commands(
    name: str, parser: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ``--`` a command completes exactly its long options."""
    options = {word for action in parser._actions for word in action.option_strings if word.startswith("--")}
    assert set(complete(f"clue {name} --", monkeypatch)) == options


def test_shipped_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenario names complete configurations, and machine names complete machines, both beside files."""
    names = set(complete("clue simulate ", monkeypatch))
    assert names >= {*shipped("scenarios"), "heat.yaml"} and not names & set(shipped("machines"))
    assert set(complete("clue inspect ", monkeypatch)) >= {*shipped("scenarios"), *shipped("machines"), "jacobi.clue"}
    assert complete("clue run --machine kish", monkeypatch) == ["kishimoto"]
    assert complete("clue model best m.yaml --machine=kish", monkeypatch) == ["--machine=kishimoto"]
    assert complete("clue init --other two-", monkeypatch) == ["two-hosts"]
    assert complete("clue run wien", monkeypatch) == ["wien97"]
    assert complete("clue serve wien", monkeypatch) == ["wien97"]
    assert complete("clue forecast best pdgemm --machine kish", monkeypatch) == ["kishimoto"]
    assert set(complete("clue forecast time d", monkeypatch)) >= {"dgemm", "dtrsm"}
    assert not set(complete("clue validate ", monkeypatch)) & set(shipped("scenarios"))


def test_choices_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices and folders (with a slash) are completed, blanks are escaped, and numbers get no completion."""
    assert set(complete("clue simulate heat.yaml --engine ", monkeypatch)) == {"auto", "reference", "fast"}
    assert set(complete("clue schema ", monkeypatch)) >= {"machine", "scenario", "all"}
    assert complete("clue simulate rec", monkeypatch) == ["recordings/"]
    assert complete("clue simulate not", monkeypatch) == ["notes\\ with\\ blanks.txt"]
    assert complete("clue simulate heat.yaml --top ", monkeypatch) == []


def test_a_skeleton_may_leave_out_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """``skeleton`` without ``make`` completes the same options, as on the command line."""
    assert complete("clue skeleton jacobi.clue --sec", monkeypatch) == ["--seconds"]
    assert complete("clue skeleton make jacobi.clue --sec", monkeypatch) == ["--seconds"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_ask(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``clue completion SHELL`` prints a script in the shell's language."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_ARGCOMPLETE" in script and "clue" in script


#: By shell: commands that request the completions of ``clue simulate wie``.
ASKING = {
    "bash": 'eval "$(clue completion bash)"; COMP_LINE="clue simulate wie"; COMP_POINT=${#COMP_LINE}; '
    'COMP_WORDS=(clue simulate wie); COMP_CWORD=2; COMP_TYPE=9; _python_argcomplete clue wie simulate; '
    'echo "${COMPREPLY[@]}"',
    "fish": "clue completion fish | source; complete -C 'clue simulate wie'",
    "zsh": 'autoload -U compinit; compinit -D; eval "$(clue completion zsh)"; echo $_comps[clue]; '
    'BUFFER="clue simulate wie"; CURSOR=17; words=(clue simulate wie); _describe() { print -l -- ${(P)2} }; '
    "_python_argcomplete",
}  # fmt: skip


@pytest.mark.parametrize("shell", ASKING)
def test_the_shell_itself_completes(shell: str) -> None:
    """A real shell, set up as the help says, completes ``wie`` to ``wien97``."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    no_start_file = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}[shell]
    done = subprocess.run(
        [shell, *no_start_file, "-c", ASKING[shell]], capture_output=True, text=True, env=environment, check=False
    )
    assert "wien97" in done.stdout, done.stderr
