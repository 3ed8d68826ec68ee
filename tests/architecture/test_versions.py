"""Facts about clue that several files state agree: version, date, requirements, and types."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
import yaml

import clue

ROOT = Path(__file__).parents[2]
#: Packages with another name in conda than on PyPI.
CONDA = {"matplotlib": "matplotlib-base", "zlib-ng": "python-zlib-ng"}


def required() -> list[str]:
    """Return the requirements of clue from pyproject.toml: name and versions, without conditions."""
    text = (ROOT / "pyproject.toml").read_text()
    (block,) = re.findall(r"^dependencies = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    return [each.partition(";")[0].strip() for each in re.findall(r'"([^"]+)"', block)]


def test_the_changelog_begins_with_what_is_not_released() -> None:
    """The changelog has Unreleased first, then this version, then earlier versions with dates, each once."""
    found = re.findall(r"^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert found[0] == ("Unreleased", "")
    versions = [tuple(map(int, version.split("."))) for version, _ in found[1:]]
    dates = [datetime.date.fromisoformat(date) for _, date in found[1:]]
    assert found[1][0] == clue.__version__
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_the_citation_is_of_this_version() -> None:
    """The citation has this version, the changelog's date and the licence of pyproject.toml."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == clue.__version__
    assert f"## [{clue.__version__}] - {cited['date-released']}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f'license = "{cited["license"]}"' in (ROOT / "pyproject.toml").read_text()


def test_the_conda_package_needs_what_the_wheel_needs() -> None:
    """The conda recipe has this version and the requirements of pyproject.toml, by their names in conda."""
    recipe = yaml.safe_load((ROOT / ".ci" / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == clue.__version__
    needs = {re.split(r"[<>=]", each)[0]: re.sub(r"^[^<>=]+", "", each) for each in required()}
    stated = dict(each.split(" ", 1) for each in recipe["requirements"]["run"])
    assert stated.pop("python") == ">=3.10"
    assert stated == {CONDA.get(name, name): versions for name, versions in needs.items()}


@pytest.mark.parametrize("package", ["clue", "virtual_layer"])
def test_the_packages_say_that_they_are_typed(package: str) -> None:
    """Both packages have py.typed for type checkers; .ci/run looks for it in the wheel."""
    assert (ROOT / package / "py.typed").read_bytes() == b""
