"""The results as a table for machines (CSV) and a page for readers (Markdown)."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.skeletons.cases import DEDICATED, PROGRAMS, SCENARIOS
from benchmarks.accuracy.skeletons.figures import (
    APPLICATION,
    AVERAGE,
    CLASS_S,
    Board,
    Prediction,
    Runs,
    Skeletons,
    by_predictor,
    by_program,
    by_scenario,
    mean_error,
)
from benchmarks.page import markdown_table, processor, write_rows

#: Columns, in seconds except error, flagged, and the shares of communication (dedicated) and of lateness.
COLUMNS = (
    "program", "predictor", "seconds", "scenario", "measured", "predicted", "error", "flagged", "dedicated", "own",
    "own_dedicated", "communication", "own_communication", "late", "cpu", "own_cpu", "own_compute",
    "error_of_one_ratio",
)  # fmt: skip
_FIRST, _SECOND = "10 s", "5 s"
_LAST = "0.5 s"


@dataclass(frozen=True, slots=True)
class Results:
    """All results of the study.

    Attributes:
        runs: The runs.
        skeletons: Facts about skeletons.
        predictions: The predictions.
        recordings: Times of programs while they were recorded, seconds.
        million: Cost of making the skeleton of about 10^6 ops.
        language: Language of skeletons.
    """

    runs: Runs
    skeletons: Skeletons
    predictions: Sequence[Prediction]
    recordings: Mapping[str, float]
    million: Mapping[str, float] | None
    language: str = "c"

    @property
    def board(self) -> Board:
        """All predictions."""
        return Board(self.predictions)

    @property
    def programs(self) -> list[str]:
        """Programs with at least one prediction."""
        return [each.name for each in PROGRAMS if any(each.name == found.program for found in self.predictions)]

    @property
    def scenarios(self) -> list[str]:
        """Scenarios with at least one prediction."""
        return [each.name for each in SCENARIOS if any(each.name == found.scenario for found in self.predictions)]

    @property
    def lengths(self) -> list[str]:
        """Names of the skeletons, the longest first."""
        found = {facts.seconds: name for (_, name), facts in self.skeletons.items()}
        return [found[seconds] for seconds in sorted(found, reverse=True)]

    def communication(self, program: str, what: str) -> float | None:
        """Return the share of time that a program or skeleton spends in MPI on the dedicated cluster."""
        run = self.runs.get((program, DEDICATED, what))
        return None if run is None else run.communication

    @property
    def overhead(self) -> dict[str, float]:
        """Return the relative slowdown of each program while it was recorded."""
        alone = {name: self.runs.get((name, DEDICATED, APPLICATION)) for name in self.recordings}
        return {name: self.recordings[name] / run.seconds - 1 for name, run in alone.items() if run is not None}


def write_csv(file: Path, results: Results) -> None:
    """Write one row per prediction."""
    write_rows(file, [COLUMNS, *(_row(each, results) for each in results.predictions)])


def _row(each: Prediction, results: Results) -> list[object]:
    facts = results.skeletons.get((each.program, each.predictor))
    kind = "skeleton" if each.by_skeleton else each.predictor
    seconds = [each.measured, each.predicted]
    shares = [results.communication(each.program, what) for what in (APPLICATION, each.predictor)]
    return [
        each.program, kind,
        "" if facts is None else f"{facts.seconds:g}", each.scenario, *(f"{x:.5f}" for x in seconds),
        f"{each.error:.5f}", "yes" if each.flagged else "no", f"{each.dedicated:.5f}", f"{each.own:.5f}",
        f"{each.own_dedicated:.5f}", *("" if share is None else f"{share:.4f}" for share in shares),
        *(f"{x:.4f}" for x in (each.late, each.cpu, each.own_cpu, each.compute, each.error_of_one_ratio)),
    ]  # fmt: skip


def page(results: Results, command: str, plot: str, remarks: Sequence[str]) -> str:
    """Return the page beside the table."""
    parts: list[Iterable[str]] = [
        _opening(command, results.language), _goals(results), _orders(results),
        [f"![Errors, and predicted beside measured]({plot})", ""],
        _by_length(results), _by_scenario(results), _cases(results), _shortest(results), _shares(results),
        _slowdowns(results), _made(results), remarks,
    ]  # fmt: skip
    return "\n".join([line for part in parts for line in part] + [""])


def _opening(command: str, language: str) -> Iterator[str]:
    yield from (
        "# Predicted by skeletons",
        "",
        f"Written by `{command}` on {datetime.date.today().isoformat()};",
        f"{processor()}.",
        "",
        "The study of Sodhi, Subhlok and Xu, *Performance Prediction with Skeletons*, on [an emulated",
        "cluster](../testbed/README.md). Six programs of our own in the manner of NPB's, in Python, were recorded",
        "once on four dedicated hosts; skeletons of 10 to 0.5 s were made by `clue skeleton`, in",
        f"{language.capitalize()}. Programs and skeletons then ran on that cluster and in five scenarios. Predicted is",
        "what `clue skeleton predict` says: communication of the skeleton counts as often as the skeleton is shorter,",
        "computation for what is then left of the application's dedicated time. *One ratio*: the skeleton's time x",
        "application / skeleton, both dedicated, as the paper has it. Nothing was fitted.",
        "",
        "Hosts have two processors, each an eighth of a core of this computer, and one rank. Competing processes are",
        "real ones, as slow; they and the rank get fair shares of the processors: beside two of them a rank has two",
        "thirds of one while it computes. Sizes were chosen by how long programs take, about 30 s on the dedicated",
        "cluster and about three times that at most in any scenario, and by nothing else. Skeletons of 1 s run twice",
        "and those of 0.5 s three times, class S is started twice, and applications are started three times on the",
        "dedicated cluster, as all predictions rest on that time: medians count. What a recorder computes for a call",
        "takes eight times as long on these processors, too.",
        "",
        "- **class S**: the small class of the program as its skeleton.",
        "- **average slowdown**: how many times as long the six programs take in the scenario, on average.",
        "- *flagged*: shorter than the shortest good skeleton, as `clue skeleton` says when it makes it.",
        "",
        "All figures of the cases stand in the CSV file beside this page, in seconds; further columns are `error` =",
        "predicted / measured - 1, `communication`, the share of the ranks' time within MPI on the dedicated cluster",
        "(of the application, and of the predictor itself), and `late`, the share of time by which this computer was",
        "late to give a rank its core. `cpu` and `own_cpu` are the CPU times of bursts, of the application and of the",
        "predictor, relative to those on the dedicated cluster; `own_compute` is the share of the predictor's time in",
        "the scenario in which its ranks computed, `error_of_one_ratio` the error of the paper's prediction. A",
        "case is *disturbed* if ranks were late for more than 3 % of the time, or the CPU times differ by more than",
        "5 %. The last also leaves out skeletons that do not slow down as their applications do, so figures without",
        "disturbed cases are favourable: those of all cases count.",
        "",
    )


def _goals(results: Results) -> Iterator[str]:
    board, skeletons = results.board, results.board.of_skeletons()
    mean, last = skeletons.mean(), skeletons.mean(by_predictor(_LAST))
    long = [skeletons.mean(by_predictor(name)) for name in (_FIRST, _SECOND)]
    worst = skeletons.worst()
    named = ", ".join(
        f"{program} {what} ({error:.0%}{', flagged' if flag else ''})" for program, what, error, flag in worst
    )
    rivals = {name: board.mean(by_predictor(name)) for name in (CLASS_S, AVERAGE)}
    better = _better(results)
    overhead = statistics.fmean(results.overhead.values()) if results.overhead else None
    million = results.million
    rows = (
        ("mean error, all", "6.7 %", "≤ 5 %", f"{_percent(mean)} ({_undisturbed(skeletons)})", _most(mean, 0.05)),
        ("by one ratio, all", "6.7 %", "–", _percent(_mean_of_one_ratio(skeletons)), None),
        (
            "10 s / 5 s", "5–6 %", "≤ 4.5 %", " / ".join(map(_percent, long)),
            _all(_most(each, 0.045) for each in long),
        ),
        ("0.5 s", "8 %", "≤ 8 %", _percent(last), _most(last, 0.08)),
        ("worst four cases", "flagged", "flagged", named or "–", all(flag for *_, flag in worst) if worst else None),
        (
            "against class S and average slowdown", "better", "better in every scenario",
            f"{', '.join(f'{name} {_percent(error)}' for name, error in rivals.items())}; {better[1]}", better[0],
        ),
        (
            "making from 10^6 ops", "–", "≤ 10 s",
            "–" if million is None else f"{million['wall']:.1f} s ({million['ops']} ops, the whole command)",
            None if million is None else million["wall"] <= 10,
        ),
        ("recording", "< 1 %", "< 1 %", _signed(overhead), _most(overhead, 0.01)),
    )  # fmt: skip
    said = {True: "yes", False: "**no**", None: "not measured"}
    yield from markdown_table(
        ("figure", "paper", "goal", "measured", "reached"),
        ((*row[:4], "–" if row[2] == "–" else said[row[4]]) for row in rows),
    )
    yield ""


def _mean_of_one_ratio(skeletons: Board) -> float | None:
    errors = [abs(each.error_of_one_ratio) for each in skeletons.all]
    return statistics.fmean(errors) if errors else None


def _undisturbed(skeletons: Board) -> str:
    quiet = [each for each in skeletons.all if not each.disturbed]
    return f"{_percent(mean_error(quiet))} of the {len(quiet)} undisturbed of {len(skeletons.all)} cases"


def _better(results: Results) -> tuple[bool | None, str]:
    """Tell whether skeletons of any length are on average better than either rival in every scenario."""
    board, compared = results.board, []
    for scenario in results.scenarios:
        own = board.of_skeletons().mean(by_scenario(scenario))
        for rival in (CLASS_S, AVERAGE):
            error = board.mean(by_scenario(scenario), by_predictor(rival))
            if own is not None and error is not None:
                compared.append((own < error, f"{rival}, {scenario}"))
    if not compared:
        return None, "–"
    worse = [name for right, name in compared if not right]
    return not worse, f"worse than {'; '.join(worse)}" if worse else f"better in all {len(compared)} comparisons"


def _orders(results: Results) -> Iterator[str]:
    """Report which of the paper's orderings hold, for the longest skeletons as in the paper and for all."""
    board = results.board.of_skeletons()
    kinds = {kind: [each.name for each in SCENARIOS if (each.processors, each.network) == kind] for kind in _KINDS}
    network, processors = kinds[False, True], kinds[True, False]
    statements = (
        ("network scenarios are worse than processor scenarios", network, processors),
        ("one busy node is worse than all nodes busy", ["busy-one"], ["busy-all"]),
    )
    rows = []
    for statement, more, less in statements:
        cells = []
        for rules in ((by_predictor(_FIRST),), ()):
            one, other = (board.mean(by_scenario(*names), *rules) for names in (more, less))
            held = "–" if one is None or other is None else f"{'yes' if one > other else 'no'}: {one:.1%}, {other:.1%}"
            cells.append(held)
        rows.append((statement, *cells))
    yield from markdown_table(("what the paper found", f"here, {_FIRST}", "here, all skeletons"), rows)
    yield ""


