"""Forecasts under load: how long answers hold, which questions are refused, and what a server answers."""

from __future__ import annotations

import http.client
import importlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import clue
from clue.errors import ForecastError, StoreError, UsageError
from clue.forecasting import Forecaster, open_store
from clue.forecasting.asking import PORT, Address, Peer
from clue.forecasting.figures import RETRY, Figure, Figures
from clue.forecasting.routes import Route
from clue.forecasting.sequence import Data, Plan, Step
from clue.forecasting.server import Server, serving
from clue.listening import check_token
from clue.units import format_size
from tests.forecasting.hosts import dgemm, forecasting, idle

CUBE = {"m": 500, "n": 500, "k": 500}
TOKEN = "a token of twenty characters"


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


# --- this computer ---


def test_a_forecast_is_the_need_over_the_share(tmp_path: Path) -> None:
    """A forecast is the need, 0.125 s, over the share: at a quarter of a core 0.5 s; its interval is scaled, too."""
    with forecasting(tmp_path, look=lambda host: idle(host, 0.25)) as forecaster:
        need, memory, warnings = forecaster.need("dgemm", CUBE)
        found = forecaster.time("dgemm", CUBE)
    assert need.seconds == pytest.approx(0.125, rel=1e-3) and memory == 6_000_000 and warnings == []
    assert found.seconds == 4 * need.seconds and (found.low, found.high) == (4 * need.low, 4 * need.high)
    assert found.low <= found.seconds <= found.high and found.inside and found.warnings == ()


@pytest.mark.parametrize(("off", "size", "guess"), [(8192, 500, False), (10_000, 500, True), (10_000, 64, True)])
def test_memory_that_follows_no_polynomial_is_told_to_be_a_guess(
    tmp_path: Path, off: int, size: int, guess: bool
) -> None:
    """The product needs 98,304 B at the smallest sizes, 64 each: 10 KB off are 10 % of them, 8 KB are two pages.

    Sizes of 500 are 6 times as far as the largest at which memory was measured: 6^4 times 10 KB are more than 6 MB.
    """
    with forecasting(tmp_path) as forecaster:
        known = dgemm()
        forecaster.store.keep(replace(known, memory=replace(known.memory, off=off)))
        _, memory, warnings = forecaster.need("dgemm", dict.fromkeys("mnk", size))
    said = f"(off by up to 10 KB where it was measured), so {format_size(memory)} is a guess"
    assert [each.endswith(said) for each in warnings] == [True] * guess


def test_answers_hold_until_figures_are_to_be_measured_anew(tmp_path: Path) -> None:
    """The same question gets the stored answer; other sizes use the model again, without a new look at the host."""
    looks = []

    def look(host: str) -> object:
        looks.append(host)
        return idle(host)

    with forecasting(tmp_path, look=look) as forecaster:
        first = forecaster.time("dgemm", CUBE)
        assert forecaster.time("dgemm", dict(CUBE)) is first
        forecaster.time("dgemm", {**CUBE, "m": 600})
        assert looks == ["here"]


def test_answers_hold_by_the_clock(tmp_path: Path) -> None:
    """A computer that was suspended for an hour after an answer looks at its load again, as after a set clock."""
    clock, shares = Clock(), iter((1.0, 0.5, 0.25))
    with forecasting(tmp_path, look=lambda host: idle(host, next(shares))) as forecaster:
        forecaster.figures.clock = clock
        for wait, share in ((0, 1.0), (29, 1.0), (3600, 0.5), (-7200, 0.25)):
            clock.now += wait
            assert forecaster.time("dgemm", CUBE).available.cpu == share


def test_a_process_of_another_priority_looks_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At nice 19 a process gets 1 % of a core; the next one, at nice 0, gets 80 %, and not the figure of the first."""

    def priority(*_: int, nice: int) -> int:
        return nice

    for nice, cpu in ((19, 0.01), (0, 0.8)):
        monkeypatch.setattr("os.getpriority", partial(priority, nice=nice))
        with forecasting(tmp_path, look=partial(idle, cpu=cpu)) as forecaster:
            assert forecaster.available().value.cpu == cpu


def test_a_process_of_another_job_looks_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a job that leaves 1 MB there is 1 MB; outside of it there is 1 GB, and not the figure of the job."""
    for group, memory in (("jobs/7", 10**6), ("", 10**9)):
        monkeypatch.setattr("clue.forecasting.availability.memory_group", partial(str, group))
        with forecasting(tmp_path, look=partial(idle, memory=memory)) as forecaster:
            assert forecaster.available().value.memory == memory


