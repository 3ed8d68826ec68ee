"""The cache of recordings: when one is reused, when and why it is made again, in which order, and by which process."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clue import files
from clue.cache import MARK, home
from clue.errors import CacheError, RecordError, UsageError
from clue.recording import Request, facts, kept, kept_recordings, recordings_of
from clue.recording.kept import FOLDER
from clue.trace import Trace
from tests.recording.cases import Recorder, request

Told = list[str]


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Use an empty cache, and return a fake recorder that takes no time."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    recorder = Recorder()
    monkeypatch.setattr(kept, "record", recorder)
    return recorder


@pytest.fixture
def heat(tmp_path: Path, recorder: Recorder) -> Path:
    """Return a program that imports a module from its folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("heat.py", "stencil.py"):
        (folder / name).write_text(f"this is {name}")
    imports(recorder, folder / "stencil.py")
    return folder / "heat.py"


def imports(recorder: Recorder, *modules: Path) -> None:
    """Set the imported modules to these files, with their present content."""
    recorder.modules = {str(module): hashlib.sha256(module.read_bytes()).hexdigest() for module in modules}


def ask(*wanted: Request, repeats: int | None = 1) -> tuple[list[tuple[Trace, ...]], Told]:
    """Request recordings; return them and the progress messages."""
    told: Told = []
    return recordings_of(wanted, repeats, lambda what, _done, _total: told.append(what)), told


def why(*wanted: Request) -> str:
    """Return the reason for which a program is recorded again, or ``""`` if its recording is reused."""
    _, told = ask(*wanted)
    return told[0].partition(" again: ")[2] if told else ""


# --- what counts ---


def test_recording_is_used_again(recorder: Recorder, heat: Path) -> None:
    """An unchanged program is recorded once; the recording is then reused without a message."""
    (first,), told = ask(request(heat, "--n", "9", ranks=2))
    assert told == ["recording heat.py --n 9 on 2 ranks"]
    (second,), told = ask(request(heat, "--n", "9", ranks=2))
    assert told == []
    assert [trace.path for trace in first] == [trace.path for trace in second]
    assert recorder.recorded == ["heat.py --n 9 2"]


def test_a_long_name_of_a_program_is_cut(recorder: Recorder, heat: Path) -> None:
    """A program whose name is as long as names can be has a recording, which is used again."""
    program = heat.with_name("h" * 252 + ".py")
    program.write_text("this is long")
    ask(request(program, ranks=2))
    assert entry().name.startswith("h" * 40 + "-2-")
    assert ask(request(program, ranks=2))[1] == []
    assert len(recorder.recorded) == 1


def test_arguments_and_ranks_make_other_recordings(recorder: Recorder, heat: Path) -> None:
    """Each combination of arguments and ranks has its own recordings."""
    wanted = [request(heat), request(heat, "1"), request(heat, "1", "2"), request(heat, ranks=2)]
    for _ in range(2):
        ask(*wanted)
    assert len(recorder.recorded) == 4


def test_another_programs_recording_is_not_used(recorder: Recorder, heat: Path) -> None:
    """The folder ``heat-1-1-…`` of heat-1.py is not taken for one of heat.py on 1 rank, although the name fits."""
    other = heat.with_name("heat-1.py")
    other.write_text("import heat")
    imports(recorder, heat)
    ask(request(other))
    assert ask(request(heat))[1] == ["recording heat.py on 1 rank"]
    ask(request(other), request(heat))
    assert recorder.recorded == ["heat-1.py 1", "heat.py 1"]


def test_unrelated_files_do_not_count(recorder: Recorder, heat: Path) -> None:
    """A change of a file that the program does not import causes no new recording."""
    ask(request(heat))
    (heat.parent / "beside.py").write_text("x = 1")
    assert why(request(heat)) == ""
    assert len(recorder.recorded) == 1


@pytest.mark.parametrize("name", ["heat.py", "stencil.py"])
def test_program_and_its_modules_count(name: str, heat: Path) -> None:
    """A change of the program or an imported module causes a new recording; undone, the old one is reused."""
    ask(request(heat))
    file = heat.parent / name
    before = file.read_text()
    file.write_text("something else")
    assert why(request(heat)) == f"{name} has changed"
    file.write_text(before)
    assert why(request(heat)) == ""