_KINDS = ((False, True), (True, False))


def _by_length(results: Results) -> Iterator[str]:
    yield from ("Mean error by program and predictor, over the scenarios (* flagged):", "")
    board, columns = results.board, [*results.lengths, CLASS_S, AVERAGE]
    rows = []
    for program in results.programs:
        cells = []
        for name in columns:
            facts = results.skeletons.get((program, name))
            mark = "" if facts is None or facts.good else " *"
            cells.append(_percent(board.mean(by_program(program), by_predictor(name))) + mark)
        rows.append((program, *cells))
    rows.append(("all", *(_percent(board.mean(by_predictor(name))) for name in columns)))
    yield from markdown_table(("program", *columns), rows)
    yield ""


def _by_scenario(results: Results) -> Iterator[str]:
    yield from ("Mean error by scenario and predictor, least and largest in parentheses:", "")
    board, columns = results.board, [*results.lengths, CLASS_S, AVERAGE]
    rows = []
    for scenario in SCENARIOS:
        if scenario.name in results.scenarios:
            cells = []
            for name in columns:
                errors = [
                    abs(each.error) for each in board.all if (each.scenario, each.predictor) == (scenario.name, name)
                ]
                span = f" ({min(errors):.0%}–{max(errors):.0%})" if errors else ""
                cells.append(_percent(statistics.fmean(errors) if errors else None) + span)
            rows.append((f"{scenario.name}: {scenario.words}", *cells))
    yield from markdown_table(("scenario", *columns), rows)
    yield ""