def test_what_was_measured_here_since_counts(tmp_path: Path) -> None:
    """A routine measured again here, three times as slow, counts at the next question about its need."""
    with forecasting(tmp_path) as forecaster:
        assert forecaster.need("dgemm", CUBE)[0].seconds == pytest.approx(0.125, rel=1e-3)
        again = dgemm(per_product=3e-9)
        forecaster.store.keep(replace(again, measured=again.measured + 1))
        assert forecaster.need("dgemm", CUBE)[0].seconds == pytest.approx(0.375, rel=1e-3)


def test_a_host_of_a_sequence_computes_one_thing_at_a_time_under_all_its_names(tmp_path: Path) -> None:
    """Two products on this computer, by two of its names, take twice as long as one, on the host by its first name."""

    def plan(*hosts: str | None, among: tuple[str, ...] = ()) -> Plan:
        steps = (Step(name, "dgemm", CUBE, (), 8, host) for name, host in zip("XY", hosts, strict=True))
        return Plan({}, tuple(steps), {"X": "localhost"}, among)

    with forecasting(tmp_path) as forecaster:
        one = forecaster.time("dgemm", CUBE).seconds
        for first, second in (
            ("localhost", "127.0.0.1"), ("here", "localhost"), ("localhost", "localhost:8457"), ("here:8457", "here")
        ):  # fmt: skip
            found, _ = forecaster.sequence(plan(first, second))
            assert (found.seconds, found.hosts) == (pytest.approx(2 * one), {"X": first, "Y": first})
        found, _ = forecaster.sequence(plan(None, None, among=("127.0.0.1", "here", "localhost")))
        assert (found.seconds, found.tried) == (pytest.approx(2 * one), 1)


def test_hosts_to_which_no_link_leads_are_left_out_of_a_sequence(tmp_path: Path) -> None:
    """A faster host has told its load, and no link to it is known: the product runs where its operand is."""
    far = "127.0.0.1:9"
    step, data = Step("X", "dgemm", CUBE, ("D",), 8), {"D": Data(8, "localhost")}
    said = "here to 127.0.0.1:9: links must lead from one to the other, got none that was measured"
    with forecasting(tmp_path) as forecaster:
        forecaster.store.keep(dgemm(far, 1e-10))
        forecaster.figures.put(f"host {far}", idle(far).document())
        found, (silent, warning) = forecaster.sequence(Plan(data, (step,), {}, (far, "localhost")))
        assert found.hosts == {"X": "localhost"}
        assert silent.startswith(f"dgemm: {far}: host must answer") and silent.endswith("measured there before is used")
        assert warning.startswith(said) and warning.endswith("choices of hosts that need this route are left out")
        with pytest.raises(ForecastError, match=said):
            forecaster.sequence(Plan(data, (replace(step, host=far),)))


def test_hosts_on_which_a_step_cannot_run_are_left_out_of_a_sequence(tmp_path: Path) -> None:
    """A faster host has 1 MB free of 6 MB that the product needs: the product runs here, and a warning says why."""
    far = "127.0.0.1:9"
    step = Step("X", "dgemm", CUBE, (), 8)
    with forecasting(tmp_path) as forecaster:
        forecaster.store.keep(dgemm(far, 1e-10))
        forecaster.figures.put(f"host {far}", idle(far, memory=10**6).document())
        found, (warning,) = forecaster.sequence(Plan({}, (step,), {}, (far, "localhost")))
        assert found.hosts == {"X": "localhost"}
        said = "dgemm: memory must suffice on 127.0.0.1:9, got "
        assert warning.startswith(f"choices of hosts with dgemm on {far} are left out: {said}")
        with pytest.raises(ForecastError, match=f"X: {said}"):
            forecaster.sequence(Plan({}, (replace(step, host=far),)))


def test_figures_are_measured_anew_past_their_deadline() -> None:
    """A figure is measured again after its deadline or if the clock went back, but not before."""
    with open_store(Path("none")) as store:
        clock, values = Clock(), iter(range(9))
        figures = Figures(store, clock)

        def get() -> object:
            return figures.get("x", 30.0, lambda: (next(values), 0.0)).value

        assert get() == 0
        clock.now += 29.9
        assert get() == 0
        clock.now += 0.2
        assert get() == 1
        clock.now -= 500
        assert get() == 2


