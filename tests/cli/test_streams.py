"""Output works in any locale; clue ends quietly if the reader has gone or the user interrupts."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from clue.cli import main
from clue.trace import Op, Trace, TraceBuilder

#: C's own locale, without Python's coercion to UTF-8.
_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
_MACHINE = """\
name: "m\\e[31m × µ – 名"
nodes: [{count: 2, type: host}]
node_types: {host: {}}
network: {between_nodes: {send_delay: 10 us, transmission_delay: 10 us}}
"""


def clue(*words: str, stdout: int | str = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "clue", *words]
    surroundings = {**os.environ, **environment}
    if isinstance(stdout, int):
        return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=surroundings, check=False, timeout=60)
    with Path(stdout).open("wb") as target:
        return subprocess.run(command, stdout=target, stderr=subprocess.PIPE, env=surroundings, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that holds a trace and a configuration whose names contain control sequences."""
    monkeypatch.chdir(tmp_path)
    trace = TraceBuilder(2, "p\x1b[2J\udcff.py")
    trace[0].compute(1.0, "µ\x1b[31m\n名")
    trace[0].add(Op.OTHER, call="Win\x1b]0;x\x07", took=10**9)
    built = trace.build()
    Trace(replace(built.head, notes=("note\r\u202e",)), built.ops).save("t.clue")
    Path("m.yaml").write_text(_MACHINE)
    Path("c.yaml").write_text("program: {trace: t.clue}\nmachine: m.yaml\n")
    return tmp_path


#: Runs commands in turn in one process, with the output, messages and status of each in files.
_IN_TURN = """
import json, os, sys
from pathlib import Path
from clue.cli import main
for i, words in enumerate(json.loads(sys.argv[1])):
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        with Path(f"{i}.{name}").open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    status = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    Path(f"{i}.status").write_text(str(status))
"""


