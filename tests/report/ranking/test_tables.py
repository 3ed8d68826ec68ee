"""Rankings as CSV, LaTeX and Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.purchase import Criterion
from clue.purchase.costs import Sheet
from clue.purchase.outcome import OptionCost
from clue.report.ranking.tables import ranking_csv, ranking_latex, ranking_markdown
from clue.report.shared.latex import escaped as escaped_for_latex
from clue.report.shared.markdown import escaped as escaped_for_markdown
from clue.uncertainty import Sampling, Spread
from clue.units import Money
from tests.report.cases import by_makespan, ranking, read


def test_csv_of_a_ranking_has_a_row_for_each_workload() -> None:
    """Rows are in the order of positions; options without a position follow with the reason."""
    rows = read(ranking_csv(ranking()))
    assert [(row["position"], row["option"], row["workload"]) for row in rows] == [
        ("1", "Cheap", "small"), ("1", "Cheap", "large"), ("2", "Fine", "small"), ("2", "Fine", "large"),
        ("", "Small", ""), ("", "Gold", ""),
    ]  # fmt: skip
    first = rows[0]
    assert (first["price (ATS)"], first["score (points)"], first["points"]) == ("295000", "195.0", "48.75")
    assert (first["makespan (s)"], first["instances"], first["ranks"], first["idle processors"]) == (
        "8.0",
        "3",
        "6",
        "2",
    )
    assert (rows[5]["affordable"], rows[5]["reason"]) == ("False", "costs more than the budget")


def test_csv_has_intervals_where_there_are_samples() -> None:
    """The columns give the interval's ends and median, and the share of samples in which the option is best."""
    entries = tuple(replace(each, spread=Spread(7.5, 8.0, 9.0), best=0.75) for each in by_makespan().entries)
    row = read(ranking_csv(replace(by_makespan(), entries=entries, sampling=Sampling(100))))[0]
    assert (row["score low (s)"], row["score median (s)"], row["score high (s)"]) == ("7.5", "8.0", "9.0")
    assert row["best (share of samples)"] == "0.75"
    assert "points" not in row and not any(name.startswith("price") for name in row)


def test_csv_keeps_currencies_and_hard_names_apart() -> None:
    """Each currency has its own column; quotes, commas and line breaks in names survive."""
    cheap, fine = ranking().entries[3], ranking().entries[1]
    name = 'a "big", one\nor two'
    mixed = replace(ranking(), entries=(cheap, replace(fine, option=name, price=Money(1900, "EUR"))))
    rows = read(ranking_csv(mixed))
    assert [(row["price (ATS)"], row["price (EUR)"]) for row in rows[1:3]] == [("295000", ""), ("", "1900")]
    assert rows[2]["option"] == name


def test_csv_has_bounds_of_options_that_come_later() -> None:
    """Options that are not among the first have a bound of their score."""
    later = replace(ranking().entries[2], bound=120.0, reason="")
    rows = read(ranking_csv(replace(ranking(), entries=(*ranking().entries[3:], later), first=1)))
    assert (rows[-1]["option"], rows[-1]["score at best (points)"], rows[0]["score at best (points)"]) == (
        "Small",
        "120.0",
        "",
    )


def test_csv_keeps_figures_of_the_front_apart() -> None:
    """Points by the front, 100, and those of a workload, 48.75, have columns of their own, as throughputs have."""
    units = {Criterion.POINTS: "points", Criterion.THROUGHPUT: "runs/h", Criterion.TOTAL_COST: "ATS"}
    figures = dict(zip(units, (100.0, 1350.0, 295_000.0), strict=True))
    cheap = replace(ranking().entries[3], figures=figures)
    row = read(ranking_csv(replace(ranking(), entries=(cheap,), pareto=("Cheap",), units=units)))[0]
    assert (row["criterion points (points)"], row["points"]) == ("100.0", "48.75")
    assert (row["criterion throughput (runs/h)"], row["throughput (1/s)"]) == ("1350.0", "0.75")
    assert (row["criterion total cost (ATS)"], row["on the Pareto front"]) == ("295000.0", "True")
    assert "throughput" not in row and "total_cost" not in row


def test_csv_has_costs_over_the_life() -> None:
    """Items have a column each; 7.2 GJ are 2,000 kWh. An option without an item, or without costs, has no figure."""
    powered = OptionCost(Sheet({"purchase": 900.0, "energy": 100.0}, 0.25, 7.2e9, None), "ATS", {}, {}, 2, 4.0, 9.0, ())
    entries = tuple(replace(each, cost=powered if each.option == "Fine" else None) for each in ranking().entries)
    rows = read(ranking_csv(replace(ranking(), entries=entries)))
    names = [name for name in rows[0] if name.startswith("cost ")]
    assert [(row["option"], *map(row.get, names)) for row in rows[1:3]] == [
        ("Cheap", "", "", "", "", "", ""), ("Fine", "1000.0", "900.0", "100.0", "0.25", "2000.0", ""),
    ]  # fmt: skip
    assert names == [
        *("cost total (ATS)", "cost purchase (ATS)", "cost energy (ATS)"),
        *("cost busy (share of the service life)", "cost energy (kWh)", "cost carbon (kg)"),
    ]