def test_figures_of_an_earlier_run_count_until_their_deadline(tmp_path: Path) -> None:
    """Figures of an earlier run are kept in the store until their deadline; their age when received counts."""
    clock = Clock()
    for value, age in ((1, 20.0), (2, 0.0)):
        with open_store(tmp_path / "s", make=True) as store:
            found = Figures(store, clock).get("x", 30.0, lambda value=value, age=age: (value, age))  # type: ignore[misc]
            assert found == Figure(1, 980.0)
    clock.now += 15
    with open_store(tmp_path / "s") as store:
        assert Figures(store, clock).get("x", 30.0, lambda: (3, 0.0)).value == 3


def test_a_stale_figure_says_its_age() -> None:
    """If a figure cannot be measured again, the last one is used with a warning; without one it is an error."""
    tries = []

    def fail() -> tuple[object, float]:
        tries.append(clock.now)
        raise ForecastError("h: host must answer within 2 s, got no answer")

    with open_store(Path("none")) as store:
        clock = Clock()
        figures = Figures(store, clock)
        for wait in (0, RETRY - 1, 2):  # the second query does not wait for the host again
            clock.now += wait
            with pytest.raises(ForecastError, match="h: host must answer"):
                figures.get("x", 30.0, fail)
        assert len(tries) == 2
        figures.put("x", 7)
        clock.now += 90
        found = figures.get("x", 30.0, fail)
    assert found == Figure(
        7, clock.now - 90, "h: host must answer within 2 s, got no answer: the figure used is 90 s old"
    )


def test_a_newer_figure_of_another_process_counts(tmp_path: Path) -> None:
    """Known here from 100 s ago, stored by another process 60 s later: the latter counts where a host keeps silent."""

    def fail() -> tuple[object, float]:
        raise ForecastError("h: host must answer")

    with open_store(tmp_path / "s", make=True) as one, open_store(tmp_path / "s") as other:
        clock = Clock()
        figures = Figures(one, clock)
        figures.put("x", 1)
        clock.now += 60
        Figures(other, clock).put("x", 2)
        clock.now += 40
        found = figures.get("x", 30.0, fail)
        assert found == Figure(2, 1060.0, "h: host must answer: the figure used is 40 s old")
        figures.put_if_newer("x", 3, 70.0)
        assert figures.all("x") == {"x": Figure(2, 1060.0)}


def test_too_little_memory_is_a_refusal(tmp_path: Path) -> None:
    """A routine that does not fit in memory is refused with the need and the free memory."""
    small = forecasting(tmp_path, look=lambda host: idle(host, 1.0, 1_000_000))
    with small as forecaster, pytest.raises(ForecastError) as caught:
        forecaster.time("dgemm", CUBE)
    assert str(caught.value) == "dgemm: memory must suffice on here, got 1 MB free for 6 MB"


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"m": 1, "n": 1}, "dgemm: sizes must be m, n, k, got m, n"),
        ({}, "dgemm: sizes must be m, n, k, got none"),
        ({**CUBE, "lda": 3}, "dgemm: sizes must be m, n, k, got m, n, k, lda"),
        ({**CUBE, "m": -5}, "dgemm: m must be a whole number from 1 to 1,099,511,627,776, got -5"),
        ({**CUBE, "m": 2.5}, "dgemm: m must be a whole number from 1 to 1,099,511,627,776, got 2.5"),
        ({**CUBE, "m": 10**30}, "dgemm: m must be a whole number from 1 to 1,099,511,627,776, got 1000"),
    ],
)
def test_sizes_that_are_none(tmp_path: Path, sizes: dict[str, int], said: str) -> None:
    """Missing, unknown and wrong sizes are refused with the names of the routine's sizes."""
    with forecasting(tmp_path) as forecaster, pytest.raises(UsageError) as caught:
        forecaster.time("dgemm", sizes)
    assert str(caught.value).startswith(said)


def test_routines_that_were_not_measured(tmp_path: Path) -> None:
    """An unmeasured routine is refused with the command that measures it; a misspelt one gets a suggestion."""
    with forecasting(tmp_path) as forecaster:
        with pytest.raises(ForecastError) as caught:
            forecaster.time("dtrsm", {"m": 1, "n": 1})
        assert str(caught.value) == (
            "dtrsm: routine must have been measured on here, got none: run clue forecast benchmark dtrsm"
        )
        with pytest.raises(UsageError, match="did you mean dtrsm"):
            forecaster.time("dtrms", {"m": 1, "n": 1})