def test_module_that_is_no_file_any_more(heat: Path) -> None:
    """A named pipe in place of a module does not block; an input with too long a name is an error."""
    ask(request(heat))
    (heat.parent / "stencil.py").unlink()
    os.mkfifo(heat.parent / "stencil.py")
    assert why(request(heat)) == "stencil.py cannot be read any more"
    with pytest.raises(UsageError, match="must be a file that exists, got none"):
        ask(request(heat, inputs=(heat.parent / ("x" * 300),)))


def test_facts_are_written_whole_and_for_this_user_alone(heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If writing the facts is interrupted, the old facts remain, and only the user can read them."""
    ask(request(heat))
    mark = home() / FOLDER / kept_recordings()[0].item.path.name / MARK
    before = mark.read_bytes()
    assert mark.stat().st_mode & 0o777 == 0o600

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "_put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kept._write(mark, replace(kept_recordings()[0].facts or pytest.fail(), ranks=9))
    assert [path.name for path in mark.parent.iterdir() if path.suffix != ".clue"] == [MARK]
    assert mark.read_bytes() == before
    assert why(request(heat)) == ""


def test_module_that_is_gone(heat: Path) -> None:
    """When an imported module is removed, the program is recorded again."""
    ask(request(heat))
    (heat.parent / "stencil.py").unlink()
    assert why(request(heat)) == "stencil.py cannot be read any more"


def test_modules_from_elsewhere_count(recorder: Recorder, heat: Path, tmp_path: Path) -> None:
    """Imported modules outside the program's folder that are not installed, for instance from PYTHONPATH, count."""
    module = tmp_path / "elsewhere" / "solver.py"
    module.parent.mkdir()
    module.write_text("1")
    imports(recorder, module)
    ask(request(heat))
    module.write_text("2")
    assert why(request(heat)) == "solver.py has changed"


def test_inputs_count(recorder: Recorder, heat: Path, tmp_path: Path) -> None:
    """A new input and a changed one cause a new recording; an input that does not exist is an error."""
    data = tmp_path / "matrix.bin"
    data.write_bytes(b"1")
    ask(request(heat))
    assert why(request(heat, inputs=(data,))) == "matrix.bin was not an input"
    assert why(request(heat, inputs=(data,))) == ""
    data.write_bytes(b"2")
    assert why(request(heat, inputs=(data,))) == "matrix.bin has changed"
    data.unlink()
    with pytest.raises(UsageError, match=r"matrix\.bin: input of .*heat\.py must be a file that exists, got none"):
        ask(request(heat, inputs=(data,)))
    assert len(recorder.recorded) == 3


def test_program_that_is_moved_with_all_it_imports(recorder: Recorder, heat: Path, tmp_path: Path) -> None:
    """A copy of the project uses the original's recordings while its own files are the same."""
    ask(request(heat))
    copy = Path(shutil.copytree(heat.parent, tmp_path / "copy")) / "heat.py"
    assert why(request(copy)) == ""
    (copy.parent / "stencil.py").write_text("better")
    assert why(request(copy)) == "stencil.py has changed"
    assert why(request(heat)) == ""
    assert len(recorder.recorded) == 2


def test_versions_of_installed_packages_count(recorder: Recorder, heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version of an imported installed package causes a new recording; other packages do not count."""
    import numpy as np  # noqa: PLC0415

    recorder.packages = {"numpy": np.__file__}
    ask(request(heat))
    versions = {"numpy": "9.0", "scipy": "9.0"}
    plain = facts._version
    monkeypatch.setattr(facts, "_version", lambda name: versions.get(name, "") or plain(name))
    assert why(request(heat)) == f"numpy was {np.__version__} and is 9.0"


def test_module_that_is_installed_without_a_version_counts(recorder: Recorder, heat: Path, tmp_path: Path) -> None:
    """The content of an installed module without a version counts."""
    dropped = tmp_path / "site-packages" / "dropped_by_hand.py"
    dropped.parent.mkdir()
    dropped.write_text("1")
    recorder.packages = {"dropped_by_hand": str(dropped)}
    ask(request(heat))
    dropped.write_text("2")
    assert why(request(heat)) == "dropped_by_hand.py has changed"


def test_environment_counts(recorder: Recorder, heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that affect libraries or Python, and those that the request names, count; others do not."""
    wanted = replace(request(heat), environment=("SIZE",))
    ask(wanted)
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "yes")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    assert why(wanted) == ""
    monkeypatch.setenv("SIZE", "9")
    assert why(wanted) == "SIZE was not set and is '9'"
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert why(wanted) == "OMP_NUM_THREADS was not set and is '2'"
    assert len(recorder.recorded) == 3


@pytest.mark.parametrize(
    ("of", "name", "reason"),
    [
        (platform, "node", "it was recorded on "),
        (platform, "python_version", "Python was "),
        (facts, "_recorder", "clue records differently now"),
    ],
)
def test_computer_python_and_recorder_count(
    heat: Path, monkeypatch: pytest.MonkeyPatch, of: object, name: str, reason: str
) -> None:
    """Another computer, Python or recorder causes a new recording."""
    ask(request(heat))
    monkeypatch.setattr(of, name, lambda: "another")
    assert why(request(heat)).startswith(reason)


# --- files that change while they are recorded ---


def test_program_that_is_edited_while_it_is_recorded(recorder: Recorder, heat: Path) -> None:
    """An edit during the recording counts as later: the recording belongs to the program as it was at the start."""
    recorder.meanwhile = lambda: heat.write_text("edited")
    ask(request(heat))
    recorder.meanwhile = lambda: None
    assert why(request(heat)) == "heat.py has changed"
    assert why(request(heat)) == ""


def test_module_of_which_nobody_knows_what_was_imported(recorder: Recorder, heat: Path) -> None:
    """With an import of unknown content, one recording is made, as others could not join it, and is not reused."""
    recorder.modules[str(heat.parent / "stencil.py")] = ""
    ask(request(heat), repeats=3)
    assert len(recorder.recorded) == 1
    assert why(request(heat)) == "stencil.py was written while it was recorded"


def test_modules_that_only_some_recordings_import(recorder: Recorder, heat: Path) -> None:
    """A module that any one of a program's recordings imports counts for all of them."""
    other = heat.parent / "other.py"
    other.write_text("1")
    ask(request(heat))
    imports(recorder, other)
    ask(request(heat), repeats=2)
    assert len(recorder.recorded) == 2
    other.write_text("2")
    assert why(request(heat)) == "other.py has changed"


# --- how often, and in which order ---


def test_short_programs_are_recorded_three_times_in_turn(recorder: Recorder, heat: Path) -> None:
    """Short programs are recorded three times, in turn; a program that takes a minute or more is recorded once."""
    other, long = heat.with_name("other.py"), heat.with_name("long.py")
    other.write_text("")
    long.write_text("")
    recorder.wall = {"long.py": 60.0, "other.py": 59.9}
    found, told = ask(request(heat), request(long), request(other, ranks=2), repeats=None)
    once = ["heat.py 1", "long.py 1", "other.py 2"]
    assert recorder.recorded == [*once, "heat.py 1", "other.py 2", "heat.py 1", "other.py 2"]
    assert [len(traces) for traces in found] == [3, 1, 3]
    assert told[3:] == [
        "recording heat.py on 1 rank (2 of 3)",
        "recording other.py on 2 ranks (2 of 3)",
        "recording heat.py on 1 rank (3 of 3)",
        "recording other.py on 2 ranks (3 of 3)",
    ]
    assert ask(request(heat), request(long), request(other, ranks=2), repeats=None)[1] == []


def test_as_often_as_is_asked_for(recorder: Recorder, heat: Path) -> None:
    """The requested number of recordings is made, however long they take; existing and extra ones are used too."""
    recorder.wall = {"heat.py": 100.0}
    for repeats, there in ((2, 2), (4, 4), (1, 4), (None, 4)):
        (traces,), _ = ask(request(heat), repeats=repeats)
        assert len(traces) == len(recorder.recorded) == there
    assert len({trace.path for trace in traces}) == 4


def test_most_typical_recording_comes_first(recorder: Recorder, heat: Path) -> None:
    """Of recordings with 30, 0 and 10 % of disturbance, that of 10 % comes first: its notes are shown with results."""
    recorder.delayed = (0.9, 0.0, 0.3)
    (traces,), _ = ask(request(heat), repeats=3)
    assert [trace.head.rank_heads[0].delayed for trace in traces] == [0.3, 0.0, 0.9]


def test_recordings_of_the_same_bursts_are_one(recorder: Recorder, heat: Path) -> None:
    """Recordings with equal bursts count as one, as they tell nothing about variation."""
    recorder.longer = 0.0
    (traces,), _ = ask(request(heat), repeats=3)
    assert len(traces) == 1
    assert len(ask(request(heat), repeats=3)[0]) == 1 and len(recorder.recorded) == 3


def test_the_same_wanted_twice(recorder: Recorder, heat: Path) -> None:
    """Two equal requests in one call are recorded once and get the same traces."""
    (first, second), _ = ask(request(heat), request(heat))
    assert first == second
    assert len(recorder.recorded) == 1


def test_recording_that_was_interrupted_is_made_up_for(recorder: Recorder, heat: Path) -> None:
    """After an interruption, finished recordings remain, and the missing ones are made the next time."""

    def stop() -> None:
        if len(recorder.recorded) == 2:
            raise KeyboardInterrupt

    recorder.meanwhile = stop
    with pytest.raises(KeyboardInterrupt):
        ask(request(heat), repeats=None)
    (left,) = (home() / FOLDER).iterdir()
    assert (left / MARK).exists() and kept_recordings()[0].recordings == 1
    recorder.meanwhile = lambda: None
    (traces,), _ = ask(request(heat), repeats=None)
    assert len(traces) == 3


def test_programs_have_an_empty_standard_input(recorder: Recorder, heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What clue is given would belong to one recording, which is used again when clue is given something else."""
    given: list[object] = []

    def note(*what: Any, **options: Any) -> Trace:
        given.append(options["stdin"])
        return recorder(*what)

    monkeypatch.setattr(kept, "record", note)
    ask(request(heat), repeats=2)
    assert given == [subprocess.DEVNULL] * 2


def test_program_that_fails_leaves_nothing(recorder: Recorder, heat: Path) -> None:
    """A program that fails leaves no recording, draft or lock."""

    def fail() -> None:
        raise RecordError("heat.py: program must end well")

    recorder.meanwhile = fail
    with pytest.raises(RecordError, match="must end well"):
        ask(request(heat))
    assert list((home() / FOLDER).iterdir()) == []


def test_failure_names_the_ranks_and_no_draft(recorder: Recorder, heat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison records several numbers of ranks: the message says which one failed, and no path that is gone."""
    del recorder

    def fail(_program: Path, _arguments: object, ranks: int, target: Path, **_: object) -> Trace:
        raise RecordError(f"heat.py: program must end well: {target}: trace must be complete", refused=ranks == 3)

    monkeypatch.setattr(kept, "record", fail)
    with pytest.raises(RecordError) as failure:
        ask(request(heat, "--n", "8", ranks=3))
    said = "heat.py: program must end well: heat.py --n 8 on 3 ranks: trace must be complete"
    assert (str(failure.value), failure.value.refused) == (said, True)


# --- what is not believed ---


def entry() -> Path:
    """Return the folder of the only kept recordings."""
    (listed,) = kept_recordings()
    return listed.item.path


def _truncate(path: Path) -> None:
    os.truncate(path / f"{path.name}.clue" / "cpu.npy", 100)


def _lose_the_head(path: Path) -> None:
    (path / f"{path.name}.clue" / "head.json").unlink()


def _spoil_the_facts(path: Path) -> None:
    (path / MARK).write_text('{"program": "heat.py"}')


def _muddle_the_facts(path: Path) -> None:
    (path / MARK).write_text(json.dumps({**json.loads((path / MARK).read_text()), "environment": []}))


def _lose_all(path: Path) -> None:
    shutil.rmtree(path / f"{path.name}.clue")


@pytest.mark.parametrize("spoil", [_truncate, _lose_the_head, _lose_all, _spoil_the_facts, _muddle_the_facts])
def test_damaged_recording_is_made_again(recorder: Recorder, heat: Path, spoil: Callable[[Path], None]) -> None:
    """A damaged recording is made again and replaced."""
    ask(request(heat))
    spoil(entry())
    assert why(request(heat)) == "the kept recording is damaged"
    assert why(request(heat)) == ""
    assert len(list((home() / FOLDER).iterdir())) == 1
    assert len(recorder.recorded) == 2


def test_recording_that_others_may_write_is_made_again(recorder: Recorder, heat: Path) -> None:
    """A recording that other users can write to is not trusted, and is made again."""
    ask(request(heat))
    (entry() / f"{entry().name}.clue" / "cpu.npy").chmod(0o606)
    assert why(request(heat)) == "the kept recording is mode 0606, by which others may write (cpu.npy)"
    assert why(request(heat)) == ""
    assert len(recorder.recorded) == 2


def test_recordings_are_ours_alone(heat: Path) -> None:
    """Recordings are accessible to the user alone, whatever the umask."""
    before = os.umask(0)
    try:
        ask(request(heat), repeats=2)
    finally:
        os.umask(before)
    assert all(path.lstat().st_mode & 0o077 == 0 for path in (home() / FOLDER).rglob("*"))


def test_cache_that_others_may_write_is_refused(recorder: Recorder, heat: Path) -> None:
    """A cache folder that others can write to is refused before anything is recorded."""
    (home() / FOLDER).mkdir(parents=True)
    (home() / FOLDER).chmod(0o777)
    with pytest.raises(CacheError, match="traces: folder must be one that only you may write, got mode 0777"):
        ask(request(heat))
    assert recorder.recorded == []


# --- several processes ---


def test_the_first_one_records_and_the_others_use_it(
    recorder: Recorder, heat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight processes want the same three recordings: three are made, and all processes get them."""
    log = home().parent / "log"
    monkeypatch.setattr(recorder, "meanwhile", lambda: log.open("a").write(f"{os.getpid()}\n"))
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            try:
                recorder.computing += os.getpid() * 1e-6  # no two processes measure the same bursts
                (traces,), _ = ask(request(heat), repeats=None)
                os._exit(len(traces))
            finally:
                os._exit(99)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [3] * 8
    assert len(log.read_text().splitlines()) == 3
    assert [path.name for path in (home() / FOLDER).iterdir()] == [entry().name]


def test_who_waits_is_told_for_whom(recorder: Recorder, heat: Path) -> None:
    """A waiting process names the one that records; if that dies, its draft is removed and the waiting one records."""
    begun, ended = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        recorder.meanwhile = lambda: [os.write(begun[1], b"x"), os.read(ended[0], 1)]
        try:
            ask(request(heat))
        finally:
            os._exit(0)
    os.read(begun[0], 1)
    told: Told = []

    def tell(what: str, _done: int, _total: int) -> None:
        told.append(what)
        if what.startswith("waiting"):
            os.kill(child, 9)

    recordings_of([request(heat)], 1, tell)
    os.waitpid(child, 0)
    assert told == [
        f"waiting for process {child} on {os.uname().nodename}, which records heat.py on 1 rank",
        "recording heat.py on 1 rank",
    ]
    assert len(list((home() / FOLDER).iterdir())) == 1


def test_the_recorder_is_what_records_and_no_more() -> None:
    """The recorder's sources include C++ and the format of parts, but not the modules that only live runs use."""
    sources = [path.as_posix() for path in facts.recorder_sources()]
    assert any(each.endswith("virtual_layer/recorder.py") for each in sources)
    assert any(each.endswith("virtual_layer/paths.cpp") for each in sources)
    assert any(each.endswith("clue/trace/parts/__init__.py") for each in sources)
    assert not any("/virtual_layer/substitutes/" in each for each in sources)
