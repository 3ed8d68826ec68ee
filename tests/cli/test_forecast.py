"""``clue forecast`` from the command line: output, exit statuses and bad input."""

from __future__ import annotations

import json
import platform
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clue.cli import main
from clue.errors import ForecastError
from clue.forecasting import Forecaster, open_store
from clue.forecasting.availability import Availability
from clue.forecasting.server import Server, serving
from tests.forecasting.hosts import dgemm

CUBE = "dgemm --m 500 --n 500 --k 500"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prepare a store in which dgemm was measured on this computer, and a load that leaves half a core free."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("clue.forecasting.shipped.scipy_version", lambda: "0")
    half = Availability(platform.node(), 2, 3.0, 1.5, 0.5, 10**8)
    monkeypatch.setattr("clue.forecasting.availability.here", lambda _host: half)
    with open_store(tmp_path / "data" / "clue" / "forecast.sqlite", make=True) as store:
        store.keep(dgemm(platform.node()))
    return tmp_path


def asked(line: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the JSON document that answers a question."""
    assert main(["forecast", *line.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_routine_of_ones_own_from_benchmark_to_time(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user's own routine is measured, kept and forecast by a size that is not called m, n or k."""
    (place / "own.py").write_text("def work(length):\n    return sum(range(1000 * length))\n")
    measured = asked("benchmark own:work --range length=10:300 --seconds 5 --points 5 --error 0.5", capsys)
    (routine,) = measured["routines"]
    assert routine["routine"] == "own:work" and routine["domain"]["length"] == [10, 300] and routine["points"] <= 5
    assert measured["store"].endswith("data/clue/forecast.sqlite")
    need = asked("need own:work --size length=100", capsys)
    assert need["low"] <= need["seconds"] <= need["high"] and need["inside"]


def test_time_and_need(capsys: pytest.CaptureFixture[str]) -> None:
    """The documents have the documented keys; the time is the unloaded time divided by the free share of a core."""
    need = asked(f"need {CUBE}", capsys)
    assert need["seconds"] == pytest.approx(0.125, rel=1e-3) and need["memory"] == 6_000_000 and need["inside"] is True
    found = asked(f"time {CUBE}", capsys)
    assert found["seconds"] == pytest.approx(need["seconds"] / found["available"]["cpu"])
    assert found["need"]["seconds"] == need["seconds"] and found["memory"] == need["memory"]
    assert {"low", "high", "inside", "routine", "host", "age", "warnings"} <= set(found)


def test_text_counts_many_other_processes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """123 other processes are written as 123."""
    crowded = Availability(platform.node(), 62, 123.0, 120.0, 0.5, 10**8)
    monkeypatch.setattr("clue.forecasting.availability.here", lambda _host: crowded)
    assert main(["forecast", "time", *CUBE.split()]) == 0
    assert "50%, beside 123 other processes" in capsys.readouterr().out


def test_text_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """The text states load, memory and age, and warns of sizes outside the measured range."""
    assert main(["forecast", "time", *CUBE.split(), "--m", "9000"]) == 0
    out = capsys.readouterr().out
    assert "share of a core" in out and "free" in out
    assert "dgemm: m = 9000 lies outside what was measured, 64 to 1024" in out
    assert main(["forecast", "need", *CUBE.split()]) == 0
    assert "unloaded: 125 ms" in capsys.readouterr().out
    assert main(["forecast", "available"]) == 0
    assert platform.node() in capsys.readouterr().out


def test_the_best_grid_and_the_order_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Grids on a machine of one speed are sorted by time, in text and in JSON."""
    found = asked("best pdgemm --m 2048 --n 2048 --k 2048 --machine i-cluster --processes 32", capsys)
    assert found["best"] == found["candidates"][0] and found["best"]["processes"] == 32
    assert {found["best"]["rows"], found["best"]["columns"]} == {4, 8}
    assert [each["seconds"] for each in found["candidates"]] == sorted(each["seconds"] for each in found["candidates"])
    assert len(found["candidates"]) == sum(32 // rows for rows in range(1, 33))
    line = "pdtrsm --m 2048 --n 2048 --machine i-cluster --processes 8"
    assert main(f"forecast best {line}".split()) == 0
    assert "1x8" in capsys.readouterr().out.splitlines()[3]


def test_grids_of_a_machine_without_a_speed_take_what_was_measured_here(capsys: pytest.CaptureFixture[str]) -> None:
    """The measured time is multiplied by the machine's performance factor, 0.5."""
    found = asked("best pdgemm --m 512 --n 512 --k 512 --machine two-hosts --processes 1", capsys)
    assert found["best"]["seconds"] == pytest.approx(0.5 * 512**3 * 1e-9, rel=0.01)


@pytest.mark.parametrize(
    ("key", "left_out"),
    [("background_load: 1", True), ("memory_contention_factor: {2: 0.5}", True), ("memory: 1 GB", False)],
)
def test_grids_of_a_machine_tell_what_they_leave_out(
    key: str, left_out: bool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The equations know neither other processes on a node nor processors that slow each other down."""
    (place / "busy.yaml").write_text(
        "nodes: [{count: 2, type: host}]\n"
        f"node_types: {{host: {{processors: 2, performance_factor: 1, {key}}}}}\n"
        "network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us, receive_delay: 1 us}}\n"
    )
    found = asked("best pdgemm --m 512 --n 512 --k 512 --machine busy.yaml", capsys)
    said = ["busy: background load and memory contention of its nodes are left out"]
    assert found["warnings"] == (said if left_out else [])


@pytest.mark.parametrize(
    ("nodes", "seconds", "said"),
    [(1, 2.121152e-3, []), (2, 20.97392e-3, ["fat: messages within a node are taken to be like those between nodes"])],
)
def test_grids_within_a_node_take_its_own_link(
    nodes: int, seconds: float, said: list[str], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On 1 × 2 processors 512 × 512 elements are sent in 8 steps: 2,097,152 B / bandwidth + 8 latencies.

    Within a node that is 1 GB/s and 3 us; between nodes 0.1 GB/s and 0.3 us.
    """
    (place / "fat.yaml").write_text(
        f"nodes: [{{count: {nodes}, type: host}}]\n"
        "node_types: {host: {processors: 2, performance_factor: 1}}\n"
        "network:\n"
        "  within_node:\n"
        "    {send_delay: {latency: 1 us, bandwidth: 1 GB/s}, transmission_delay: 1 us, receive_delay: 1 us}\n"
        "  between_nodes:\n"
        "    {send_delay: {latency: 0.1 us, bandwidth: 100 MB/s}, transmission_delay: 0.1 us, receive_delay: 0.1 us}\n"
    )
    found = asked("best pdgemm --m 512 --n 512 --k 512 --machine fat.yaml --processes 2", capsys)
    (row,) = (each for each in found["candidates"] if (each["rows"], each["columns"]) == (1, 2))
    assert row["communicate"] == pytest.approx(seconds) and found["warnings"] == said


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("time dgemmm --m 1", 2, "routine must be one of dgeadd, .*, got 'dgemmm': did you mean dgemm?"),
        ("time dgemm --m 1", 2, "dgemm: sizes must be m, n, k, got m"),
        (f"time {CUBE} --size m=3", 2, "m must be given once, got 500 and 3"),
        (f"time {CUBE} --size x=3", 2, "dgemm: sizes must be m, n, k, got m, n, k, x"),
        ("time dtrsm --m 1 --n 1", 1, "dtrsm: routine must have been measured on .*, got none: run clue forecast"),
        ("time dgemm --m 900000 --n 900000 --k 9", 1, "dgemm: memory must suffice on .*, got .* free for 6.48 TB"),
        (f"time {CUBE} --host -x", 2, "host must be a name or NAME:PORT, got '-x'"),
        (f"time {CUBE} --host 127.0.0.1:9", 1, "127.0.0.1:9: host must answer, got: "),
        (f"time {CUBE} --token-file absent", 2, "absent: token must be readable, got No such file or directory"),
        (f"time {CUBE} --store .", 2, r"\.: store must be a file, got a folder"),
        ("available --host 127.0.0.1:9", 1, "127.0.0.1:9: host must answer, got: "),
        ("benchmark dgemm nothing", 2, "routine must be one of .*, got 'nothing'"),
        ("benchmark dgemm --range x=1:2 --points 1", 2, "dgemm: sizes must be m, n, k, got x"),
        ("benchmark dgemm --range m=1:2 --range m=1:3", 2, "--range must be given once for each size, got m, m"),
        ("benchmark absent:f", 1, "absent:f: routine must finish, got ModuleNotFoundError"),
        ("best dgemm --m 1 --machine i-cluster", 2, "routine must be pdgemm or pdtrsm, got dgemm"),
        ("best pdgemm --m 1 --machine i-cluster", 2, "pdgemm: sizes must be m, n, k, got m"),
        ("best pdtrsm --m 1 --n 1", 2, "best must have --machine, or --host at least twice, got neither"),
        ("best pdtrsm --m 1 --n 1 --host a", 2, "best must have --machine, or --host at least twice, got one host"),
        ("best pdtrsm --m 1 --n 1 --machine absent", 2, "absent"),
        ("best pdtrsm --m 1 --n 1 --machine kishimoto", 2, "kishimoto: processors of a grid must be of one type, got "),
        ("best pdgemm --m 90000 --n 90000 --k 90000 --machine i-cluster --processes 4", 1,
         "pdgemm: memory of a processor must suffice on 4 processors, got 256 MB where the least that any grid needs"),
        ("best pdgemm --m 8 --n 8 --k 8 --machine i-cluster --processes 226", 2,
         "--processes must be at most the number of processors of i-cluster, 225, got 226"),
        ("best pdgemm --m 8 --n 8 --k 8 --host a --host b --processes 3", 2,
         "--processes must be at most the number of hosts, 2, got 3"),
        ("best pdgemm --m 8 --n 8 --k 8 --host localhost --host 127.0.0.1", 2,
         "--host must name each host once, got localhost, 127.0.0.1"),
        ("serve --address 0.0.0.0", 2, "--token-file must be given where others can ask, at 0.0.0.0, got none"),
        ("serve --address 127.0.0.1 --peer a/b", 2, "host must be a name or NAME:PORT, got 'a/b'"),
    ],
)  # fmt: skip
def test_bad_input(line: str, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each mistake gives one line on standard error and nothing on standard output."""
    words = line.replace("--host -x", "--host=-x").split()
    assert main(["forecast", *words]) == status
    captured = capsys.readouterr()
    assert captured.out == "" and re.match(f"clue: {said}", captured.err), captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    "line", ["time dgemm --m -5", "time dgemm --m 0", "time dgemm --m 2.5", "time dgemm --size m=-5",
             "time dgemm --size 5", "benchmark dgemm --range m=9:3",
             "benchmark dgemm --range m=-9:3", "benchmark dgemm --range 3",
             "serve --port 99999", "available --timeout 0", "best pdgemm --processes 0"],
)  # fmt: skip
def test_numbers_that_are_none(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Invalid numbers are usage errors that say what the option must be."""
    with pytest.raises(SystemExit) as caught:
        main(["forecast", *line.split()])
    assert caught.value.code == 2 and "must be " in capsys.readouterr().err


def test_a_store_of_another_version(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store of another version is refused with status 2 and stays unchanged."""
    path = place / "data" / "clue" / "forecast.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    for line in (f"time {CUBE}", "benchmark dgemm", "available", "serve"):
        assert main(["forecast", *line.split()]) == 2
        assert f"{path}: store must be of version 2, got 7" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_one_routine_that_fails_keeps_the_others(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The routine that succeeds is kept and shown, the failure is reported, and the status is 1."""
    (place / "own.py").write_text("def work(n): pass\ndef fails(n): raise ValueError('no')\n")
    line = "benchmark own:fails own:work --points 4 --seconds 3 --range n=1:3 --json"
    assert main(["forecast", *line.split()]) == 1
    captured = capsys.readouterr()
    assert [each["routine"] for each in json.loads(captured.out)["routines"]] == ["own:work"]
    assert "clue: own:fails at " in captured.err and "ValueError: no" in captured.err


def test_all_routines_that_fail_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both failures are reported, with -q, too: errors are never left out."""

    def fails(name: str, *_: object) -> None:
        raise ForecastError(f"{name}: routine must finish, got none")

    monkeypatch.setattr("clue.cli.forecast.benchmark", fails)
    for volume in ([], ["-q"]):
        assert main(["forecast", "benchmark", "dgemm", "dgeadd", *volume]) == 1
        told = [f"clue: {name}: routine must finish, got none" for name in ("dgemm", "dgeadd")]
        assert capsys.readouterr().err.splitlines() == told


def test_serve_until_it_is_ended(place: Path) -> None:
    """The server states its port, answers only with the token, never prints the token, and ends by Ctrl-C."""
    (place / "token").write_text("a secret of many letters\n")
    words = [sys.executable, "-m", "clue", "forecast"]
    with subprocess.Popen(
        [*words, "serve", "--port", "0", "--token-file", "token"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        port = re.search(r"port (\d+) with a token", said)
        assert port is not None, said
        line = [*words, "time", *CUBE.split(), "--timeout", "30", "--json", "--host", f"127.0.0.1:{port[1]}"]
        refused = subprocess.run(line, capture_output=True, text=True, check=False)
        assert refused.returncode == 1 and "token must be that of this host (status 401)" in refused.stderr
        answer = subprocess.run([*line, "--token-file", "token"], capture_output=True, text=True, check=True)
        assert json.loads(answer.stdout)["need"]["seconds"] == pytest.approx(0.125, rel=1e-3)
        server.send_signal(signal.SIGINT)
        rest = server.stderr.read()
    assert server.returncode == 130
    assert "GET /availability 200" in rest and "secret" not in said + rest


def test_a_sequence_of_operations(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On one host two operations run one after the other without transfers; the text names each event."""
    (place / "s.yaml").write_text(
        "steps:\n"
        "  - {makes: X, routine: dgemm, sizes: {m: 500, n: 500, k: 500}, size: 2 MB, host: localhost}\n"
        "  - {makes: Y, routine: dgemm, sizes: {m: 500, n: 500, k: 500}, reads: [X], size: 2 MB}\n"
        "hosts: [localhost]\n"
    )
    found = asked("sequence s.yaml", capsys)
    one = asked(f"time {CUBE}", capsys)
    assert found["seconds"] == pytest.approx(2 * one["seconds"])
    assert found["hosts"] == {"X": "localhost", "Y": "localhost"} and found["events"][1]["begin"] > 0
    assert main(["forecast", "sequence", "s.yaml"]) == 0
    assert "computed on localhost" in capsys.readouterr().out
    (place / "s.yaml").write_text("steps: [{makes: X, routine: dgemm, sizes: {m: 9}, size: 2 MB, host: localhost}]\n")
    assert main(["forecast", "sequence", "s.yaml"]) == 2
    assert capsys.readouterr().err == "clue: s.yaml: X: dgemm: sizes must be m, n, k, got m\n"
    (place / "s.yaml").write_text("steps: [{makes: X, routine: dgemm, sizes: {m: 0}, size: 2 MB}]\n")
    assert main(["forecast", "sequence", "s.yaml"]) == 2
    assert re.match(r"clue: s\.yaml:1:\d+: steps\[0\]\.sizes\.m must ", capsys.readouterr().err)


def test_two_hosts_tell_their_load_and_their_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two hosts report availability and the network between them; the slower one bounds the best grid of both."""
    with open_store(tmp_path / "theirs", make=True) as store:
        store.keep(dgemm("there", 4e-9))
        far = Forecaster(store, host="there", look=lambda _host: Availability("there", 1, 0.0, 0.0, 1.0, 10**8))
        with serving(Server(far)) as server:
            name = f"127.0.0.1:{server.port}"
            found = asked(f"available --host localhost --host {name} --timeout 30", capsys)
            assert [each["host"] for each in found["hosts"]] == [platform.node(), name]
            (way,) = found["network"]
            assert way["host"] == name and way["latency"] > 0 and way["over"] == [platform.node(), name]
            assert main(["forecast", "available", "--host", name, "--timeout", "30"]) == 0
            assert name in capsys.readouterr().out
            line = f"best pdgemm --m 512 --n 512 --k 512 --host localhost --host {name} --timeout 30"
            grids = {(each["rows"], each["columns"]): each for each in asked(line, capsys)["candidates"]}
    assert set(grids) == {(1, 1), (1, 2), (2, 1)}
    assert grids[1, 1]["seconds"] == pytest.approx(512**3 * 4e-9, rel=0.01)


def test_a_host_that_never_answered_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """The host that answers is shown, a warning names the other, and the status is 1."""
    assert main(["forecast", "available", "--host", "localhost", "--host", "127.0.0.1:9", "--json"]) == 1
    captured = capsys.readouterr()
    assert [each["host"] for each in json.loads(captured.out)["hosts"]] == [platform.node()]
    assert captured.err.startswith("clue: warning: 127.0.0.1:9: host must answer, got: ")


def test_each_host_that_never_answered_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """If no host answers, each has its line."""
    assert main(["forecast", "available", "--host", "127.0.0.1:9", "--host", "127.0.0.1:10"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("clue: 127.0.0.1:9: host must answer, got: ")
    assert second.startswith("clue: 127.0.0.1:10: host must answer, got: ")


def test_grids_tell_of_another_library_beside_sizes_outside(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grid whose parts lie outside what was measured here, with another scipy, has a warning of both."""
    monkeypatch.setattr("clue.forecasting.shipped.scipy_version", lambda: "9")
    found = asked("best pdgemm --m 4096 --n 512 --k 512 --machine two-hosts --processes 1", capsys)
    outside, changed = found["warnings"]
    assert outside == "dgemm: m = 4096 lies outside what was measured, 64 to 1024"
    assert changed == "dgemm: was measured with scipy 0, blas 0, here is scipy 9: clue forecast benchmark dgemm"