def test_sizes_beyond_what_was_measured_are_told(tmp_path: Path) -> None:
    """Sizes outside the measured range are forecast with a warning."""
    with forecasting(tmp_path) as forecaster:
        found = forecaster.time("dgemm", {**CUBE, "n": 3000})
    assert not found.inside
    assert found.warnings == ("dgemm: n = 3000 lies outside what was measured, 64 to 1024",)


def test_another_version_of_the_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another version of scipy is installed than was measured, a warning says so."""
    monkeypatch.setattr("clue.forecasting.shipped.scipy_version", lambda: "9.9")
    with forecasting(tmp_path) as forecaster:
        assert forecaster.time("dgemm", CUBE).warnings == (
            "dgemm: was measured with scipy 0, blas 0, here is scipy 9.9: clue forecast benchmark dgemm",
        )


def test_another_text_of_a_users_module_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that was changed since its routine was measured is told, also in a package; one that is not here is not.

    Packages may lack an ``__init__.py`` (bare, bare.deep). ``printf a | sha256sum`` begins with ca978112ca1b, that of b
    with 3e23e8160039.
    """
    (tmp_path / "own").mkdir()
    (tmp_path / "bare" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with forecasting(tmp_path) as forecaster:
        for module, file in (
            ("job", "job.py"),
            ("own", "own/__init__.py"),
            ("own.job", "own/job.py"),
            ("bare.deep.job", "bare/deep/job.py"),
        ):
            name, known = f"{module}:f", dgemm(library=f"{module} ca978112ca1b")
            forecaster.store.keep(replace(known, routine=replace(known.routine, name=name)))
            said = f"{name}: was measured with {module} ca978112ca1b, here is {module} 3e23e8160039"
            for text, warned in ((None, False), ("a", False), ("b", True)):
                if text is not None:
                    Path(file).write_text(text)
                    importlib.invalidate_caches()
                assert [each.startswith(said) for each in forecaster.need(name, CUBE)[2]] == [True] * warned


def test_another_processor_of_the_same_host_is_told(tmp_path: Path) -> None:
    """If a host of this name was measured with another processor, a warning says so."""
    with forecasting(tmp_path, processor="another one") as forecaster:
        assert forecaster.time("dgemm", CUBE).warnings == (
            f"dgemm: was measured on {dgemm().processor}, here is another one: clue forecast benchmark dgemm",
        )


@pytest.fixture(autouse=True)
def same_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the installed version of scipy to that of the measurements."""
    monkeypatch.setattr("clue.forecasting.shipped.scipy_version", lambda: "0")


def test_forecasts_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """clue.forecast makes a forecast in one call."""
    import platform  # noqa: PLC0415

    monkeypatch.setattr("clue.forecasting.availability.here", idle)
    with open_store(tmp_path / "s.sqlite", make=True) as store:
        store.keep(dgemm(platform.node()))
    assert clue.forecast("dgemm", m=100, n=100, k=100, store=tmp_path / "s.sqlite").memory == 240_000
    # Whole numbers of numpy: their products, of more than 31 bits, are exact, too.
    big = {size: np.int32(40_000) for size in "mnk"}
    with pytest.raises(ForecastError, match=r"38\.4 GB"):
        clue.forecast("dgemm", store=tmp_path / "s.sqlite", **big)


# --- other hosts ---


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Forecaster, Server, list[str]]]:
    """Yield a forecaster without routines, a server of another host with dgemm at half the speed, and its log."""
    log: list[str] = []
    with ExitStack() as stack:
        ours = stack.enter_context(open_store(tmp_path / "ours", make=True))
        theirs = stack.enter_context(open_store(tmp_path / "theirs", make=True))
        theirs.keep(dgemm("there", 2e-9))
        far = Forecaster(theirs, host="there", look=lambda host: idle(host, 0.5))
        server = stack.enter_context(serving(Server(far, token=TOKEN, log=log.append)))
        yield Forecaster(ours, TOKEN, patience=30.0, host="here", look=idle), server, log


def test_a_host_tells_what_it_has_measured_and_its_load(two: tuple[Forecaster, Server, list[str]]) -> None:
    """The other host takes twice as long and has half a core free, so 0.5 s; what was fetched is stored."""
    forecaster, server, log = two
    name = f"localhost:{server.port}".replace("localhost", "127.0.0.1")
    found = forecaster.time("dgemm", CUBE, name)
    assert found.seconds == pytest.approx(0.5, rel=1e-3) and found.host == name
    assert forecaster.store.find(name, "dgemm") == replace(dgemm("there", 2e-9), host=name)
    assert [line.split(" ", 1)[1] for line in log] == ["GET /routines/dgemm 200", "GET /availability 200"]


def test_what_another_host_has_not_measured_is_named(two: tuple[Forecaster, Server, list[str]]) -> None:
    """The other host has no dtrsm: the error names the routine and the host, and what to run there."""
    forecaster, server, _ = two
    name = f"127.0.0.1:{server.port}"
    with pytest.raises(ForecastError) as caught:
        forecaster.need("dtrsm", {"m": 1, "n": 1}, name)
    said = f"dtrsm: routine must have been measured on {name}, got none: run clue forecast benchmark dtrsm there"
    assert str(caught.value) == said


def test_what_another_host_has_measured_since_is_fetched(two: tuple[Forecaster, Server, list[str]]) -> None:
    """A routine measured again, three times as slow, counts from 120 s after it was fetched; 0.25 s before that."""
    forecaster, server, log = two
    clock = Clock()
    forecaster.figures.clock = clock
    name = f"127.0.0.1:{server.port}"
    assert forecaster.need("dgemm", CUBE, name)[0].seconds == pytest.approx(0.25, rel=1e-3)
    server.forecaster.store.keep(replace(dgemm("there", 6e-9), measured=dgemm("there", 6e-9).measured + 1))
    clock.now += 119
    assert forecaster.need("dgemm", CUBE, name)[0].seconds == pytest.approx(0.25, rel=1e-3)
    clock.now += 2
    assert forecaster.need("dgemm", CUBE, name)[0].seconds == pytest.approx(0.75, rel=1e-3)
    assert len(log) == 2
    server.shutdown()
    server.server_close()
    clock.now += 130
    for _ in range(2):
        need, _, (warning,) = forecaster.need("dgemm", CUBE, name)
        assert need.seconds == pytest.approx(0.75, rel=1e-3)
        assert warning.startswith(f"dgemm: {name}: host must answer, got: ")
        assert warning.endswith("the figure used is 130 s old")


def test_a_host_that_has_gone_is_answered_by_its_last_figures(two: tuple[Forecaster, Server, list[str]]) -> None:
    """A host that no longer answers is forecast from its last figures with a warning; a new one is an error."""
    forecaster, server, _ = two
    clock = Clock()
    forecaster.figures.clock = clock
    name = f"127.0.0.1:{server.port}"
    forecaster.time("dgemm", CUBE, name)
    server.shutdown()
    server.server_close()
    clock.now += 40
    (warning,) = forecaster.time("dgemm", CUBE, name).warnings
    assert warning.startswith(f"{name}: host must answer, got: ") and warning.endswith("the figure used is 40 s old")
    with pytest.raises(ForecastError, match=r"127\.0\.0\.1:9: host must answer, got: "):
        forecaster.available("127.0.0.1:9")


def test_a_host_that_keeps_silent_is_given_up_at_its_deadline(tmp_path: Path) -> None:
    """A host is given up at the deadline if it sends nothing, single bytes of its answer, headers, or other answers."""
    begin = b"HTTP/1.1 200 OK\r\n"
    for first, trickle in (
        (b"", b""), (begin + b"Content-Length: 1000\r\n\r\n", b"H"), (begin + b"Connection: close\r\n\r\n", b"H"),
        (begin, b"X: 1\r\n"), (begin + b"X: ", b"y"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ):  # fmt: skip
        with socket.create_server(("127.0.0.1", 0)) as silent, forecasting(tmp_path, patience=0.2) as forecaster:
            ended = threading.Event()

            def drip(
                silent: socket.socket = silent, first: bytes = first, trickle: bytes = trickle,
                ended: threading.Event = ended,
            ) -> None:  # fmt: skip
                connection, _ = silent.accept()
                connection.sendall(first)
                while trickle and not ended.wait(0.05):
                    try:
                        connection.sendall(trickle)
                    except OSError:
                        break
                ended.wait(5)
                connection.close()

            thread = threading.Thread(target=drip, daemon=True)
            thread.start()
            name = f"127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(ForecastError) as caught:
                forecaster.available(name)
            ended.set()
            thread.join()
        assert str(caught.value) == f"{name}: host must answer within 0.2 s, got no answer"


@pytest.mark.parametrize(
    "answer",
    [b"no json", b"[]", b'{"available": 3, "age": 0}', b'{"age": 1}', b"[" * 100_000,
     b'{"available": {"host": "x", "processors": 1, "runnable": 0, "load": 0, "cpu": 0, "memory": 1}, "age": 1}',
     b'{"available": {"host": "x", "processors": 1, "runnable": 0, "load": 0, "cpu": 1, "memory": 1e999}, "age": 1}',
     b'{"available": {"host": "x", "processors": 1, "runnable": NaN, "load": 0, "cpu": 1, "memory": 1}, "age": 1}',
     b'{"available": {"host": "x", "processors": 1, "runnable": 0, "load": 0, "cpu": 1, "memory": 1}, "age": 1e999}'],
)  # fmt: skip
def test_answers_that_are_none(tmp_path: Path, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that are not JSON, incomplete, with a share of 0, or with numbers that are none are refused."""
    monkeypatch.setattr(Peer, "_get", lambda *_: answer)
    with forecasting(tmp_path) as forecaster, pytest.raises(ForecastError, match="x: answer must be "):
        forecaster.available("x")


def test_an_answer_that_breaks_off_is_none(tmp_path: Path) -> None:
    """A host that announces 65,536 B and sends 10 is an error; the bandwidth would be thousands of times too large."""
    with socket.create_server(("127.0.0.1", 0)) as there, forecasting(tmp_path, patience=30.0) as forecaster:

        def answer() -> None:
            connection, _ = there.accept()
            with connection, connection.makefile("rb") as asked:
                for line in asked:
                    if line.startswith(b"GET /bytes/"):
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n" + bytes(10))
                        return
                    if line.startswith(b"GET "):
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(ForecastError, match="host must answer, got: IncompleteRead"):
            forecaster.measure_link(f"127.0.0.1:{there.getsockname()[1]}")
        thread.join(30)


def _links(*links: object) -> bytes:
    return json.dumps({"host": "x", "links": links}).encode()


def _link(**changes: object) -> dict[str, object]:
    return {"between": ["x", "y"], "latency": 1e-3, "bandwidth": 1e6, "age": 1.0, **changes}


@pytest.mark.parametrize(
    "answer",
    [
        _links(_link(bandwidth=float("inf"))),
        _links(_link(latency=float("nan"))),
        _links(_link(age=float("nan"))),
        _links(_link(age=float("inf"))),
        _links(_link(between=["x", 3])),
        _links(*[_link()] * 1001),
        json.dumps({"host": 3, "links": []}).encode(),
    ],
)
def test_links_that_are_none(tmp_path: Path, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links with numbers or names that are none are refused, as are more than 1,000 of them."""
    monkeypatch.setattr(Peer, "_get", lambda *_: answer)
    with forecasting(tmp_path) as forecaster, pytest.raises(ForecastError, match="x: answer must be that of clue"):
        forecaster.route("x", "y")


def test_hosts_that_name_ever_more_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host names a further one, without end: after 100 no more are asked."""
    asked = []

    def answer(peer: Peer, *_: object) -> bytes:
        asked.append(peer.address.name)
        return _links(_link(between=["x", f"h{len(asked)}"]))

    monkeypatch.setattr(Peer, "_get", answer)
    with (
        forecasting(tmp_path) as forecaster,
        pytest.raises(ForecastError, match="hosts asked for links must be at most 100, got more"),
    ):
        forecaster.route("x", "y")
    assert len(asked) == len(set(asked)) == 100


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("link a b", {}),
        ("link a", {"latency": 1.0, "bandwidth": 1.0}),
        ("link a b", "[" * 3000),
        ("host x", {"cpu": 1}),
    ],
)
def test_figures_in_stores_of_others(tmp_path: Path, name: str, value: object) -> None:
    """Figures that are none, in a store, are an error of the store."""
    with forecasting(tmp_path, patience=0.2) as forecaster:
        forecaster.store.note(name, value)
        with pytest.raises(StoreError, match=r"store\.sqlite: store must hold what clue wrote, got "):
            forecaster.available("x") if name.startswith("host") else forecaster.route("a", "b")


