"""What holds for all tests: how many processes share them, which of them are quick, what they must not depend on."""

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

# How long an example takes says more of what else the computer does than of clue.
settings.register_profile("clue", deadline=None)
# CI draws the same examples each time, so that a change is judged by what it changes; everybody else draws new ones.
settings.register_profile("reproducible", deadline=None, derandomize=True)
settings.load_profile("clue")
# Nor do intervals depend on what this computer's user has validated.
os.environ.pop("CLUE_MODEL_ERROR", None)
os.environ["XDG_CONFIG_HOME"] = os.devnull
# Where it has no folder for its configuration, matplotlib has none for its list of fonts: each process that draws
# would make it anew.
_CACHES = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
os.environ.setdefault("MPLCONFIGDIR", str(Path(_CACHES) / "matplotlib"))
# Many containers let Python keep no bytecode: each command that a test starts would compile all of clue anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Each process that tests has a processor for itself; threads for small matrices wait for each other at full load.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# --- in how many processes -------------------------------------------------------------------------------------------

#: More processes gain little: then the longest tests decide. Each test of MPI has up to nine ranks beside them.
_MOST_WORKERS = 8


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes share the tests: three for two processors that this one may use.

    Of all tests many wait for programs, timeouts and disks; quick ones only compute, so one for each processor is
    enough. None for a single file or test: the processes would take longer to begin than most files take. Told by
    ``PYTEST_XDIST_AUTO_NUM_WORKERS``, so many.
    """
    told = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    if told:
        return int(told)
    files = {argument.partition("::")[0] for argument in config.args}
    if len(files) == 1 and files.pop().endswith(".py"):
        return 0
    processors = len(os.sched_getaffinity(0))
    return min(processors if config.getoption("--quick") else processors + processors // 2, _MOST_WORKERS)


#: What takes longest, and so begins first: begun last, it would let the other processes idle.
_LONGEST = "tests/conformance/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest tests be the first; all others keep their order."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


# --- what holds while they are collected, and after ------------------------------------------------------------------


def pytest_collection(session: pytest.Session) -> None:
    """Keep all that is made while tests are collected: it stays until the end, and to search it takes long."""
    gc.disable()
    _import_a_share(session)


def _import_a_share(session: pytest.Session) -> None:
    """Import a share of all tests before they are collected: each of the processes that share them begins with its own.

    At first pytest rewrites the assertions of each file, and keeps what comes of it. Processes that collect the same
    files at the same time would all do so for all of them. What cannot be imported is reported when it is collected.
    """
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get("PYTEST_XDIST_WORKER_COUNT")
    if worker is None or workers is None or session.config.args != list(session.config.getini("testpaths")):
        return
    root, number = session.config.rootpath, int(worker.removeprefix("gw"))
    for file in sorted((root / "tests").rglob("test_*.py"))[number :: int(workers)]:
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Look for garbage again, but never in what is there now."""
    search_no_more()
    gc.enable()


# --- which are quick -------------------------------------------------------------------------------------------------

#: What Python audits when a process is started.
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})


#: Examples of a property in quick tests, of the hundred that are usual.
_QUICK_EXAMPLES = 20


class Quick:
    """Leaves out what is long: tests that are marked so, and each test that starts a process, once it does.

    So nobody need keep a list of these. Code in C++ is used where it has been compiled before; else the tests of it
    are left out, as on a computer without a compiler. Properties draw fewer examples.
    """

    def __init__(self) -> None:
        self._in_test = False
        compiler.find_compiler = lambda: None
        sys.addaudithook(self._refuse)
        # Python does not audit the processes that multiprocessing starts by spawning them or by a server.
        BaseProcess.start = self._before(BaseProcess.start)  # type: ignore[method-assign, assignment]
        settings.register_profile("quick", settings(), max_examples=_QUICK_EXAMPLES)
        settings.load_profile("quick")

    def _refuse(self, event: str, _: object) -> None:
        # In another thread no handler would recognise the exception.
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
        """Skip what is marked."""
        self._in_test = True
        if item.get_closest_marker("long") is not None:
            pytest.skip("long")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Let fixtures end what they like; what a test that was left out did not restore is restored."""
        self._in_test = False
        try:
            return (yield)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """Go on looking."""
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
    """Leave out tests if that is asked for, once hypothesis has the profile that was asked for."""
    # Shells let their background jobs ignore SIGINT; what tests start and interrupt would inherit that, and wait.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--quick"):
        # Files that a skipped test had open stay open.
        config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")
        config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
        config.pluginmanager.register(Quick())
    elif config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        # Many tests need them. Compiled one after the other by those that come first, they would let processors idle.
        from tests.compiled import LIBRARIES  # noqa: PLC0415 - a few tests alone begin sooner without

        for library in LIBRARIES:
            library.is_under_way()


# --- compiled code ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Load what is compiled, before the first test has a cache of its own: it would compile it again for that.

    Only where processes share all tests.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    from tests.compiled import LIBRARIES  # noqa: PLC0415 - a few tests alone begin sooner without

    for library in LIBRARIES:
        with suppress(NoLibraryError):
            if library.is_there():
                library.load()


# --- what tests share ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all processes of these tests."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def the_only_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Wait until no other process of these tests has an emulated cluster: two would take each other's processors."""
    with (tmp_path_factory.getbasetemp().parent / "testbed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
