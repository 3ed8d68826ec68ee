"""Times of pdgemm and pdtrsm on grids of processors, by the paper's equations, computed by hand."""

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import ForecastError, UsageError
from clue.forecasting.parallel import Grid, Pdgemm, Pdtrsm, Sequential, grids, on_rate, ordered, tree
from clue.forecasting.routes import Route

#: 1 ms and 8 MB/s: an element takes 1 us.
ROUTE = Route(1e-3, 8e6)
LATENCY, ELEMENT = 1e-3, 1e-6


def free(_routine: str, /, **_sizes: int) -> float:
    """Return no time for any routine."""
    return 0.0


def sizes_of(asked: list[tuple[str, dict[str, int]]]) -> Sequential:
    """Return a function that takes a second for each routine and lists what was asked."""

    def take(routine: str, /, **sizes: int) -> float:
        asked.append((routine, sizes))
        return 1.0

    return take


@given(st.integers(1, 10_000))
def test_a_tree_has_the_logarithm_of_rounds(processors: int) -> None:
    """A binary tree of P processors has ⌈log2 P⌉ rounds."""
    assert tree(processors) == ceil(log2(processors))


@given(st.tuples(*[st.integers(1, 500)] * 3), st.integers(1, 80), st.integers(1, 9), st.integers(1, 9))
def test_pdgemm_is_equation_3(sizes: tuple[int, int, int], block: int, p: int, q: int) -> None:
    """Pdgemm takes steps of dgemm, broadcasts along rows and columns, and a latency for each round of each step."""
    m, n, k = sizes
    asked: list[tuple[str, dict[str, int]]] = []
    found = Pdgemm(m, n, k, block).on(Grid(p, q), sizes_of(asked), ROUTE)
    steps = ceil(k / block)
    assert asked == [("dgemm", {"m": ceil(m / p), "n": ceil(n / q), "k": block})]
    along, down = ceil(log2(q)), ceil(log2(p))
    assert found.compute == steps
    assert found.communicate == pytest.approx(
        (along * m * k / p + down * k * n / q) * ELEMENT + steps * (along + down) * LATENCY
    )
    assert found.seconds == found.compute + found.communicate


def test_the_broadcast_divides_a_whole_number_of_rounds_by_the_rows() -> None:
    """The broadcast takes ⌈log2 q⌉ / p, as in equation 4: 3/4 for 3 rounds on 4 rows, not their ceiling, 1."""
    route = Route(0.0, 8e6)
    found = Pdgemm(400, 400, 400, 400).on(Grid(4, 8), free, route)
    assert found.communicate == pytest.approx((3 / 4 + 2 / 8) * 160_000 * ELEMENT)


def test_time_of_an_element_is_its_size_over_the_bandwidth() -> None:
    """At 8 B/s an element of 8 B takes 1 s."""
    assert Pdgemm(1, 1, 1, 1).on(Grid(1, 2), free, Route(0.0, 8.0)).communicate == 1.0


def test_pdtrsm_on_one_processor_is_its_sequential_parts() -> None:
    """On one processor, three blocks need three solves, updates of two blocks and of one, in two block rows: 10 s."""
    asked: list[tuple[str, dict[str, int]]] = []
    found = Pdtrsm(20, 30, 10).on(Grid(1, 1), sizes_of(asked), ROUTE)
    assert sorted((routine, sizes["n"]) for routine, sizes in asked) == [("dgemm", 10), ("dgemm", 20), ("dtrsm", 10)]
    assert (found.seconds, found.compute, found.communicate) == (10.0, 10.0, 0.0)