def test_the_way_to_a_host_is_probed(two: tuple[Forecaster, Server, list[str]]) -> None:
    """Latency and bandwidth of loopback are measured once, and then taken from the store."""
    forecaster, server, log = two
    name = f"127.0.0.1:{server.port}"
    route, stale = forecaster.route("here", name)
    assert 0 < route.latency < 1 and route.bandwidth > 1e5 and stale == ""
    before = len(log)
    assert forecaster.route(name, "here")[0].bandwidth == route.bandwidth and len(log) == before
    assert forecaster.route("here", "localhost")[0] == Route.within("here")


def test_a_path_over_links_that_others_have_measured(two: tuple[Forecaster, Server, list[str]]) -> None:
    """A path combines links that other hosts measured, with a warning of old ones; without a path there is an error."""
    forecaster, server, _ = two
    name = f"127.0.0.1:{server.port}"
    server.forecaster.figures.put("link far there", {"latency": 2.0, "bandwidth": 50.0}, 7.0)
    forecaster.figures.put(f"link {name} here", {"latency": 1.0, "bandwidth": 100.0})
    forecaster.patience = 0.5
    found, stale = forecaster.route("here", "far")
    assert found == Route(3.0, 50.0, ("here", name, "far")) and stale == ""
    forecaster.figures.put(f"link {name} here", {"latency": 1.0, "bandwidth": 100.0}, 200.0)
    assert forecaster.route("here", "far")[1].startswith("here to far: links used are up to 200")
    with pytest.raises(ForecastError, match="here to farther: links must lead from one to the other, got none"):
        forecaster.route("here", "farther")


