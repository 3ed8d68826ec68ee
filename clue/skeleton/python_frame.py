"""Text of Python skeletons around their statements; a program contains the parts that it needs."""

from __future__ import annotations

IMPORTS = """
import argparse
import io
import json
import mmap
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache as once
from itertools import cycle, repeat
from operator import itemgetter
from statistics import median
from time import perf_counter, sleep

from mpi4py import MPI
"""

BUFFERS = """
#: Buffers for sending and receiving. They contain zeros.
data, room = memoryview(bytearray({largest})), memoryview(bytearray({largest}))
data[:] = bytes(len(data))
#: Requests that are not yet known to be complete, the newest last.
requests = []
"""

ROOMS = """
#: Buffers of nonblocking receives: one place after the other, even if a receive there is still open. Nobody reads them.
rooms = cycle([memoryview(bytearray({nonblocking})) for _ in range({pending})])
"""

OPERATIONS = """
#: User-defined operations of the application: they do nothing.
NOTHING = MPI.Op.Create(lambda one, other, kind: None, commute=True)
NOTHING_IN_ORDER = MPI.Op.Create(lambda one, other, kind: None, commute=False)
"""

HELPERS = {
    "wait_for_all": '''
def wait_for_all():
    """Wait for all requests."""
    MPI.Request.Waitall(requests)
    requests.clear()
''',
    "wait_for": '''
def wait_for(*ages):
    """Wait for some requests: 0 is the newest, 1 the one before it."""
    MPI.Request.Waitall([requests[-1 - age] for age in ages])
    requests[:-OLDEST] = [each for each in requests[:-OLDEST] if each != MPI.REQUEST_NULL]
''',
    "receive_matched": '''
def receive_matched(age):
    """Receive the message that a probe has matched; no request remains to wait for."""
    requests[-1 - age].Recv(room)
    requests[-1 - age] = MPI.Request()
''',
    "start_matched": '''
def start_matched(age):
    """Begin to receive the message that a probe has matched."""
    requests[-1 - age] = requests[-1 - age].Irecv(next(rooms))
''',
    "neighbours": '''
def neighbours(comm, dests, sizes, sources):
    """Begin to exchange messages with neighbours; return the requests."""
    received = [comm.Irecv(next(rooms), source=each, tag=32_000) for each in sources]
    return received + [comm.Isend(data[:size], dest=each, tag=32_000) for each, size in zip(dests, sizes)]


def wait_for_each(several):
    """Wait for requests and lists of requests."""
    MPI.Request.Waitall([one for each in several for one in (each if isinstance(each, list) else [each])])
''',
    "along_bits": '''
def along_bits(comm, sizes, tag, sends):
    """Exchange messages with rank ^ 1, rank ^ 2 and so on; where the bit is set this rank sends, or receives."""
    bit = 1
    while bit < comm.size:
        other = comm.rank ^ bit
        for size in sizes if other < comm.size else ():
            if bool(comm.rank & bit) == sends:
                comm.Send(data[:size], dest=other, tag=tag)
            else:
                comm.Recv(room, source=other, tag=tag)
        bit *= 2
''',
    "partner": '''
def partner(number):
    """Return a partner, or MPI.PROC_NULL if there is none."""
    return MPI.PROC_NULL if number < 0 else number
''',
}

COMMS = '''
#: Ranks of each communicator other than the world, by its number.
GROUPS = {{
{groups}}}


@once
def communicators():
    """Return the communicators of this rank, by number."""
    made = {{0: world}}
    for number, group in GROUPS.items():
        if rank in group:
            made[number] = world.Create_group(world.group.Incl(group))
    return made


def member(comms, *numbers):
    """Return the communicator that this rank belongs to, if any."""
    return next((comms[each] for each in numbers if each in comms), None)
'''

BURSTS = '''
def bursts():
    """Return for each place the pieces of work in this rank's bursts, repeated cyclically."""
    return [cycle([pieces(region, each) for each in by_rank.get(rank, (0,))]) for region, by_rank in BURSTS]


def pieces(region, nanoseconds):
    """Return the number of pieces of each kind of work that take this time."""
    return tuple((kernel, share * (nanoseconds - CALL) / PIECES[kernel]) for kernel, share in MIX[region].items())
'''

MEMORY = '''
#: Peak memory of each rank of the application, bytes.
PEAK = {peak}


def take_memory():
    """Touch as much memory as the application used; later copies read from it."""
    global PLACES
    import resource

    here = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    PLACES = places(max(MEMORY, PEAK[rank] - here))
'''

TABLES = '''
def tables():
    """Return the numbers of this rank in each table, repeated cyclically."""
    return [cycle(each.get(rank, (0,))) for each in TABLES]
'''