@pytest.mark.parametrize("columns", [2, 3, 8])
def test_pdtrsm_on_a_row_is_equation_6(columns: int) -> None:
    """On a row, each step is a solve, a broadcast of R² elements, and an update of R ⌈(N - i R) / (q R)⌉ columns.

    Nobody waits, because a solve takes longer than a broadcast. The last step updates nothing; after it the block still
    has to reach all processors but two.
    """
    block, n = 10, 120

    def take(routine: str, /, **sizes: int) -> float:
        return 0.5 if routine == "dtrsm" else sizes["n"] * 1e-2

    found = Pdtrsm(block, n, block).on(Grid(1, columns), take, ROUTE)
    broadcast = block**2 * ELEMENT + LATENCY
    updates = [block * ceil((n - i * block) / (columns * block)) * 1e-2 for i in range(1, 13)]
    equation = sum(0.5 + broadcast + update for update in updates)
    assert found.seconds == pytest.approx(equation + (columns - 2) * broadcast)
    several = Pdtrsm(4 * block, n, block).on(Grid(1, columns), take, ROUTE)
    assert several.seconds == pytest.approx(4 * equation + (columns - 2) * broadcast)
    assert found.compute == pytest.approx(sum(0.5 + update for update in updates))


def test_a_block_waits_until_the_port_has_passed_on_the_last_one() -> None:
    """If solves and updates take no time, a processor of a row sends its block after the one that it passes on (C_b).

    Three columns, four steps. A block arrives 1.1 ms after it leaves: 1 ms of latency, and 0.1 ms on the wire. The next
    processor's block is solved at once, but first the port is busy for 0.1 ms with the block that it passes on.
    """
    found = Pdtrsm(10, 40, 10).on(Grid(1, 3), free, ROUTE)
    taken = 100 * ELEMENT
    last_leaves = 3 * (LATENCY + 2 * taken)
    assert found.seconds == pytest.approx(last_leaves + 2 * (LATENCY + taken))


def test_a_processor_updates_while_it_passes_a_block_on() -> None:
    """On 1 × 3 with two blocks, the second processor updates and solves for 0.75 s while the first block goes on.

    Messages take 0.5 s, 0.4 s of which keep the ports busy. The first block is solved after 0.25 s and at the second
    processor at 0.75 s, which solves its own at 1.5 s; the port is free again at 1.15 s. The block is at the third
    processor at 2.0 s, and at the first at 2.5 s.
    """
    take = {"dtrsm": 0.25, "dgemm": 0.5}
    found = Pdtrsm(10, 20, 10).on(Grid(1, 3), lambda routine, /, **_: take[routine], Route(0.1, 2000.0))
    assert found.seconds == pytest.approx(2.5)
    assert found.compute == 0.25 + 0.5 + 0.25


def test_a_processor_updates_the_rest_while_its_sums_go_down() -> None:
    """On 2 × 1 with four blocks, the second half of an update is no part of the critical path.

    Each of three steps takes 1 s to solve a block, 1 s to update the next one, 0.5 s to send it, and 1 s to add it. The
    processor then updates the rest, two blocks and later one, while the other one solves. The fourth step only solves.
    """
    found = Pdtrsm(10, 40, 10).on(Grid(2, 1), lambda _, /, **sizes: sizes["n"] / 10, Route(0.0, 1600.0))
    assert found.seconds == pytest.approx(3 * (1 + 1 + 0.5 + 1) + 1)


def test_pdtrsm_on_a_column_adds_send_and_accumulation() -> None:
    """Equation 8 on 2 × 1 with two blocks: solve, update, message, addition; then a solve and an empty message.

    Nothing is broadcast on one column. The second solver is ready, as it has nothing else to do.
    """
    take = {"dtrsm": 0.5, "dgemm": 0.25, "dgeadd": 0.125}
    found = Pdtrsm(10, 20, 10).on(Grid(2, 1), lambda routine, /, **_: take[routine], ROUTE)
    first = 0.5 + 0.25 + (10 * 10 * ELEMENT + LATENCY) + 0.125
    assert found.seconds == pytest.approx(first + 0.5 + LATENCY)


def test_the_first_update_is_that_of_p_less_one_blocks() -> None:
    """On 3 × 1 with five blocks, the first step updates two of four blocks before the message and two after it."""
    asked: list[tuple[str, dict[str, int]]] = []
    Pdtrsm(10, 50, 10).on(Grid(3, 1), sizes_of(asked), ROUTE)
    assert {sizes["n"] for routine, sizes in asked if routine == "dgemm"} == {20, 10}
    assert {sizes["n"] for routine, sizes in asked if routine == "dgeadd"} == {20, 10}


