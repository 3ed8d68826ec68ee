"""Call sites: they survive saving and opening, have one number per trace, and are unknown in older traces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clue.errors import TraceError
from clue.trace import Op, Trace, TraceBuilder
from clue.trace import pack as packing
from clue.trace.pack import pack
from clue.trace.sites import UNKNOWN, Frame, Site, Sites
from tests.properties import examples
from tests.trace.test_pack import leave, row

MAIN = Frame("cg.py", "<module>", 90, 12)
SOLVE = Frame("lib/solver.py", "Solver.solve", 72, 40, (60, 70))
SEND, BARRIER = Site((MAIN, SOLVE)), Site((MAIN, replace(SOLVE, line=73, at=60)))

_words = st.text("abc./<>_ é", max_size=5)
_numbers = st.integers(0, 2**31 - 1)
_branches = st.lists(st.tuples(_numbers, st.integers(0, 1)), max_size=3).map(tuple)
_frames = st.builds(Frame, _words, _words, _numbers, _numbers, st.lists(_numbers, max_size=3).map(tuple), _branches)
_sites = st.lists(st.lists(_frames, min_size=1, max_size=4).map(tuple).map(Site), max_size=6)


def built(sites: list[Site]) -> Trace:
    """Return a trace of a rank with one call at each of these sites."""
    trace = TraceBuilder(1)
    for site in sites:
        trace[0].at(site)
        trace[0].add(Op.LOCAL)
    return trace.build()


def names(trace: Trace) -> list[Site]:
    """Return the site of each op."""
    return [trace.head.sites[number] for number in trace.ops.site]


def test_a_site_is_named_after_its_innermost_frame() -> None:
    """A site's name is the innermost file without folders, and the line; the unknown site has no name."""
    assert (SEND.name, BARRIER.name, UNKNOWN.name) == ("solver.py:72", "solver.py:73", "")


def test_a_site_knows_its_function_and_who_called_it() -> None:
    """A site has a function and its callers, innermost first; the unknown site has neither."""
    assert (SEND.function, SEND.callers) == ("Solver.solve", ("cg.py:90",))
    assert (UNKNOWN.function, UNKNOWN.callers) == ("", ())
    assert Site((MAIN, SOLVE, MAIN)).callers == ("solver.py:72", "cg.py:90")


def test_sites_are_a_sequence_that_shares_frames() -> None:
    """Sites behave like a tuple and store each frame once."""
    sites = Sites.of([UNKNOWN, SEND, BARRIER])
    assert list(sites) == [UNKNOWN, SEND, BARRIER] == list(sites[:]) and sites[-1] == BARRIER
    assert (len(sites.frames), sites.paths) == (3, ((), (0, 1), (0, 2)))
    assert Sites() == Sites.of([UNKNOWN])


