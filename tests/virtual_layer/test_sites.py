"""Call sites of recorded programs: call paths, loops, and frames that are left out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.native import NoLibraryError
from clue.recording import record
from clue.recording.launching import PATHS
from clue.trace import Op, Trace
from clue.trace.sites import DEEPEST, Frame, Site
from tests.properties import examples
from tests.virtual_layer.conftest import Recorded
from virtual_layer import paths
from virtual_layer.loops import Loops
from virtual_layer.paths import CallPaths

#: From Python 3.12 on, comprehensions are not functions; their loops belong to the enclosing function.
INLINED = sys.version_info >= (3, 12)
QUALIFIED = sys.version_info >= (3, 11)


def at(trace: Trace, op: Op, rank: int = 0) -> list[Site]:
    """Return the sites of a rank's ops of a kind, in order."""
    ops = trace.rank(rank)
    return [trace.head.sites[number] for number in ops.site[ops.op == op]]


def path(site: Site) -> list[tuple[str, int]]:
    """Return the last part of each function's name and its number of loops."""
    return [(each.function.rpartition(".")[2], len(each.loops)) for each in site.frames]


def test_functions_and_loops_around_a_call(recorded: Recorded) -> None:
    """Sites distinguish nested functions, two callers of one function, and loops, and are the same on all ranks."""
    trace = recorded("""
        def halo():
            for _ in range(2):
                comm.Barrier()

        def solve():
            step = 0
            while step < 2:
                halo()
                step += 1
            else:
                halo()

        for _ in range(1):
            solve()
        halo()
    """)
    sites = at(trace, Op.BARRIER)
    inner, after, last = sites[0], sites[4], sites[6]
    assert [sites.count(each) for each in (inner, after, last)] == [4, 2, 2]
    assert path(inner) == [("<module>", 1), ("solve", 1), ("halo", 1)]
    assert path(after) == [("<module>", 1), ("solve", 0), ("halo", 1)]
    assert path(last) == [("<module>", 0), ("halo", 1)]
    assert inner.frames[2] == after.frames[2] == last.frames[1]
    assert {each.file for each in inner.frames} == {"program.py"}
    assert inner.name == f"program.py:{inner.frames[-1].line}"
    assert inner.frames[2].loops == (inner.frames[2].line - 1,)
    assert at(trace, Op.BARRIER, rank=1) == sites


def test_comprehensions_are_loops(recorded: Recorded) -> None:
    """A call in the element of a comprehension or generator is in a loop; one in its first iterable is not."""
    trace = recorded("""
        def work():
            [comm.Barrier() for _ in range(2)]
            sum(comm.barrier() is None for _ in range(2))
            [0 for _ in [comm.Barrier()]]

        work()
    """)
    first, _, second, _, third = at(trace, Op.BARRIER)
    inside = [("work", 1)] if INLINED else [("work", 0), ("<listcomp>", 1)]
    assert path(first) == [("<module>", 0), *inside]
    assert path(second) == [("<module>", 0), ("work", 0), ("<genexpr>", 1)]
    assert path(third) == [("<module>", 0), ("work", 0)]


def test_calls_on_one_line_differ_by_their_position(recorded: Recorded) -> None:
    """Calls on one line have different sites, also in lambdas; only the repeated part of a statement is in a loop."""
    trace = recorded("""
        comm.Barrier(); comm.Barrier()
        f, g = (lambda: comm.Barrier()), (lambda: [comm.Barrier() for _ in range(1)])
        f(); g()
        for _ in comm.Barrier() or (1, 2): comm.Barrier()
    """)
    one, two, f, g, head, *body = at(trace, Op.BARRIER)
    assert one.name == two.name and one.frames[0].at < two.frames[0].at
    assert len({one, two, f, g, head, *body}) == 6 and body[0] == body[1]
    assert path(body[0]) == [("<module>", 1)]
    if QUALIFIED:  # Before Python 3.11, instructions had lines but no columns.
        assert (path(f)[-1], path(head)) == (("<lambda>", 0), [("<module>", 0)])
        assert path(g)[-1][1] == 1