def test_rows_beat_columns_and_compact_grids_elongated_ones() -> None:
    """As in the paper, pdtrsm on 1 × 8 is about 3.7 times as fast as on 8 × 1; pdgemm is fastest on square grids."""
    ethernet, processor = Route(70e-6, 11.3e6), on_rate(510e6)
    solves = {str(each.grid): each.seconds for each in ordered(Pdtrsm(2048, 2048), 8, processor, ethernet)[0]}
    assert 2.5 < solves["8x1"] / solves["1x8"] < 5
    products = ordered(Pdgemm(2048, 2048, 2048), 32, processor, ethernet)[0]
    assert {str(each.grid) for each in products[:2]} == {"4x8", "8x4"}
    times = {str(each.grid): each.seconds for each in products}
    assert times["4x8"] < times["2x16"] < times["1x32"]


def test_steps_where_the_logarithm_changes() -> None:
    """On a row, the rounds of the broadcast increase from 4 to 5 processors, but not from 5 to 8."""
    messages = [Pdgemm(2048, 2048, 2048).on(Grid(1, q), free, ROUTE).communicate for q in (4, 5, 8)]
    assert messages[1] == messages[2] == pytest.approx(1.5 * messages[0])


def test_of_the_aligned_grids_the_largest_is_the_best() -> None:
    """For a product of 2048 × 2048 matrices, of 2 × 2, 4 × 2 and 4 × 3 the largest grid is fastest."""
    ethernet, processor = Route(70e-6, 11.3e6), on_rate(510e6)
    times = {
        str(g): Pdgemm(2048, 2048, 2048).on(g, processor, ethernet).seconds
        for g in (Grid(2, 2), Grid(4, 2), Grid(4, 3))
    }
    assert sorted(times, key=times.__getitem__) == ["4x3", "4x2", "2x2"]


@given(st.integers(1, 60))
def test_all_grids_of_so_many_processors(processors: int) -> None:
    """Each grid of at most so many processors occurs once."""
    found = list(grids(processors))
    assert len(found) == len(set(found)) == sum(processors // rows for rows in range(1, processors + 1))
    assert max(grid.processors for grid in found) == processors


def test_memory_of_a_grid_is_that_of_its_fullest_processor() -> None:
    """4 × 4 in blocks of 1 on 2 × 2: each processor has four elements of each matrix and two of each received block."""
    assert Pdgemm(4, 4, 4, 1).memory(Grid(2, 2)) == 8 * (3 * 4 + 2 + 2)
    assert Pdgemm(5, 5, 5, 4).memory(Grid(2, 2)) == 8 * (3 * 16 + 4 * 4 + 4 * 4)
    assert Pdtrsm(4, 4, 1).memory(Grid(2, 2)) == 8 * (4 + 4 + 2)


def test_grids_without_room_are_left_out() -> None:
    """Grids that do not fit in memory are left out; if none fits, the error states the least need."""
    route, take = Route(0.0, 1e9), on_rate(1e9)
    found, left_out = ordered(Pdgemm(1000, 1000, 1000, 10), 2, take, route, 20e6)
    assert left_out == 1 and all(each.grid.processors == 2 for each in found)
    with pytest.raises(ForecastError) as caught:
        ordered(Pdgemm(1000, 1000, 1000, 10), 2, take, route, 1e6)
    got = "1 MB where the least that any grid needs is 12.12 MB"
    assert str(caught.value) == f"pdgemm: memory of a processor must suffice on 2 processors, got {got}"


@pytest.mark.parametrize("processors", [0, -3, 10**9])
def test_numbers_of_processors_that_are_none(processors: int) -> None:
    """A number of processors below 1 or too large is refused before anything is computed."""
    with pytest.raises(UsageError, match=r"processors must be from 1 to 65,536, got "):
        ordered(Pdgemm(8, 8, 8), processors, free, ROUTE)


def test_negative_sizes_are_refused() -> None:
    """A negative size is refused with the names of the routine and the size."""
    with pytest.raises(UsageError, match=r"pdtrsm: n must be a whole number from 1 to .*, got -4"):
        ordered(Pdtrsm(8, -4), 2, free, ROUTE)
