"""Reference pages: commands from their parser, keys of YAML files from the schema, Python from docstrings."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import clue
from clue.cli.arguments import command_line
from clue.config import json_schema
from docs.site.links import ROOT

#: Of each form of YAML file: what it says, and a shipped example.
FORMS: dict[str, tuple[str, str]] = {
    "machine": ("A cluster that exists or could be bought: nodes, processors, network.", "machines/two-hosts.yaml"),
    "simulation": ("One program on one machine, for `clue simulate` and `clue run`.", "scenarios/pingpong.yaml"),
    "scenario": ("A comparison of options to buy, for `clue simulate` and `clue run`.", "scenarios/wien97.yaml"),
    "validation": ("Predictions beside run times that were measured, for `clue validate`.", ""),
    "sequence": (
        "Several operations and their transfers, for `clue forecast sequence`.",
        "examples/forecast/complex-product.yaml",
    ),
    "part": (
        "A processor, network or switch with published figures, for machines, costs and `clue calibrate processor`.",
        "machines/parts/mellanox-qm8790.yaml",
    ),
}
#: Headings of the Python reference, and what stands under each; names of ``clue`` that are missing here come last.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "Record and open": ("record", "Trace", "TraceBuilder"),
    "Machines and configurations": ("load_machine", "load_config", "Machine", "Placement"),
    "Simulate": ("simulate", "simulate_sampled", "Result", "Steady"),
    "Compare": ("rank_options", "Scenario", "Ranking", "ReplayPredictor"),
    "Extrapolate and forecast": ("extrapolate", "forecast", "Forecaster", "Forecast"),
    "Errors": (
        "ClueError",
        "ConfigError",
        "TraceError",
        "RecordError",
        "ReplayError",
        "DeadlockError",
        "RefusedError",
        "UsageError",
    ),
}


def pages() -> dict[str, str]:
    """Return all reference pages by their source path on the site."""
    made = {f"reference/commands/{name}.md": text for name, text in _commands()}
    made |= {f"reference/yaml/{form}.md": _form(form) for form in FORMS}
    made["reference/python.md"] = _python()
    return made


def _commands() -> Iterator[tuple[str, str]]:
    for name, parser in _subparsers(command_line()):
        yield name, "\n".join([f"# clue {name}\n", *_command(parser, 2)])


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _command(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    if parser.description:
        yield _plain(parser.description) + "\n"
    kinds = list(_subparsers(parser))
    if not kinds or any(action.option_strings for action in parser._actions[1:]):
        yield f"```text\n{_usage(parser)}\n```\n"
    rows = [row for action in parser._actions if (row := _option(parser, action))]
    if rows:
        yield "| argument | meaning |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    if parser.epilog:
        yield f"```text\n{parser.epilog}\n```\n"
    for name, kind in kinds:
        yield f"{'#' * level} {parser.prog} {name}\n"
        yield from _command(kind, level + 1)


def _usage(parser: argparse.ArgumentParser) -> str:
    formatter = argparse.HelpFormatter(parser.prog, width=90)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return formatter.format_help().strip()


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    if isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)) or action.help == argparse.SUPPRESS:
        return ""
    formatter = parser._get_formatter()
    invocation = formatter._format_action_invocation(action)
    help_text = formatter._expand_help(action) if action.help else ""
    return f"| `{invocation}` | {_cell(_plain(help_text))} |"


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup in text that is none."""
    return re.sub(r"([<>*_\[\]{}])", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _form(form: str) -> str:
    about, example = FORMS[form]
    schema = json_schema(form)
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    parts = [f"# YAML: {form}\n", about + f" `clue schema {form}` prints the same as JSON Schema.\n"]
    if example:
        text = (ROOT / example).read_text(encoding="utf-8").rstrip()
        parts.append(f'```yaml title="{example}"\n{text}\n```\n')
    parts.append("## Keys\n")
    parts.append(_keys(schema, definitions))
    for name, definition in definitions.items():
        if definition.get("properties"):
            parts.append(f"## {_title(name)} {{ #{name} }}\n")
            parts.append(_plain(definition.get("description", "")) + "\n")
            parts.append(_keys(definition, definitions))
    return "\n".join(parts)


def _title(name: str) -> str:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name.removesuffix("Form").replace("Form", ""))
    return " ".join(words).capitalize()


def _keys(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return "One of: " + _kind(schema, definitions) + "\n"
    rows = ["| key | value | meaning |", "| --- | --- | --- |"]
    for key, value in properties.items():
        needed = " (required)" if key in schema.get("required", ()) else ""
        meaning = _plain(value.get("description", ""))
        if value.get("default") not in (None, [], {}):
            meaning += f" Default: `{value['default']}`."
        rows.append(f"| `{key}`{needed} | {_cell(_kind(value, definitions))} | {_cell(meaning)} |")
    return "\n".join(rows) + "\n"


#: Words for what JSON Schema calls a type.
_TYPES = {"string": "text", "boolean": "true or false", "integer": "whole number"}


def _kind(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Say in words what may stand at a key."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        definition = definitions[name]
        return f"[{_title(name)}](#{name})" if definition.get("properties") else _kind(definition, definitions)
    options = [each for several in ("anyOf", "oneOf", "allOf") for each in value.get(several, ())]
    if options:
        kinds = [_kind(each, definitions) for each in options if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in value or "const" in value:
        return ", ".join(f"`{each}`" for each in value.get("enum", [value.get("const")]))
    kind = value.get("type", "any")
    inner = value.get("items") if kind == "array" else value.get("additionalProperties")
    several = {"array": "list", "object": "keys"}.get(str(kind), _TYPES.get(str(kind), str(kind)))
    if not isinstance(inner, dict) or not inner:
        return several
    return ("list of " if kind == "array" else "names with ") + _kind(inner, definitions)


def _python() -> str:
    known = [name for names in SUBJECTS.values() for name in names]
    rest = tuple(name for name in clue.__all__ if name not in known and not name.startswith("_"))
    parts = [
        "# Python\n",
        "```python\nimport clue\n```\n",
        "Names are loaded when they are first used. `virtual_layer` is what programs import to name their phases.\n",
    ]
    for subject, names in {**SUBJECTS, **({"Further names": rest} if rest else {})}.items():
        parts.append(f"## {subject}\n")
        for name in names:
            thing = getattr(clue, name)
            members = "" if inspect.isclass(thing) else "\n    options:\n      members: false"
            parts.append(f"::: {thing.__module__}.{thing.__qualname__}{members}\n")
    parts.append("## Name a phase of a program\n\n::: virtual_layer.regions.region\n")
    return "\n".join(parts)
