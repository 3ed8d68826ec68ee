"""The skeleton of a program: a trace that is K times as short and stands for it (Sodhi, Subhlok, Xu, section 4)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from clue.caveats import About, Caveat, Count, counted, note_of_recording
from clue.errors import SkeletonError
from clue.kernel import simulate
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.skeleton.clustering import Clusters
from clue.skeleton.events import Events
from clue.skeleton.loops import Loop, loops_of
from clue.skeleton.outliers import apart
from clue.skeleton.parameters import Parameters
from clue.skeleton.scaling import LATENCY, Scaled, scaled
from clue.skeleton.signature import Signature, signature_of
from clue.skeleton.times import Times
from clue.trace import Op, Trace, disturbance
from clue.trace.columns import checksum

#: Similarity thresholds, tried in this order until a signature is short enough.
THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
#: Minimum share of an application's time that the iterations of its dominant sequence take.
DOMINANT = 0.5
#: Error of a skeleton on a network without delays above which a caveat is given.
_OFF = 0.05
#: A network without delays.
_FREE = Link(Curve.line(0.0), Curve.line(0.0), 0.0, None)
_NO_TIME = 1e-12


@dataclass(frozen=True, slots=True)
class DominantSequence:
    """The sequence of events that makes most of an application: an iteration of one of its loops.

    Attributes:
        name: Name of its loop: file and line, or the first calls where call sites are unknown; and its period in
            iterations, if longer than one.
        iterations: How often the application executes it, summed over all entries of the loop.
        seconds: Mean time of one iteration in the recording.
        share: Share of the application's time that all iterations take.
    """

    name: str
    iterations: int
    seconds: float
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """A short program that stands for a long one.

    Attributes:
        trace: The short program: all ranks, with call sites; computation in ``trace.bursts``, ns of CPU time at the
            recording host's best.
        identity: 16 hexadecimal digits, a hash of the trace that it was made from and of its scale.
        recording: Identity of that trace, without the scale (:func:`recording_of`).
        application: Elapsed time of the application when it was recorded, seconds: that of its slowest rank, from the
            initialisation of MPI to its end.
        scale: K, the ratio of the application's time to the skeleton's.
        threshold: The similarity threshold that was needed.
        ratio: Q, the compression ratio reached with this threshold.
        dominant: The dominant sequence, if there is one.
        shortest: Length of the shortest good skeleton, seconds.
        good: Whether it contains at least one full iteration of the dominant sequence.
        caveats: What a reader should know.
        signature: The application's events, folded into loops.
    """

    trace: Trace
    identity: str
    recording: str
    application: float
    scale: float
    threshold: float
    ratio: float
    dominant: DominantSequence | None
    shortest: float
    good: bool
    caveats: tuple[Caveat, ...]
    signature: Signature

    @property
    def seconds(self) -> float:
        """Intended run time on the host where the application was recorded, seconds."""
        return self.application / self.scale


def construct(
    trace: Trace, *, scale: float | None = None, seconds: float | None = None, shortest: bool = False
) -> Skeleton:
    """Make the skeleton of an application; exactly one of the last three arguments sets its length.

    Args:
        trace: Recording of the application.
        scale: K, the ratio of the application's time to the skeleton's.
        seconds: Run time of the skeleton on the host where the application was recorded.
        shortest: Whether to make the shortest good skeleton.

    Raises:
        SkeletonError: If the application makes calls that no skeleton can repeat, or the length is invalid.
        ReplayError: If the trace contradicts itself: for instance, if members of a collective name different roots.
        DeadlockError: If it cannot be replayed to its end.
    """
    assert sum((scale is not None, seconds is not None, shortest)) == 1, "one of them says how long it is"
    events = Events.of(trace)
    events, loops = apart(events, loops_of(events.trace))
    times = Times.of(events.trace, trace)
    dominant = _dominant(loops, times)
    most = float(dominant.iterations) if dominant else 1.0
    wanted = most if shortest else _scale(trace, scale, seconds, times.application)
    parameters = Parameters.of(events)
    clusters, signature = _clustered(parameters, wanted)
    short = scaled(parameters, clusters, loops, times, wanted)
    good = wanted <= most * (1 + 1e-9)
    caveats = (
        *events.caveats,
        *times.caveats,
        # The time of the application is that of its recording, so a disturbance makes it too long.
        *(
            note_of_recording(trace.name, each)
            for each in dict.fromkeys((*disturbance.about(trace.head.rank_heads), *trace.head.notes))
        ),
        *_unlike(trace, clusters.threshold, signature, wanted),
        *_shrunk(trace, short),
        *_too_short(trace, dominant, times.application, good),
        *_waiting(events.trace, short.trace, wanted),
    )
    return Skeleton(
        trace=_told(short.trace, trace, wanted, caveats),
        identity=_digits(*_columns(trace), wanted.hex()),
        recording=recording_of(trace),
        application=times.application,
        scale=wanted,
        threshold=clusters.threshold,
        ratio=signature.ratio,
        dominant=dominant,
        shortest=times.application / most,
        good=good,
        caveats=caveats,
        signature=signature,
    )


def _scale(trace: Trace, scale: float | None, seconds: float | None, application: float) -> float:
    """Return K, the ratio of the application's time to the skeleton's, from whichever argument was given."""
    if seconds is not None:
        if not 0 < seconds <= application:
            raise SkeletonError(
                f"{trace.name}: seconds of a skeleton must be above 0 and at most those of the application, "
                f"{application:.3g} s, got {seconds:g} s"
            )
        return application / seconds
    assert scale is not None
    if not 1 <= scale < math.inf:
        raise SkeletonError(f"{trace.name}: scale of a skeleton must be a number from 1 on, got {scale:g}")
    return float(scale)


def _clustered(parameters: Parameters, scale: float) -> tuple[Clusters, Signature]:
    """Raise the similarity threshold until events fold enough (Table 2: Q = K / 2)."""
    events = int((parameters.events.trace.ops.op != Op.COMPUTE).sum())
    for threshold in THRESHOLDS:
        clusters = Clusters.at(parameters, threshold)
        most = 2 * events / scale if threshold < THRESHOLDS[-1] else math.inf
        if signature := signature_of(parameters.events, clusters, most):
            return clusters, signature
    raise AssertionError("the last signature may be of any length")


def _dominant(loops: tuple[Loop, ...], times: Times) -> DominantSequence | None:
    """Return the loop with the shortest iteration among those that take enough of the application's time."""
    found = [
        DominantSequence(loop.title, loop.iterations, times.of_runs(loop.runs) / loop.iterations, share)
        for loop in loops
        if (share := times.of_runs(loop.runs) / max(times.application, _NO_TIME)) >= DOMINANT
    ]
    return min(found, key=lambda each: each.seconds, default=None)


