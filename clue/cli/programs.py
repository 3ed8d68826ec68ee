"""Command lines that end with a program and its arguments, or with a file and clue's own options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clue.programs import OPTIONS, program_name

#: Options of clue's commands that few programs have: after a program's name they may be meant for clue.
_CLUES = ("-o", "--output", "--mpiexec", "--repeats", "--limit", "--json", "--machine", "--samples", "--plots")
#: Command whose line never ends with a configuration.
_PROGRAMS_ONLY = "record"


def options_first(words: Sequence[str], valued: Mapping[str, Sequence[str]]) -> list[str]:
    """Put the options of ``clue run CONFIG.yaml --json`` before the configuration.

    Words after a program are the program's arguments and are not moved; a program is a ``.py`` file, a module (``-m``)
    or code (``-c``).

    Args:
        words: The command line.
        valued: Options that take a value, by command, so that the value is not mistaken for the configuration.
    """
    if not words or words[0] not in valued:
        return list(words)
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in OPTIONS:
        at += 2 if words[at] in valued[words[0]] else 1
    if at >= len(words) or words[at - 1] == "--":
        return list(words)
    if is_program(words[at]):
        return [*words[:at], "--", *words[at:]]
    if words[0] == _PROGRAMS_ONLY:
        return list(words)
    return [*words[:at], *words[at + 1 :], words[at]]


def without_dashes(words: Sequence[str]) -> Sequence[str]:
    """Return the words after clue's options: a first ``--`` only ends these, a later one belongs to the program."""
    return words[1:] if words[:1] == ["--"] else words


def is_program(word: str) -> bool:
    """Tell whether a word starts a program rather than naming a configuration."""
    return word in OPTIONS or word.endswith(".py")


def meant_for_clue(program: Sequence[str]) -> list[str]:
    """Return a warning if arguments of a program, which the first words name, look like options of clue."""
    first = 2 if program[0] in OPTIONS else 1
    alike = [word for word in program[first:] if word.partition("=")[0] in _CLUES]
    if not alike:
        return []
    return [
        f"{program_name(program)}: {', '.join(alike)} went to the program: options of clue must precede the program"
    ]
