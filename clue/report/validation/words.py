"""A validation in words: the accuracy of predictions, explanations of their errors, and what cannot be determined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clue.units import format_share

if TYPE_CHECKING:
    from clue.machine import Parameter
    from clue.validation import Refit, Validation


def parameter_name(parameter: Parameter) -> str:
    """Return the name of a parameter: ``"latency"``, ``"computation on fast"``."""
    link = " on " if parameter.name == "computation" else " "
    return f"{parameter.name}{link}{parameter.of}" if parameter.of else parameter.name


#: Factor within which a ratio of times counts as a thousand or a million, which suggests another unit.
_SAME_UNIT = 3.0
#: Words for a multiplier above 1, below 1, and of 2 or more.
_WORDS = {
    "computation": ("taking {} longer", "taking {} less time", "taking {} times as long"),
    "contention": ("{} stronger", "{} weaker", "{} times as strong"),
}
_OTHER_WORDS = ("{} higher", "{} lower", "{} times as high")


def change(refit: Refit) -> str:
    """Return the effect of a multiplier in words: ``"computation on fast taking 8.0% longer"``."""
    more, less, many = _WORDS.get(refit.parameter.name, _OTHER_WORDS)
    multiplier, name = refit.multiplier, parameter_name(refit.parameter)
    if abs(multiplier - 1) < 5e-4:
        return f"{name} unchanged"
    if multiplier >= 2:
        return f"{name} {many.format(f'{multiplier:.3g}')}"
    return f"{name} {(more if multiplier > 1 else less).format(percent(abs(multiplier - 1)))}"


def percent(share: float) -> str:
    """Return a share as a percentage: with one decimal below ten, else whole."""
    return format_share(share, 1 if share < 0.0995 else 0)


def verdict(validation: Validation) -> Iterator[str]:
    """Yield sentences on the accuracy of predictions, explanations of their errors, and what cannot be determined."""
    yield _how_right(validation)
    yield from _about_units(validation)
    known = [each for each in validation.refits if each.is_identifiable]
    if not validation.is_within_noise:
        yield from _explanation(validation, known)
    yield from _not_found_out(validation)


def _of_runs(validation: Validation) -> str:
    if validation.noise_is_measured:
        return "by which runs differ"
    why = " at least" if validation.spread_is_known else ", as each case has one"
    return f"by which runs are assumed to differ{why}"


def _how_right(validation: Validation) -> str:
    error, cases = percent(validation.error), len(validation.compared)
    of = "the one case" if cases == 1 else f"{cases} cases"
    opening = f"The mean absolute error of {of} is {error}"
    if validation.is_within_noise:
        return f"{opening}, within the {percent(validation.noise)} {_of_runs(validation)}: nothing is left to explain."
    if cases == 1:
        return f"{opening}: the prediction is {'too long' if validation.bias > 0 else 'too short'}."
    long = sum(each.error > 0 for each in validation.compared)
    short = sum(each.error < 0 for each in validation.compared)
    if cases in {long, short}:
        return f"{opening}: predictions are {'too long' if long else 'too short'} in all cases."
    exact = f", {cases - long - short} exactly" if long + short < cases else ""
    return f"{opening}: {long} predicted too long, {short} too short{exact}."


def _about_units(validation: Validation) -> Iterator[str]:
    """Ask whether all measured times are in a unit other than the assumed one."""
    ratios = [each.case.measured / each.predicted for each in validation.compared if each.predicted > 0]
    for factor, unit in ((1e3, "ms"), (1e6, "us")):
        if ratios and all(factor / _SAME_UNIT < ratio < factor * _SAME_UNIT for ratio in ratios):
            yield (
                f"All measured times are about {factor:,.0f} times the predicted ones: numbers without a unit are "
                f"seconds; if these are {unit}, state that."
            )


def _explanation(validation: Validation, known: list[Refit]) -> Iterator[str]:
    before = percent(validation.error_simulated)
    of_those = "" if validation.error_simulated == validation.error else " of the simulated cases"
    for each in known:
        name = parameter_name(each.parameter)
        opening = f"{name[:1].upper()}{name[1:]} alone"
        if each.explains and each.rival:
            left = f"{percent(each.error_left)}{_sure(each)}"
            yield f"With {change(each)} the error{of_those} falls from {before} to {left}."
        elif each.error_left < validation.error_simulated:
            end = " (the end of what was tried)" if each.at_limit else ""
            part = "explains a part" if each.explains else "cannot explain it"
            yield f"{opening} {part}: at best, {change(each)}{end}, {percent(each.error_left)} is left."
        else:
            yield f"{opening} cannot explain it: its best value leaves no smaller error."
    explained = [each for each in known if each.explains and each.rival]
    if len(explained) > 1:
        names = " and ".join(parameter_name(each.parameter) for each in explained)
        yield f"These cases cannot tell which it is: {names} leave as little error, as far as measured runs repeat."
    if known and not explained:
        yield "No parameter alone explains the error: several are wrong, or something that the model leaves out."


def _sure(refit: Refit) -> str:
    if refit.range is None or refit.range[1] / refit.range[0] < 1.005:
        return ""
    low, high = refit.range
    return f" (multiplier {refit.multiplier:.3g}; {low:.3g} to {high:.3g} with any one case left out)"


def _not_found_out(validation: Validation) -> Iterator[str]:
    without = [parameter_name(each.parameter) for each in validation.refits if not each.has_effect]
    little = [
        parameter_name(each.parameter) for each in validation.refits if each.has_effect and not each.is_identifiable
    ]
    if without:
        yield f"No effect on any case, so nothing can be said of it: {', '.join(without)}."
    if little:
        yield (
            "From a sixteenth to sixteen times of it no case changes by more than runs differ, so nothing can be said "
            f"of it: {', '.join(little)}."
        )
    for each in validation.unchangeable:
        yield f"{each.kind.capitalize()} was not refitted: {each.reason}."
    alike = [", ".join(each) for each in _groups(validation.alike)]
    if alike and len(validation.compared) == 1:
        yield "One case cannot tell parameters apart: measure other sizes, numbers of ranks or machines too."
    elif alike:
        yield (
            f"Alike in all cases, so that these cannot tell them apart: {'; '.join(alike)}. "
            "Other sizes, numbers of ranks or machines could."
        )


def _groups(pairs: Sequence[tuple[Parameter, Parameter]]) -> list[list[str]]:
    """Combine pairs that share a parameter into groups."""
    groups: list[list[str]] = []
    for pair in pairs:
        names = list(map(parameter_name, pair))
        touched = [group for group in groups if set(group) & set(names)]
        groups = [group for group in groups if group not in touched]
        groups.append(list(dict.fromkeys([name for group in [*touched, names] for name in group])))
    return groups