@given(sites=_sites, name=st.sampled_from(["x.clue", "x.clue.zip"]))
@settings(max_examples=examples(30), deadline=None)
def test_what_is_saved_is_what_is_opened(
    sites: list[Site], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each op keeps its call path through saving and opening, with any names of files and functions."""
    trace = built([UNKNOWN, *sites, *sites])
    opened = Trace.open(trace.save(tmp_path_factory.mktemp("sites") / name))
    assert names(opened) == names(trace) == [UNKNOWN, *sites, *sites]
    assert opened.ops.site.dtype == np.dtype("<u2") and opened.head.sites == trace.head.sites


def test_a_trace_without_sites_has_no_column_of_them(tmp_path: Path) -> None:
    """Without sites no column is stored, and all sites are unknown when the trace is opened."""
    path = built([UNKNOWN, UNKNOWN]).save(tmp_path / "x.clue")
    assert not (path / "site.npy").exists()
    assert Trace.open(path).ops.site.tolist() == [0, 0]


def test_traces_of_the_first_version_open() -> None:
    """A trace of version 1, before there were sites, opens with its calls and regions, and unknown sites."""
    trace = Trace.open(Path(__file__).with_name("version-1.clue.zip"))
    calls = [trace.head.calls[call] for call in trace.rank(0).call]
    assert {"sendrecv", "Isend", "Irecv", "Waitall"} <= set(calls)
    assert trace.head.regions == ("", "exchange")
    assert (list(trace.head.sites), set(trace.ops.site.tolist())) == ([UNKNOWN], {0})


def test_shipped_traces_open() -> None:
    """The shipped traces of version 2 open with a site for each op."""
    folder = Path(__file__).parents[2] / "scenarios" / "traces"
    for path in folder.glob("*-2.clue.zip"):
        trace = Trace.open(path)
        assert len(trace.ops.site) == len(trace.ops.op)


@pytest.mark.parametrize(
    ("sites", "told"),
    [
        (Sites(paths=()), "paths of sites must be at most 65536 different ones, the first of them empty, got others"),
        (Sites((MAIN,), ((0,),)), "the first of them empty"),
        (Sites((MAIN,), ((), (0,), (0,))), "different ones"),
        (Sites((MAIN, MAIN), ((), (0, 1))), "frames of sites must be different ones, got one twice"),
        (Sites((MAIN,), ((), (0, 1))), "paths of sites must be of its 1 frames, got number 1"),
        (Sites((replace(MAIN, branches=((7,),)),), ((), (0,))), "branches of frames must be pairs of a line and which"),
        (Sites((replace(MAIN, branches=((7, 0, 1),)),), ((), (0,))), "branches of frames must be pairs"),
        (Sites((), ((), (0,))), "paths of sites must be of its 0 frames, got number 0"),
        (Sites((MAIN,), ((), (0,) * (2**20 + 1))), "paths of sites must have at most 1048576 frames together"),
    ],
)
def test_senseless_sites_are_refused(sites: Sites, told: str) -> None:
    """Meaningless tables of sites are refused."""
    trace = built([UNKNOWN])
    with pytest.raises(TraceError, match=told):
        replace(trace, head=replace(trace.head, sites=sites)).check()


def test_an_op_is_at_a_site_of_the_head() -> None:
    """An op with a site that the head does not have is refused with its rank and number."""
    trace = built([SEND, BARRIER])
    with pytest.raises(TraceError, match="site of rank 0, op 1 must be a site of the head, got 2"):
        replace(trace, head=replace(trace.head, sites=Sites.of([UNKNOWN, SEND]))).check()


def test_a_head_that_names_sites_has_their_column(tmp_path: Path) -> None:
    """A head with sites but no column of sites is refused."""
    path = built([SEND]).save(tmp_path / "x.clue")
    (path / "site.npy").unlink()
    with pytest.raises(TraceError, match=r"site\.npy"):
        Trace.open(path)


# --- packing ---


def _left(*sites: Site) -> dict[str, Any]:
    """Return the table of sites at the end of a rank's parts."""
    table = Sites.of([UNKNOWN, *sites])
    frames = [{name: getattr(each, name) for name in Frame.__dataclass_fields__} for each in table.frames]
    return {"sites": {"frames": frames, "paths": table.paths}}


def _call(site: int) -> bytes:
    return row(Op.LOCAL, "Send", site=site)


def test_packing_gives_one_number_to_one_path(tmp_path: Path) -> None:
    """Packing merges the ranks' tables: equal sites get one number, and sites without ops are dropped."""
    leave(tmp_path, 0, [_call(2), _call(0)], **_left(SEND, BARRIER))
    leave(tmp_path, 1, [_call(1), _call(2)], **_left(BARRIER, SEND))
    pack(tmp_path)
    trace = Trace.open(tmp_path)
    assert names(trace) == [BARRIER, UNKNOWN, BARRIER, SEND]
    assert list(trace.head.sites) == [UNKNOWN, BARRIER, SEND]


def test_a_recorder_may_know_no_sites(tmp_path: Path) -> None:
    """Ranks without sites can be packed, alone or with ranks that have them."""
    for folder, said in (("all", {}), ("some", _left(SEND))):
        leave(tmp_path / folder, 0, [_call(0)])
        leave(tmp_path / folder, 1, [_call(len(said))], **said)
        pack(tmp_path / folder)
    assert names(Trace.open(tmp_path / "all")) == [UNKNOWN, UNKNOWN]
    assert names(Trace.open(tmp_path / "some")) == [UNKNOWN, SEND]
    assert not (tmp_path / "all" / "site.npy").exists()


@pytest.mark.parametrize(
    ("name", "most", "limit"),
    [
        ("MOST_SITES", 2, "a trace has at most 1 call sites"),
        ("MOST_FRAMES", 3, "call sites of a trace have at most 3 frames"),
    ],
)
def test_sites_beyond_the_most_are_unknown_and_counted(
    name: str, most: int, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sites beyond the maximum become unknown; earlier ones are kept, and a note names the limit and counts the ops."""
    monkeypatch.setattr(packing, name, most)
    for folder, calls, said in (
        ("one", (1, 2), "1 op has no call site: "),
        ("two", (1, 2, 2, 0), "2 ops have no call site: "),
    ):
        leave(tmp_path / folder, 0, [_call(site) for site in calls], size=1, **_left(SEND, BARRIER))
        head = pack(tmp_path / folder)
        assert names(Trace.open(tmp_path / folder)) == [SEND, *[UNKNOWN] * (len(calls) - 1)]
        assert said + limit in head.notes


@pytest.mark.parametrize(
    ("site", "said", "told"),
    [
        (1, {}, r"w0-r00000: site must be from 0 to 0, got 1"),
        (3, _left(SEND, BARRIER), "site must be from 0 to 2, got 3"),
        (0, {"sites": {"frames": [], "paths": []}}, r"end\.json: paths of sites must be"),
        (0, {"sites": {"frames": [{"file": "a"}], "paths": [[]]}}, r"sites\.frames\[0\]\.function must be given"),
    ],
)
def test_what_a_rank_says_of_sites_is_checked(site: int, said: dict[str, Any], told: str, tmp_path: Path) -> None:
    """A wrong site number and a wrong table of sites in a rank's parts are refused."""
    leave(tmp_path, 0, [_call(site)], size=1, **said)
    with pytest.raises(TraceError, match=told):
        pack(tmp_path)