def test_a_peer_by_its_usual_port_is_the_same_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that a server measures to far:8457 is that to far."""
    monkeypatch.setattr(Peer, "probe", lambda _: (1.0, 100.0))
    with forecasting(tmp_path) as forecaster:
        forecaster.measure_link(f"far:{PORT}")
        assert list(forecaster.links()) == [("far", "here")]


def test_a_port_of_another_host_is_no_host_here(two: tuple[Forecaster, Server, list[str]]) -> None:
    """Another host reaches a host by its localhost:9, as through ssh, and this one another by its own: no path."""
    forecaster, server, _ = two
    name = f"127.0.0.1:{server.port}"
    server.forecaster.figures.put("link localhost:9 there", {"latency": 2.0, "bandwidth": 50.0})
    forecaster.figures.put("link far localhost:9", {"latency": 1.0, "bandwidth": 100.0})
    forecaster.patience = 0.5
    with pytest.raises(ForecastError, match=f"{name} to far: links must lead from one to the other, got none"):
        forecaster.route(name, "far")


def test_a_peer_that_keeps_silent_hides_no_known_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a peer is waited for, known links are told, and it is not asked a second time."""
    ended, measured = threading.Event(), list[str]()

    def measure(_: Forecaster, host: str) -> None:
        ended.wait(60)
        measured.append(host)

    monkeypatch.setattr(Forecaster, "measure_link", measure)
    with forecasting(tmp_path, patience=0.1) as forecaster, Server(forecaster, peers=["silent"]) as server:
        forecaster.figures.put("link far here", {"latency": 1.0, "bandwidth": 100.0})
        for _ in range(2):
            (link,) = json.loads(json.dumps(server.links()))["links"]
            assert (link["between"], link["latency"], measured) == (["far", "here"], 1.0, [])
        ended.set()
        assert server._measurer is not None
        server._measurer.join(30)
    assert measured == ["silent"]