def _cases(results: Results) -> Iterator[str]:
    names = [*results.lengths, CLASS_S, AVERAGE]
    yield from (f"Errors by case, in %: {' / '.join(names)} (measured seconds; * flagged):", "")
    found = {(each.program, each.scenario, each.predictor): each for each in results.predictions}
    rows = []
    for program in results.programs:
        cells = []
        for scenario in results.scenarios:
            group = [found.get((program, scenario, name)) for name in names]
            known = next((each for each in group if each is not None), None)
            errors = (
                "–" if each is None else f"{100 * each.error:+.1f}{'*' if each.flagged else ''}" for each in group
            )
            cells.append("" if known is None else f"{' / '.join(errors)} ({known.measured:.1f})")
        rows.append((program, *cells))
    yield from markdown_table(("", *results.scenarios), rows)
    yield ""


def _shortest(results: Results) -> Iterator[str]:
    yield from ("The shortest good skeletons, beside those of the paper's programs on its cluster:", "")
    rows = []
    for program in PROGRAMS:
        facts = [results.skeletons[key] for key in results.skeletons if key[0] == program.name]
        if facts:
            flagged = ", ".join(f"{each.seconds:g} s" for each in facts if not each.good) or "none"
            rows.append(
                (program.name, f"{facts[0].shortest:.2f} s", f"{program.shortest:g} s", facts[0].dominant, flagged)
            )
    yield from markdown_table(("program", "shortest", "the paper's", "dominant sequence", "flagged"), rows)
    yield ""