def test_latex_has_the_table_of_the_terminal() -> None:
    """The table has rules of booktabs and right-aligned numbers; warnings and unranked options are comments."""
    lines = ranking_latex(ranking()).splitlines()
    assert lines[:2] == [
        "% which-cluster: ranked by points (higher is better); budget 300,000 ATS",
        "% needs \\usepackage{booktabs}",
    ]
    assert "% Warnings: Cheap: curve from published values" in lines
    assert "% Not ranked: Small: large: a rank needs 900 MB" in lines
    begin = lines.index("\\begin{tabular}{rlrrllrr}")
    assert lines[begin + 1 : begin + 6] == [
        "\\toprule",
        "\\# & option & price & score & workload & instances $\\times$ ranks & makespan & points \\\\",
        "\\midrule",
        "1 & Cheap & 295,000 ATS & 195.0 & small & 3 $\\times$ 6 (2 idle) in 2 turns & 8 s & 48.8 \\\\",
        " &  &  &  & large & 3 $\\times$ 6 (2 idle) in 2 turns & 16 s & 146.2 \\\\",
    ]
    assert lines.count("\\addlinespace") == 1
    assert lines[-2:] == ["\\bottomrule", "\\end{tabular}"]


def test_latex_shows_names_and_does_not_obey_them() -> None:
    """Every special character of LaTeX in a name is escaped."""
    assert escaped_for_latex(r"50% of a_b & {c} #1 $x$ ~^\input") == (
        r"50\% of a\_b \& \{c\} \#1 \$x\$ \textasciitilde{}\textasciicircum{}\textbackslash{}input"
    )
    assert escaped_for_latex("[2] <a> | – ×") == r"{[}2{]} \textless{}a\textgreater{} \textbar{} -- $\times$"
    text = ranking_latex(by_makespan())
    assert "{[}red{]}first{[}/red{]}" in text and r"a \$trange \$ second" in text


def test_markdown_has_the_table_of_the_terminal() -> None:
    """The table has one row per line; unranked options and warnings are lists."""
    assert ranking_markdown(ranking()) == (
        "**which-cluster: ranked by points (higher is better); budget 300,000 ATS**\n\n"
        "| \\# | option | price | score | workload | instances × ranks | makespan | points |\n"
        "| --: | :-- | --: | --: | :-- | :-- | --: | --: |\n"
        "| 1 | Cheap | 295,000 ATS | 195.0 | small | 3 × 6 (2 idle) in 2 turns | 8 s | 48.8 |\n"
        "|  |  |  |  | large | 3 × 6 (2 idle) in 2 turns | 16 s | 146.2 |\n"
        "|  |  |  |  | &nbsp;&nbsp;cholesky |  | 8 s | 73.1 |\n"
        "|  |  |  |  | &nbsp;&nbsp;reduce |  | 8 s | 73.1 |\n"
        "| 2 | Fine | 298,500 ATS | 83.0 | small | 3 × 6 (2 idle) in 2 turns | 8 s | 20.8 |\n"
        "|  |  |  |  | large | 3 × 6 (2 idle) in 2 turns | 16 s | 62.2 |\n"
        "|  |  |  |  | &nbsp;&nbsp;cholesky |  | 8 s | 31.1 |\n"
        "|  |  |  |  | &nbsp;&nbsp;reduce |  | 8 s | 31.1 |\n"
        "\nNot ranked:\n\n- Small: large: a rank needs 900 MB\n"
        "- Gold (500,000 ATS): costs more than the budget\n"
        "\nWarnings:\n\n- Cheap: curve from published values\n"
    )


def test_markdown_says_what_intervals_are_and_what_comes_later() -> None:
    """Notes explain the intervals and count the options after the first ones, as in the terminal."""
    later = replace(ranking().entries[2], bound=120.0, reason="")
    entries = (*ranking().entries[3:], later)
    text = ranking_markdown(replace(ranking(), entries=entries, first=1, sampling=Sampling(100)))
    assert "\nNotes:\n\n- At least 80% of 100 samples of the stated noise (seed 0) lie between" in text
    assert "- 1 option comes after the first 1: it cannot score better than 120.0.\n" in text


def test_markdown_shows_names_and_does_not_obey_them() -> None:
    """Special characters of Markdown within a line, and line breaks, are escaped."""
    assert escaped_for_markdown("a|b *c* `d` [e](f) <g> _h_") == r"a\|b \*c\* \`d\` \[e\](f) \<g\> \_h\_"
    entries = (replace(by_makespan().entries[0], option="two\nlines"),)
    assert r"two\\nlines" in ranking_markdown(replace(by_makespan(), entries=entries))


@pytest.mark.parametrize("write", [ranking_csv, ranking_latex, ranking_markdown])
def test_a_ranking_without_positions_says_why(write: object) -> None:
    """Instead of a table, the file gives the reasons."""
    nothing = replace(ranking(), entries=ranking().entries[:1])
    text = write(nothing)  # type: ignore[operator]
    assert "Gold" in text and "costs more than the budget" in text
    assert "tabular" not in text and "|" not in text