def test_a_server_looks_again_after_a_suspension(tmp_path: Path) -> None:
    """A look counts for 5 s by the clock, which goes on during a suspension; not if the clock was set back."""
    looks, ages, clock = list[str](), list[object](), Clock()

    def look(host: str) -> object:
        looks.append(host)
        return idle(host)

    with forecasting(tmp_path, look=look) as forecaster, Server(forecaster) as server:
        forecaster.figures.clock = clock
        for passed in (0, 5, 3600, -10):
            clock.now += passed
            ages.append(server.availability()["age"])
    assert (ages, len(looks)) == ([0, 5, 0, 0], 3)


def test_an_older_figure_of_another_host_replaces_none(two: tuple[Forecaster, Server, list[str]]) -> None:
    """A host reports a link that was measured 110 s ago; the one measured here just now stays."""
    forecaster, server, _ = two
    name = f"127.0.0.1:{server.port}"
    server.forecaster.figures.put("link far there", {"latency": 2.0, "bandwidth": 1.0}, 110.0)
    forecaster.figures.put(f"link {name} far", {"latency": 1.0, "bandwidth": 100.0})
    forecaster.patience = 0.5
    found, stale = forecaster.route(name, "far")
    assert found.bandwidth == 100.0 and stale == ""


@pytest.mark.parametrize("token", [None, "another token of many letters", TOKEN[:-1], "ü" * 20])
def test_without_its_token_a_server_says_nothing(two: tuple[Forecaster, Server, list[str]], token: str | None) -> None:
    """Without the right token the server answers with status 401, and logs no token."""
    _, server, log = two
    address = Address("127.0.0.1", server.port)
    if token is not None and not token.isascii():
        with pytest.raises(ForecastError):
            Peer(address, token).ask("/availability")
        return
    with pytest.raises(ForecastError, match=r"got token must be that of this host \(status 401\)"):
        Peer(address, token).ask("/availability")
    assert log == ["127.0.0.1 GET /availability 401"]


