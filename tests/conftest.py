"""Settings of all tests: the number of worker processes, which tests are quick, what no test may depend on."""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from hypothesis import settings

from clue.garbage import search_no_more
from clue.native import NoLibraryError, compiler

# The time of an example depends more on the load of the computer than on clue.
settings.register_profile("clue", deadline=None)
# CI draws the same examples each time, so that a failure comes from the change under test; other runs draw new ones.
settings.register_profile("reproducible", deadline=None, derandomize=True)
settings.load_profile("clue")
# Intervals must not depend on validations by this computer's user.
os.environ.pop("CLUE_MODEL_ERROR", None)
os.environ["XDG_CONFIG_HOME"] = os.devnull
# Without a configuration folder, matplotlib has no place for its list of fonts: each process that draws would
# rebuild the list.
_CACHES = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
os.environ.setdefault("MPLCONFIGDIR", str(Path(_CACHES) / "matplotlib"))
# Many containers stop Python from writing bytecode: each command that a test starts would compile all of clue again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Each test process has a processor of its own; at full load, threads for small matrices wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# What tests write need not outlast a power failure. A trace is twenty files, each of which waits for the disk.
os.fsync = lambda fd: None  # noqa: ARG005 - the name of the parameter is that of the function that it replaces

# --- the number of worker processes ----------------------------------------------------------------------------------

#: More processes gain little, as the longest tests then decide. Each test of MPI also starts up to nine ranks.
_MOST_WORKERS = 8


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many worker processes share the tests: three for every two processors that this one may use.

    Many tests wait for programs, timeouts and disks. Quick tests only compute, so one worker per processor is enough.
    A single file or test gets no workers: they would take longer to start than most files take to run.
    ``PYTEST_XDIST_AUTO_NUM_WORKERS`` overrides the number.
    """
    told = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    if told:
        return int(told)
    files = {argument.partition("::")[0] for argument in config.args}
    if len(files) == 1 and files.pop().endswith(".py"):
        return 0
    processors = len(os.sched_getaffinity(0))
    return min(processors if config.getoption("--quick") else processors + processors // 2, _MOST_WORKERS)


#: The longest tests. They start first: if they started last, the other workers would idle.
_LONGEST = "tests/conformance/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the longest tests to the front; all others keep their order."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


# --- during and after collection -------------------------------------------------------------------------------------


def pytest_collection(session: pytest.Session) -> None:
    """Turn off garbage collection: objects made during collection live until the end and are slow to search."""
    gc.disable()
    _import_a_share(session)


def _import_a_share(session: pytest.Session) -> None:
    """Import this worker's share of the test files before collection.

    When a file is first imported, pytest rewrites its assertions and caches the result. Workers that collect the same
    files at the same time would each rewrite all of them. Files that fail to import are reported at collection.
    """
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get("PYTEST_XDIST_WORKER_COUNT")
    if worker is None or workers is None or session.config.args != list(session.config.getini("testpaths")):
        return
    root, number = session.config.rootpath, int(worker.removeprefix("gw"))
    for file in sorted((root / "tests").rglob("test_*.py"))[number :: int(workers)]:
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Turn garbage collection on again, but exempt the objects that exist now."""
    search_no_more()
    gc.enable()


# --- quick tests -----------------------------------------------------------------------------------------------------

#: Audit events that Python raises when a process is started.
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})


#: Examples of a property in quick tests; the usual number is a hundred.
_QUICK_EXAMPLES = 20


class Quick:
    """Skips long tests: those marked ``long``, and each test at the moment when it starts a process.

    So nobody has to maintain a list. C++ code is used if it was compiled before; otherwise its tests are skipped, as on
    a computer without a compiler. Properties draw fewer examples.
    """

    def __init__(self) -> None:
        self._in_test = False
        compiler.find_compiler = lambda: None
        sys.addaudithook(self._refuse)
        # Python raises no audit event when multiprocessing starts a process by spawn or forkserver.
        BaseProcess.start = self._before(BaseProcess.start)  # type: ignore[method-assign, assignment]
        settings.register_profile("quick", settings(), max_examples=_QUICK_EXAMPLES)
        settings.load_profile("quick")

    def _refuse(self, event: str, _: object) -> None:
        # In another thread, nothing would catch the skip.
        if event in _STARTS and self._in_test and threading.current_thread() is threading.main_thread():
            self._in_test = False
            pytest.skip("starts a process")

    def _before(self, start: Callable[[BaseProcess], None]) -> Callable[[BaseProcess], None]:
        def begin(process: BaseProcess) -> None:
            self._refuse("os.fork", None)
            start(process)

        return begin

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip tests that are marked ``long``."""
        self._in_test = True
        if item.get_closest_marker("long") is not None:
            pytest.skip("long")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Let fixtures start processes; restore the signal handler that a skipped test left changed."""
        self._in_test = False
        try:
            return (yield)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """Watch for processes again, after the fixtures."""
        self._in_test = True


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--quick``."""
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out tests that start processes, compile, or are marked long; draw fewer examples",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Skip tests under ``--quick``, after hypothesis has loaded the chosen profile."""
    # Shells let their background jobs ignore SIGINT. Programs that tests start would inherit this and not stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--quick"):
        # A skipped test leaves its files open.
        config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")
        config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
        config.pluginmanager.register(Quick())
    elif config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        # Many tests need these libraries. If the first tests compiled them one after the other, processors would idle.
        from tests.compiled import LIBRARIES  # noqa: PLC0415 - a few tests alone begin sooner without

        for library in LIBRARIES:
            library.is_under_way()


# --- compiled code ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Load the compiled libraries before a test with a cache of its own would compile them again.

    This happens only in xdist workers.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    from clue.recording.launching import PATHS  # noqa: PLC0415 - a few tests alone begin sooner without
    from tests.compiled import LIBRARIES  # noqa: PLC0415

    for library in LIBRARIES:
        with suppress(NoLibraryError):
            if library.is_there():
                library.load()
    with suppress(NoLibraryError):
        # Recorded programs load this one, so each test with a cache of its own that records would compile it.
        path = PATHS.file()
        PATHS.shipped = lambda: path  # type: ignore[method-assign]


# --- resources that tests share --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all workers of this test run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def the_only_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Wait until no other worker runs an emulated cluster: two would compete for the same processors."""
    with (tmp_path_factory.getbasetemp().parent / "testbed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
