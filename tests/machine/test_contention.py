"""Properties of all models of contention and all their parameters."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest

from clue.config.contention import MODELS
from clue.machine import Contention, Curve, FactorTable, Flows, NoContention, Ports
from clue.machine.contention import NUMBERS
from clue.machine.contention.topology import Dragonfly, FatTree, Switch, Switches, Torus

#: One sample of each model and topology, with all its figures.
SAMPLES: tuple[Contention, ...] = (
    NoContention(),
    FactorTable(((1, 1.0), (4, 2.0))),
    Ports(Curve.line(1.0, 2.0)),
    Flows(Switch(8.0)),
    Flows(Switches(2, 8.0, 2.0, 1.0)),
    Flows(FatTree((2, 2), (1, 1), (1, 1), (4.0, 6.0))),
    Flows(Torus((2, 2), 8.0)),
    Flows(Dragonfly(2, 2, 1, 1.0, 2.0, 3.0)),
)


def test_every_model_has_a_sample_a_number_and_a_key() -> None:
    """Each model has a sample here, a number and a key, so new models are tested as well."""
    models = set(get_args(Contention))
    assert {type(each) for each in SAMPLES} == models
    assert {each.name for each in models} == set(NUMBERS) == {"none", *MODELS}
    assert sorted(NUMBERS.values()) == list(range(len(models)))


@pytest.mark.parametrize("model", SAMPLES, ids=str)
def test_no_field_escapes_the_parameters(model: Contention) -> None:
    """Each field of a model is changed by exactly one parameter, and changed back.

    So are the over-subscription and each bandwidth and latency of a topology, those of levels one by one; nothing else
    of a topology is changed.
    """
    changed = [change(2.0) for change in model.parameters.values()]
    holder: Any = model.topology or model
    figures = ("bandwidth", "latency", "oversubscription")
    for name in [each.name for each in fields(holder)]:
        own = _levels(model, getattr(holder, name))
        values = [_levels(model, getattr(each.topology or each, name)) for each in changed]
        is_figure = holder is model or any(figure in name for figure in figures)
        assert [sum(of[i] != level for of in values) for i, level in enumerate(own)] == [is_figure] * len(own)
    for name, each in zip(model.parameters, changed, strict=True):
        assert each.parameters[name](0.5) == model


def _levels(model: Contention, value: object) -> tuple[object, ...]:
    """Return the value of each level of a topology, or the only one."""
    return value if isinstance(value, tuple) and model.topology is not None else (value,)


@pytest.mark.parametrize("model", SAMPLES, ids=str)
def test_every_model_is_changed_back_as_a_whole(model: Contention) -> None:
    """Scaling by 2 and then by 0.5 gives the same model; a model without parameters is not changed."""
    assert model.stronger(2.0).stronger(0.5) == model == model.busier(2.0).busier(0.5)
    assert model.later(2.0).later(0.5) == model
    assert (model.stronger(2.0) == model) == (not model.parameters)