def in_turn(commands: list[list[str]], **environment: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the status, output and messages of commands that run in one process."""
    driver = [sys.executable, "-c", _IN_TURN, json.dumps(commands)]
    done = subprocess.run(driver, capture_output=True, env={**os.environ, **environment}, check=False, timeout=60)
    for i, words in enumerate(commands):
        status, said = Path(f"{i}.status"), Path(f"{i}.err").read_bytes()
        assert status.exists(), (words, done.returncode, done.stderr, said)
        yield int(status.read_text()), Path(f"{i}.out").read_bytes(), said


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.usefixtures("folder")
def test_any_encoding_shows_names_and_obeys_none(encoding: str) -> None:
    """Names are printed in each encoding without control characters, in text, warnings, errors and JSON."""
    commands = [
        ["simulate", "c.yaml"],
        ["inspect", "t.clue"],
        ["simulate", "c.yaml", "--json"],
        ["inspect", "m.yaml"],
        ["inspect", "t.clue", "--json"],
        ["inspect", "\x1b[2J\n.yaml"],
    ]
    *good, bad = in_turn(commands, **_ASCII, PYTHONIOENCODING=encoding)
    for words, (status, shown, said) in zip(commands, good, strict=False):
        assert (status, b"Traceback" in said) == (0, False), (words, said)
        for text in (shown.decode(encoding), said.decode(encoding)):
            assert not {"\x1b", "\x07", "\r", "\u202e"} & set(text)
    assert json.loads(good[-1][1])["program"] == "p\x1b[2J\\udcff.py"
    assert (bad[0], len(bad[2].splitlines())) == (2, 1)
    assert b"\x1b" not in bad[2]


@pytest.mark.parametrize("words", [["inspect", "m.yaml"], ["inspect", "m.yaml", "--json"], ["schema", "machine"]])
@pytest.mark.usefixtures("folder")
def test_a_full_disk_behind_standard_output_is_a_failure(words: list[str]) -> None:
    """The failure is one line of message and status 1."""
    done = clue(*words, stdout="/dev/full")
    assert (done.returncode, done.stderr) == (1, b"clue: No space left on device\n")


@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.usefixtures("folder")
def test_a_reader_that_has_gone_is_no_failure(json_too: list[str]) -> None:
    """A closed reader, as in ``clue … | head -0``, gives status 0 and no message."""
    reading, writing = os.pipe()
    os.close(reading)
    done = clue("inspect", "m.yaml", *json_too, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.usefixtures("folder")
def test_files_are_written_although_the_reader_has_gone(json_too: list[str]) -> None:
    """A table, or a document that no buffer holds, cannot be printed; the file of 100 ranks has all its lines."""
    trace = TraceBuilder(100, "many.py")
    for rank in range(100):
        trace[rank].compute(1.0)
    trace.build().save("many.clue")
    Path("many.yaml").write_text(_MACHINE.replace("count: 2", "count: 100"))
    Path("c.yaml").write_text("program: {trace: many.clue}\nmachine: many.yaml\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = clue("simulate", "c.yaml", "--csv", "r.csv", *json_too, stdout=writing)
    os.close(writing)
    assert done.returncode == 0 and done.stderr.endswith(b"wrote r.csv\n"), done.stderr
    assert len(Path("r.csv").read_text().splitlines()) == 101


@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.usefixtures("folder")
def test_closed_streams_take_nothing(json_too: list[str]) -> None:
    """With closed streams, as by ``>&-`` and ``2>&-``, the status is the usual one and nothing is written."""
    for words, closing, status in (
        ("inspect m.yaml", ">&-", 0),
        ("inspect m.yaml", ">&- 2>&-", 0),
        ("inspect missing.yaml", "2>&-", 2),
        ("inspect missing.yaml --nonsense", "2>&-", 2),
        ("simulate c.yaml", ">&- 2>&- <&-", 0),
    ):
        line = f'exec "{sys.executable}" -m clue {words} {" ".join(json_too)} {closing}'
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (status, b"", b""), words


_OPEN_IN_A_CHILD = """
import subprocess, sys
from clue.cli.streams import open_streams
open_streams()
sys.exit(subprocess.call([sys.executable, "-c", "import os; [os.fstat(each) for each in range(3)]"]))
"""


@pytest.mark.parametrize("closing", ["<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_child_processes_have_all_standard_streams(closing: str) -> None:
    """Descriptors 0 to 2 are open in child processes although they were closed: MPI launchers need them."""
    line = f"exec \"{sys.executable}\" -c '{_OPEN_IN_A_CHILD}' {closing}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0


_INTERRUPTED_IMPORT = """
import signal, sys
sys.argv = ["clue", "inspect", "t.clue"]
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == sys.modules_to_interrupt:
            signal.raise_signal(signal.SIGINT)
sys.modules_to_interrupt = "MODULE"
sys.meta_path.insert(0, Interrupts())
from clue.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["argparse", "clue.cli.inspect", "numpy", "numpy._core._multiarray_umath", "rich"])
@pytest.mark.usefixtures("folder")
def test_ctrl_c_while_modules_load_ends_quietly(module: str) -> None:
    """An interrupt anywhere in Python's imports gives one line and the status that shells expect."""
    program = _INTERRUPTED_IMPORT.replace("MODULE", module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, b"clue: interrupted\n")


@pytest.mark.usefixtures("folder")
def test_a_thread_may_call_the_commands() -> None:
    """A command runs in another thread and leaves signals alone, which only the main thread may handle."""
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(main, ["inspect", "m.yaml", "--json"]).result() == 0


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limit each file to 20 bytes, which stands for a full disk, for the duration of a block."""
    # Python would cut the bytecode that it keeps of modules.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["convert", "t.clue", "out/t.clue.zip"], "out/t.clue.zip"),
        (["convert", "t.clue", "out/t.clue"], "out/t.clue"),
        (["convert", "t.clue", "out/t.ti"], "out/t.ti.0"),
        (["convert", "t.clue", "out/t.goal"], "out/t.goal"),
        (["convert", "m.yaml", "out/m.xml"], "out/m.xml"),
        pytest.param(["inspect", "m.yaml", "--plots", "out"], "out/delays.png", marks=pytest.mark.long),
        pytest.param(["simulate", "c.yaml", "--plots", "out"], "out/timeline.png", marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_full_disk_leaves_nothing_half_written(
    words: list[str], target: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the output, and neither the output nor its draft remains."""
    with full_disk(monkeypatch):
        status = main(words)
    said = capsys.readouterr().err
    assert status == 1, said
    told = said.splitlines()[-1]
    assert told.startswith(f"clue: {target.removesuffix('.0')}"), told
    assert told.endswith(": output must be writable, got: File too large"), told
    assert not [path for path in Path("out").rglob("*") if path.is_file()]