OWN = '''
def own_numbers():
    """Return the numbers of this rank."""
    return [each.get(rank) for each in OWN]
'''

RUN = '''
def main():
    """Run the program the requested number of times, and print the result."""
    options = read_options()
    if world.size != RANKS:
        return refuse(f"{sys.argv[0]}: must run on {RANKS} rank{'s' * (RANKS != 1)}, got {world.size}")
    fault, dedicated = world.bcast(read_dedicated(options.dedicated) if rank == 0 else None)
    if fault:
        return refuse(fault)
    TAKE_MEMORY
    runs, computed = zip(*[run() for _ in range(options.repeats)])
    hosts = world.gather(MPI.Get_processor_name())
    if rank == 0:
        show(options, dedicated, runs, median(computed), list(dict.fromkeys(hosts)))
    return 0


def run():
    """Run the program once; return the time until the last rank has ended, s, and the share of computation."""
    requests.clear()
    OWED.update(dict.fromkeys(OWED, 0.0))
    COMPUTED[0] = 0.0
    prepared = PREPARED
    world.Barrier()
    begin = perf_counter()
    program(*prepared)
    seconds = world.allreduce(perf_counter() - begin, op=MPI.MAX)
    return seconds, world.allreduce(COMPUTED[0]) / RANKS / seconds


def show(options, dedicated, runs, computed, hosts):
    """Print the measurement, and the predicted time of the application on this computer."""
    seconds = median(runs)
    if options.json:
        run = {"skeleton": IDENTITY, "recording": RECORDING, "ranks": RANKS, "seconds": seconds, "scale": SCALE}
        run["application"] = APPLICATION
        if dedicated is not None:
            run["dedicated"], share = dedicated
            run |= {} if share is None else {"dedicated_compute": share}
        print(json.dumps({**run, "runs": runs, "host": hosts, "compute": computed}))
        return
    told, predicted = f"{seconds:.4g} s x {SCALE:.4g}", seconds * SCALE
    if dedicated is not None:
        told, predicted = scaled(seconds, computed, *dedicated)
    print(
        f"measured {seconds:.4g} s on {RANKS} rank{'s' * (RANKS != 1)}; the application would take {told} = "
        f"{predicted:.4g} s here (recorded: {APPLICATION:.4g} s)"
    )


def scaled(seconds, computed, alone, share):
    """Return a formula and its result, the time of the application, s, relative to a dedicated run.

    Communication is scaled like messages, computation so that both give the application's time on the dedicated host.
    """
    own = alone * (share or 0)
    computation = APPLICATION - SCALE * (alone - own) if own > 0 else 0
    if computation <= 0:
        return f"{seconds:.4g} s x {APPLICATION:.4g} s / {alone:.4g} s", seconds * APPLICATION / alone
    compute, rest, ratio = seconds * computed, seconds * (1 - computed), computation / own
    told = f"{compute:.4g} s of computation x {ratio:.4g} + {rest:.4g} s of communication x {SCALE:.4g}"
    return told, compute * ratio + rest * SCALE


def read_options():
    """Read the command line; only the first rank prints errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--repeats", type=positive, default=1, metavar="N", help="number of runs; the median counts")
    parser.add_argument(
        "--dedicated",
        metavar="FILE.json",
        help="output of a run with --json on the recording host, with nothing else running: "
        "the prediction is then relative to that run",
    )
    heard = sys.stdout, sys.stderr
    if rank > 0:
        sys.stdout = sys.stderr = io.StringIO()
    try:
        return parser.parse_args()
    finally:
        sys.stdout, sys.stderr = heard


def positive(text):
    """Read a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def read_dedicated(name):
    """Read a dedicated run; return an error message or "", and its time, s, with the share of computation."""
    if name is None:
        return "", None
    try:
        with open(name, encoding="utf-8") as file:
            run = json.load(file)
        identity, seconds = run["skeleton"], float(run["seconds"])
        share = float(run["compute"]) if "compute" in run else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{name}: file must be what this program prints with --json, got {error!r}", None
    if identity != IDENTITY:
        return f"{name}: skeleton must be {IDENTITY}, got {identity}", None
    return ("", (seconds, share)) if seconds > 0 else (f"{name}: seconds must be above 0, got {seconds}", None)


def refuse(fault):
    """Print an error once; return the exit status."""
    if rank == 0:
        print(fault, file=sys.stderr)
    return 2


def guarded():
    """End all ranks if one fails."""
    try:
        return main()
    except Exception:
        traceback.print_exc()
        world.Abort(1)
'''

#: Expressions for the arguments of the program; and, for some of them, the functions that they call.
MADE = {"comms": "communicators()", "burst": "bursts()", "table": "tables()", "own": "own_numbers()"}
READERS = {"table": TABLES, "own": OWN}
