"""Load the known errors of predictions: from the file shipped with clue, or from a site's own."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Annotated

from pydantic import Field

from clue.config.document import Path as Steps
from clue.config.forms import Form
from clue.config.quantities import PositiveInt
from clue.config.reading import Reading
from clue.config.sources import read_file
from clue.errors import UsageError
from clue.files import is_file
from clue.uncertainty.model_error import LARGEST, Kind, ModelError, Scatter
from clue.xdg import user_folder

_SHIPPED = Path(__file__).with_name("model-error.yaml")
#: Environment variable that names a site's file.
VARIABLE = "CLUE_MODEL_ERROR"

_Range = Annotated[list[Annotated[float, Field(ge=0)] | None], Field(min_length=2, max_length=2)]


class ScatterForm(Form):
    """The distribution of logarithms of ratios around 0."""

    deviation: Annotated[float, Field(ge=0, le=LARGEST)]
    degrees: Annotated[float, Field(ge=3)]


class KindForm(Form):
    """Cases of one kind."""

    communication: _Range
    message: _Range
    cases: Annotated[int, Field(ge=0)]
    own: ScatterForm


class ModelErrorForm(Form):
    """The errors of predictions."""

    source: str
    date: str
    cases: PositiveInt
    programs: PositiveInt
    shared: ScatterForm
    kinds: Annotated[list[KindForm], Field(min_length=1)]


def site_file() -> Path:
    """Return the path of a site's own file: from ``CLUE_MODEL_ERROR``, else in the user's settings.

    Raises:
        UsageError: If neither the environment nor a home folder determines it.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    settings = user_folder("XDG_CONFIG_HOME", ".config")
    if settings is None:
        raise UsageError(f"{VARIABLE} must name a file where there is no home folder, got none")
    return settings / "model-error.yaml"


def shipped_model_error() -> ModelError:
    """Return the model error shipped with clue."""
    return load_model_error(_SHIPPED)


def known_model_error(*, may_lack: bool = False) -> ModelError:
    """Return the model error of a site's own file, if there is one, else the shipped one.

    Args:
        may_lack: Whether a file that the environment names need not exist, as it is written later.

    Raises:
        ConfigError: If the file has faults.
    """
    try:
        file = site_file()
    except UsageError:  # no home folder, so no settings in it
        return shipped_model_error()
    must_be_read = bool(os.environ.get(VARIABLE)) and not may_lack
    return load_model_error(file) if must_be_read or is_file(file) else shipped_model_error()


def load_model_error(file: Path) -> ModelError:
    """Read a file of model errors.

    Raises:
        ConfigError: If the file has faults.
    """
    form = Reading(read_file(file)).checked(ModelErrorForm, _faults_of)
    kinds = tuple(map(_kind, form.kinds))
    return ModelError(form.source, form.date, form.cases, form.programs, _scatter(form.shared), kinds)


def _faults_of(form: ModelErrorForm) -> Iterator[tuple[Steps, str]]:
    if not _hold_all(tuple(map(_kind, form.kinds))):
        yield ("kinds",), f"must cover every case once, from [0, …] to […, null], got {len(form.kinds)}"


def _kind(form: KindForm) -> Kind:
    return Kind(_ends(form.communication), _ends(form.message), form.cases, _scatter(form.own))


def _scatter(form: ScatterForm) -> Scatter:
    return Scatter(form.deviation, form.degrees)


def _ends(given: list[float | None]) -> tuple[float, float]:
    least, most = given
    return (0.0 if least is None else least, math.inf if most is None else most)


def _hold_all(kinds: tuple[Kind, ...]) -> bool:
    """Tell whether kinds form a grid without gaps from 0 to infinity."""
    found = {(kind.communication, kind.message) for kind in kinds}
    edges = [sorted(set(chain(*axis))) for axis in zip(*found, strict=True)]
    whole = set(product(*map(pairwise, edges)))
    ends_right = all(each[0] == 0 and math.isinf(each[-1]) for each in edges)
    return ends_right and len(kinds) == len(whole) and found == whole