def recording_of(trace: Trace) -> str:
    """Return the identity of a recording: 16 hexadecimal digits, a hash of its columns, program and arguments."""
    return _digits(*_columns(trace))


def _columns(trace: Trace) -> tuple[object, ...]:
    """Return what tells a trace from others."""
    head = trace.head
    sums = head.checksums or {name: checksum(getattr(trace.ops, name)) for name in trace.ops.__slots__}
    return sorted(sums.items()), head.program, head.arguments, trace.ranks


def _digits(*told: object) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _told(short: Trace, trace: Trace, scale: float, caveats: tuple[Caveat, ...]) -> Trace:
    """Return the short program with a header that describes it."""
    note = f"a skeleton of {trace.name}: the application takes {scale:.6g} times as long"
    notes = dict.fromkeys((note, *(each.said for each in caveats)))
    return replace(short, path=None, head=replace(short.head, notes=tuple(notes)))


def _unlike(trace: Trace, threshold: float, signature: Signature, scale: float) -> Iterator[Caveat]:
    if signature.ratio < scale / 2:
        yield Caveat(
            About.PROGRAM,
            trace.name,
            "its signature is {ratio} times as short as its events, where a skeleton {scale} times as short wants "
            "{wanted} (similarity threshold {threshold}): little of it is repeated; a longer skeleton is more reliable",
            figures={
                "ratio": f"{signature.ratio:.3g}",
                "scale": f"{scale:.4g}",
                "wanted": f"{scale / 2:.4g}",
                "threshold": f"{threshold:g}",
            },
            size=scale,
        )


def _shrunk(trace: Trace, short: Scaled) -> Iterator[Caveat]:
    if short.shrunk:
        yield Caveat(
            About.PROGRAM,
            trace.name,
            "{count:message or collective call of its skeleton represents|messages and collective calls of its "
            "skeleton represent} less than one of the application each, with fewer bytes, but no less latency, which "
            "at {latency} us each is {share} of its time",
            figures={
                "count": Count(short.shrunk),
                "latency": f"{LATENCY * 1e6:g}",
                "share": f"{short.share:.1%}",
            },
            size=short.share,
        )
    if short.levelled:
        yield counted(
            trace.name,
            "{count:run of a pipeline keeps all its|runs of pipelines keep all their} iterations, with less in each: "
            "so the time to fill pipelines stays in proportion",
            short.levelled,
        )


def _waiting(trace: Trace, short: Trace, scale: float) -> Iterator[Caveat]:
    """Tell how much longer or shorter than intended the skeleton is on a network where waits for ranks remain alone."""
    node = NodeType("without delays")
    free = Machine("without delays", (node,) * trace.ranks, Network(_FREE, _FREE))
    whole, made = (simulate(each, free).makespan for each in (trace, short))
    if whole and abs(off := made * scale / whole - 1.0) > _OFF:
        yield Caveat(
            About.PROGRAM,
            trace.name,
            "on a network without delays its skeleton takes {off} {direction} than intended, because the waits of its "
            "ranks for each other are {direction}: a longer skeleton is more reliable, and --machine shows the error "
            "on a machine",
            words={"direction": "longer" if off > 0 else "shorter"},
            figures={"off": f"{abs(off):.0%}"},
            size=abs(off),
        )


def _too_short(trace: Trace, dominant: DominantSequence | None, application: float, good: bool) -> Iterator[Caveat]:
    if good:
        return
    if dominant is None:
        yield Caveat(
            About.PROGRAM,
            trace.name,
            "no loop that all ranks go round alike makes half of its time: a skeleton of it is not known to be good",
        )
        return
    yield Caveat(
        About.PROGRAM,
        trace.name,
        "its skeleton is too short for one of the {count} iterations of loop {loop}, which make {part} of its time: "
        "the shortest good one takes {seconds} s",
        words={"loop": dominant.name},
        figures={
            "count": f"{dominant.iterations:,}",
            "part": f"{dominant.share:.0%}",
            "seconds": f"{application / dominant.iterations:.3g}",
        },
        size=1.0,
    )