def test_logs_have_no_secrets(two: tuple[Forecaster, Server, list[str]]) -> None:
    """The log contains neither headers nor queries, nor the content of invalid requests."""
    _, server, log = two
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/ping?secret=1", headers={"Authorization": f"Bearer {TOKEN}"})
    connection.getresponse().read()
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port), 5) as plain:
        plain.sendall(b"secret secret secret secret\r\n\r\n")
        plain.recv(1000)
    assert log == ["127.0.0.1 GET /ping 200"]


def test_what_fails_in_a_server_is_logged(
    two: tuple[Forecaster, Server, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a request fails in the server, it is logged, the client gets no answer, and the server continues."""
    forecaster, server, log = two
    monkeypatch.setattr(server.forecaster, "look", lambda _host: 1 / 0)
    with pytest.raises(ForecastError, match=f"127.0.0.1:{server.port}: host must answer, got: "):
        forecaster.available(f"127.0.0.1:{server.port}")
    assert Peer(Address("127.0.0.1", server.port), TOKEN).ask("/ping") == {}
    assert "127.0.0.1 got no answer: ZeroDivisionError: division by zero" in log


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/none",
        "none",
        "*",
        "/bytes/-1",
        "/bytes/99999999",
        "/routines/../store",
        "/routines/x'; DROP TABLE routine",
        "/ping/x",
    ],
)
def test_paths_that_are_none(two: tuple[Forecaster, Server, list[str]], path: str) -> None:
    """Unknown paths get status 404, and the server continues."""
    _, server, _ = two
    peer = Peer(Address("127.0.0.1", server.port), TOKEN)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest("GET", path.replace(" ", "%20"))
    connection.putheader("Authorization", f"Bearer {TOKEN}")
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 404 and "error" in json.loads(response.read())
    connection.close()
    assert peer.ask("/ping") == {}


@pytest.mark.parametrize(
    ("address", "token", "said"),
    [
        ("0.0.0.0", None, "--token-file must be given where others can ask, at 0.0.0.0, got none"),
        ("::", None, "--token-file must be given where others can ask, at ::, got none"),
        ("host", None, "--address must be an IP address of this computer, got host"),
        ("0.0.0.0", "short", "token must be at least 16 printable ASCII characters, got 5"),
        (
            "127.0.0.1",
            "line\nof several\nlines",
            "token must be at least 16 printable ASCII characters, got others",
        ),
    ],
)
def test_tokens_where_others_can_ask(address: str, token: str | None, said: str) -> None:
    """Addresses and tokens are checked before the server listens, and a wrong token is not shown."""
    with pytest.raises(UsageError) as caught:
        check_token(address, token)
    assert str(caught.value) == said
    check_token("127.0.0.1", None)
    check_token("::1", None)


@pytest.mark.parametrize(("name", "status"), [("localhost", 200), ("evil.example", 421), ("", 421)])
def test_a_name_that_another_site_points_here_is_refused(tmp_path: Path, name: str, status: int) -> None:
    """Without a token, a request with a foreign host name is refused, as a page of that site could read the answer."""
    with forecasting(tmp_path) as forecaster, serving(Server(forecaster)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", "/ping", headers={"Host": name})
        response = connection.getresponse()
        assert response.status == status
        response.read()
        connection.close()


def test_an_address_that_is_taken(two: tuple[Forecaster, Server, list[str]]) -> None:
    """An address that is in use, or not of this computer, is an error."""
    forecaster, server, _ = two
    with pytest.raises(ForecastError, match="address must be one at which clue can listen, got: "):
        Server(forecaster, port=server.port)
    with pytest.raises(ForecastError, match="address must be one at which clue can listen, got: "):
        Server(forecaster, "192.0.2.1", token=TOKEN)


@pytest.mark.parametrize("name", ["", "-o", "a b", "x:0", "x:99999", "x:y", "http://x", "a/b", "a" * 300])
def test_hosts_that_are_none(name: str) -> None:
    """Host names that could be interpreted as anything else are refused."""
    with pytest.raises(UsageError, match="host must be a name or NAME:PORT, got "):
        Address.parse(name)
