"""Runs several Python programs under one start of MPI: starting Python on all ranks takes longer than most of them."""

from __future__ import annotations

import fcntl
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

ROOT = Path(__file__).parents[1]
#: A program and its arguments.
Run: TypeAlias = tuple[Path, Sequence[str]]
Ended: TypeAlias = "subprocess.CompletedProcess[str]"
#: Time limit for all programs of one start, in seconds.
_LIMIT = 240


def in_turn(
    folder: Path, launcher: Sequence[str], runs: Sequence[Run], more: Mapping[str, str] = MappingProxyType({})
) -> list[Ended]:
    """Run programs on the ranks of one MPI start, or reuse the results kept in this folder; return how each ended.

    If a program fails, the later ones do not run. They count as failed, and their message names the one that failed.

    Args:
        folder: The folder to run in; each program gets a subfolder of its own.
        launcher: The command before Python, such as ``mpiexec -n 4``.
        runs: The programs.
        more: Additional environment variables.
    """
    folder.mkdir(exist_ok=True)
    kept = folder / "ended.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            ended = _start(folder, launcher, runs, more)
            kept.write_text(json.dumps([(each.args, each.returncode, each.stdout, each.stderr) for each in ended]))
    return [subprocess.CompletedProcess(*each) for each in json.loads(kept.read_text())]


def _start(folder: Path, launcher: Sequence[str], runs: Sequence[Run], more: Mapping[str, str]) -> list[Ended]:
    from virtual_layer.programs import settings  # noqa: PLC0415 - programs themselves run without

    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    words = [[str(program), *arguments] for program, arguments in runs]
    command = [*launcher, sys.executable, str(Path(__file__)), json.dumps(words)]
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **settings(os.environ), **more, "PYTHONPATH": path},
            capture_output=True, text=True, timeout=_LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, 1, "", f"had not ended after {_LIMIT} s\n")
    ended = [
        subprocess.CompletedProcess(each, 0, _written(folder, i, "out"), _written(folder, i, "err"))
        for i, each in enumerate(words)
    ]
    # The launcher's output belongs to the last program that started.
    last = next((i for i in range(len(words)) if not (folder / f"{i}.ended").exists()), len(words) - 1)
    ended[last].returncode = done.returncode
    ended[last].stdout += done.stdout
    ended[last].stderr += done.stderr
    for each in ended[last + 1 :]:
        each.returncode, each.stderr = 1, f"did not run, since {' '.join(words[last])} failed before it\n"
    return ended


def _written(folder: Path, number: int, stream: str) -> str:
    """Return what the ranks of a program wrote to a stream, in order of ranks."""
    files = sorted(folder.glob(f"{number}.*.{stream}"), key=lambda file: int(file.name.split(".")[1]))
    return "".join(file.read_text() for file in files)


def main() -> None:
    """Run each program on this rank as if it had been started alone; the first argument is their list as JSON."""
    from mpi4py import MPI  # noqa: PLC0415 - tests themselves start without

    world, path, home = MPI.COMM_WORLD, sys.path[1:], Path.cwd()
    for number, words in enumerate(json.loads(sys.argv[1])):
        _write_to(home / f"{number}.{world.rank}")
        folder = home / str(number)
        folder.mkdir(exist_ok=True)
        os.chdir(folder)
        sys.path[:] = [str(Path(words[0]).parent), *path]
        sys.argv[:] = words
        try:
            runpy.run_path(words[0], run_name="__main__")
        except BaseException as error:
            if not (isinstance(error, SystemExit) and error.code in (None, 0)):
                traceback.print_exc()
                sys.stdout.flush()
                world.Abort(1)
        world.Barrier()
        if world.rank == 0:
            (home / f"{number}.ended").touch()


def _write_to(name: Path) -> None:
    """Redirect standard output and error to files of this name: through MPI, lines of ranks come in any order."""
    for stream, ending in ((sys.stdout, "out"), (sys.stderr, "err")):
        stream.flush()
        with name.with_name(f"{name.name}.{ending}").open("w") as file:
            os.dup2(file.fileno(), stream.fileno())


if __name__ == "__main__":
    main()