def test_files_of_the_program_and_of_installed_packages_count(tmp_path: Path) -> None:
    """Frames of Python's own modules are left out; files are named relative to the program or to all packages."""
    library = tmp_path / "lib" / "site-packages" / "library.py"
    own = tmp_path / "code" / "own" / "part.py"
    for file, text in (
        (library, "import json\ndef apply(f):\n    for _ in range(1):\n        return f()\n"),
        (own, "def twice(f, times=2):\n    for _ in range(times): f()\n"),
        (
            tmp_path / "code" / "main.py",
            "import sys\nsys.path.append(sys.argv[1])\nfrom mpi4py import MPI\nfrom own.part import twice\n"
            "from library import apply\nfrom functools import partial\nfrom concurrent.futures import Future\n"
            "comm = MPI.COMM_WORLD\ndef meet(): comm.Barrier()\n"
            "apply(partial(twice, meet))\napply(comm.Barrier)\n"
            "exec('comm.Barrier()')\nexec('def f(): comm.Barrier()\\nf()', {'comm': comm})\n"
            "done = Future()\ndone.add_done_callback(lambda _: meet())\ndone.set_result(0)\n",
        ),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    trace = record(tmp_path / "code" / "main.py", [str(library.parent)], 2, tmp_path / "x.clue", timeout=60)
    first, _, direct, executed, defined, called_back = at(trace, Op.BARRIER)
    assert [(each.file, each.line, each.loops) for each in first.frames] == [
        ("main.py", 10, ()), ("library.py", 4, (3,)), ("own/part.py", 2, (2,)), ("main.py", 9, ()),
    ]  # fmt: skip
    assert (direct.name, direct.callers) == ("library.py:4", ("main.py:11",))
    assert [(each.file, each.function, each.loops) for each in executed.frames] == [
        ("main.py", "<module>", ()), ("<string>", "<module>", ()),
    ]  # fmt: skip
    assert [each.file for each in defined.frames] == ["main.py", "<string>", "<string>"]
    assert [each.line for each in called_back.frames] == [16, 15, 9]


def test_threads_regions_and_failures_have_sites(recorded: Recorded) -> None:
    """A thread's path begins with its function; a burst that a region ends, and a failed call, have their sites."""
    trace = recorded("""
        import threading, virtual_layer

        def work():
            comm.Barrier()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with virtual_layer.region("sums"):
            sum(range(300_000))
        try:
            comm.Recv(room, source=99)
        except MPI.Exception:
            pass
    """)
    assert path(at(trace, Op.BARRIER)[0]) == [("work", 0)]
    *_, before, within, end = at(trace, Op.COMPUTE)
    assert path(before) == path(within) == [("<module>", 0)] and before.name == within.name
    assert end == Site()
    (failed,) = at(trace, Op.OTHER)
    assert failed.frames[-1].line == before.frames[-1].line + 3


@pytest.mark.parametrize("words", [["-m", "package.tool"], ["-c", "import package.tool"]])
def test_modules_and_commands_are_programs(words: list[str], tmp_path: Path) -> None:
    """With -m and -c, files are named relative to the folder from which they are imported."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "tool.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    command = [sys.executable, "-m", "virtual_layer", "-o", "x.clue", *words]
    subprocess.run(command, cwd=tmp_path, env=surroundings, check=True, timeout=60)
    (site,) = at(Trace.open(tmp_path / "x.clue"), Op.BARRIER)
    assert (site.frames[-1].file, site.name) == ("package/tool.py", "tool.py:2")


def test_python_and_the_library_find_the_same_sites(
    recorded: Recorded, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiled library and Python find the same sites of a program with recursion, generators and callbacks."""
    traces = []
    for library in (str(compiled), "", str(compiled.with_name("none.so"))):
        monkeypatch.setenv(paths.LIBRARY, library)
        traces.append(
            recorded(
                """
                def meet(n=0):
                    return meet(n - 1) if n else comm.Barrier()

                def twin(n=0):
                    return twin(n - 1) if n else comm.Barrier()

                def several():
                    for n in range(3):
                        yield meet(n)

                for step in range(4):
                    meet(step); twin(step); list(several())
                    sorted([2, 1], key=lambda each: meet() or each)
                    comm.allreduce(1)
                """,
                1,
            )
        )
    first, *others = ([trace.head.sites[number] for number in trace.ops.site] for trace in traces)
    assert len(set(first)) > 12
    assert [[path(site) for site in each] for each in others] == [[path(site) for site in first]] * 2
    assert [[site.name for site in each] for each in others] == [[site.name for site in first]] * 2


# --- in this process ---


@pytest.fixture(scope="module")
def compiled() -> Path:
    """Return the compiled library that looks up call paths."""
    if sys.version_info < (3, 11):
        pytest.skip("the library needs functions of Python 3.11")
    try:
        return PATHS.file()
    except NoLibraryError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def twenty() -> list[Callable[..., int]]:
    """Return twenty functions with three call sites each: they call the first of a list of ways, *call* at its end."""
    body = "def f{0}(way, call):\n    if not way: return call()\n" + "".join(
        f"    if way[0][1] == {i}: return way[0][0](way[1:], call)\n" for i in range(3)
    )
    names: dict[str, Callable[..., int]] = {}
    exec("\n".join(body.replace("{0}", str(i)) for i in range(20)), names)
    return [names[f"f{i}"] for i in range(20)]


@given(seed=st.integers(0, 2**32 - 1), many=st.integers(1, 400))
@settings(max_examples=examples(20), deadline=None)
def test_what_the_library_remembers_it_finds(
    seed: int, many: int, compiled: Path, twenty: list[Callable[..., int]]
) -> None:
    """On random paths through twenty functions with three call sites each, library and Python find the same numbers."""
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(paths.LIBRARY, str(compiled))
        here = CallPaths("/")
        patch.setenv(paths.LIBRARY, "")
        reference = CallPaths("/")
    assert here.site_of is not None and reference.site_of is None

    def call() -> int:
        frame = sys._getframe(1)
        assert here.site_of is not None
        try:
            number = here.site_of(frame)
        except KeyError:
            number = here.add(frame)
        assert number == reference.add(frame)
        return number

    def compare() -> None:
        for _ in range(many):
            ways = [(twenty[random.randrange(20)], random.randrange(3)) for _ in range(random.randrange(6))]
            twenty[0](ways, call)

    # In another thread, no path has the fifty functions that run a test.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(compare).result()


def test_a_frame_that_was_never_seen_is_told(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown frame raises KeyError, and the process continues."""
    monkeypatch.setenv(paths.LIBRARY, str(compiled))
    site_of = CallPaths("/").site_of
    assert site_of is not None
    for _ in range(3):
        with pytest.raises(KeyError):
            site_of(sys._getframe())


@pytest.fixture
def here(tmp_path: Path) -> CallPaths:
    """Return call paths whose program lies in the test's folder."""
    found = CallPaths(str(tmp_path))
    found._beside, found._home = f"{tmp_path}/", (f"{tmp_path}/",)
    return found


def _load(text: str, file: Path) -> dict[str, Callable[..., int]]:
    file.write_text(text)
    names: dict[str, Callable[..., int]] = {}
    exec(compile(text, str(file), "exec"), names)  # a module of the program
    return names


def _frames(here: CallPaths, number: int, file: str) -> list[Frame]:
    """Return the frames of a site that are in this file; this test's own frames belong to the program, too."""
    return [each for each in here.sites(2**63)[number].frames if each.file == file]


def test_a_deep_recursion_keeps_its_innermost_functions(here: CallPaths, tmp_path: Path) -> None:
    """A deep recursion keeps its innermost frames only, so all deep calls have one path, and the cut is noted."""
    program = _load("def f(n, call):\n    return f(n - 1, call) if n else call()\n", tmp_path / "deep.py")
    shallow, deep, deeper = (program["f"](n, lambda: here.add(sys._getframe(2))) for n in (3, 2 * DEEPEST, 3 * DEEPEST))
    assert [len(_frames(here, number, "deep.py")) for number in (shallow, deep)] == [3, DEEPEST]
    assert deep == deeper and here.cut


def test_functions_that_do_not_count_take_no_room(here: CallPaths, tmp_path: Path) -> None:
    """Of 40 calls of a function through another one of the standard library, all are kept."""
    text = (
        "from functools import singledispatch\n"
        "@singledispatch\n"
        "def f(n, call):\n    return f(n - 1, call) if n else call()\n"
    )
    number = _load(text, tmp_path / "deep.py")["f"](40, lambda: here.add(sys._getframe(2)))
    assert len(_frames(here, number, "deep.py")) == 40


def test_paths_beyond_the_most_are_unknown_and_counted(
    here: CallPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths beyond the maximum get number 0 and are counted; known paths keep their numbers."""
    monkeypatch.setattr(paths, "MOST_SITES", 3)
    lines = "".join(f"    yield call()  # {n}\n" for n in range(5))
    program = _load(f"def f(call):\n{lines}", tmp_path / "many.py")
    for _ in range(2):
        assert list(program["f"](lambda: here.add(sys._getframe(1)))) == [1, 2, 0, 0, 0]  # type: ignore[call-overload]
    assert here.unknown == 6


def test_functions_of_one_position_are_told_apart(here: CallPaths, tmp_path: Path) -> None:
    """Two functions with the same instructions have different sites, at the first and at a later look-up."""
    text = "def f(call):\n    return call()\n\ndef g(call):\n    return call()\n"
    program = _load(text, tmp_path / "twins.py")
    numbers = [program[name](lambda: here.add(sys._getframe(1))) for name in "fgfg"]
    assert numbers == [1, 2, 1, 2]
    found = [(each.function, each.line) for number in (1, 2) for each in _frames(here, number, "twins.py")]
    assert found == [("f", 2), ("g", 5)]


def test_source_that_was_written_later_tells_no_loops(tmp_path: Path) -> None:
    """Source that was modified after the start, is not Python or is missing gives no loops."""
    text = "def f(call):\n    for _ in [0]:\n        call()\n"
    file = tmp_path / "late.py"
    code = _load(text, file)["f"].__code__
    lines = {line: at for at, _, line in code.co_lines() if line}
    assert Loops(2**63).around(code, str(file), lines[3], 3) == (2,)
    assert Loops(0).around(code, str(file), lines[3], 3) == ()
    file.write_text("for\n")
    assert Loops(2**63).around(code, str(file), lines[3], 3) == ()
    file.unlink()
    assert Loops(2**63).around(code, str(file), lines[3], 3) == ()


def test_a_frame_says_where_it_is(here: CallPaths, tmp_path: Path) -> None:
    """A frame has the function, line, position and loops of its call."""
    text = "class A:\n    def f(self, call):\n        while True:\n            return call()\n"
    cls = _load(text, tmp_path / "a.py")["A"]
    number = cls().f(lambda: here.add(sys._getframe(1)))  # type: ignore[attr-defined]
    (frame,) = _frames(here, number, "a.py")
    assert frame == Frame("a.py", "A.f" if QUALIFIED else "f", 4, frame.at, (3,)) and frame.at > 0


def test_a_package_that_imports_mpi_before_its_main_module_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sites of a package run by ``-m`` have its own frames, with files relative to the folder that contains it."""
    package = tmp_path / "solver"
    package.mkdir()
    (package / "__init__.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    (package / "__main__.py").write_text("from solver import MPI\n\nMPI.COMM_WORLD.Bcast(bytearray(8))\n")
    monkeypatch.chdir(tmp_path)
    trace = record(Path("-m"), ["solver"], 1, tmp_path / "solver.clue")
    frames = {(each.file, each.line) for site in trace.head.sites for each in site.frames}
    assert frames == {("solver/__init__.py", 2), ("solver/__main__.py", 3)}