def _shares(results: Results) -> Iterator[str]:
    yield from ("Share of time within MPI on the dedicated cluster:", "")
    columns = [APPLICATION, *results.lengths, CLASS_S]
    rows = [
        (program, *(_percent(results.communication(program, what)) for what in columns)) for program in results.programs
    ]
    yield from markdown_table(("program", *columns), rows)
    yield ""


def _slowdowns(results: Results) -> Iterator[str]:
    yield from ("How many times as long applications take as on the dedicated cluster (seconds there first):", "")
    rows = []
    for program in results.programs:
        alone = results.runs.get((program, DEDICATED, APPLICATION))
        shared = [results.runs.get((program, scenario, APPLICATION)) for scenario in results.scenarios]
        if alone is not None:
            cells = ["–" if each is None else f"{each.seconds / alone.seconds:.2f}" for each in shared]
            rows.append((program, f"{alone.seconds:.1f} s", *cells))
    yield from markdown_table(("program", DEDICATED, *results.scenarios), rows)
    yield ""


def _made(results: Results) -> Iterator[str]:
    yield from (
        "Skeletons as they were made; *takes* is on the dedicated cluster, *making* the command's CPU time:",
        "",
    )
    rows = []
    for (program, name), facts in results.skeletons.items():
        run = results.runs.get((program, DEDICATED, name))
        takes = "–" if run is None else f"{run.seconds:.2f} s"
        figures = (f"{facts.scale:.1f}", f"{facts.threshold:g}", f"{facts.ratio:.0f}", f"{facts.making:.1f} s")
        rows.append((program, name, takes, *figures, "yes" if facts.good else "no"))
    yield from markdown_table(("program", "skeleton", "takes", "scale", "threshold", "ratio", "making", "good"), rows)
    yield ""
    overhead = (f"{program} {_signed(share)}" for program, share in results.overhead.items())
    yield f"Recorded programs took longer by: {', '.join(overhead) or '–'}."
    yield ""


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _signed(share: float | None) -> str:
    return "–" if share is None else f"{share:+.1%}"


def _most(figure: float | None, limit: float) -> bool | None:
    return None if figure is None else figure <= limit


def _all(judged: Iterable[bool | None]) -> bool | None:
    found = list(judged)
    return None if None in found else all(found)
