"""Rows on disk: windows, later changes, and a full disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from clue.trace.ops import Flag, Op
from clue.trace.parts import ROW
from virtual_layer.rows import WINDOW, ExtraFile, RowFile, window_of

PER_WINDOW = WINDOW // ROW.size


def _append(rows: RowFile, number: int) -> int:
    return rows.append(number, 0, 0, 0, -2, -2, 0, -1, 0, 0, 0, 0, 0, 0, Op.IRECV)


def test_rows_cross_windows_and_are_cut_at_the_end(tmp_path: Path) -> None:
    """Rows follow each other without gaps across windows, and the file is cut after the last."""
    rows = RowFile(tmp_path / "rows")
    assert [_append(rows, number) for number in range(2 * PER_WINDOW + 3)] == list(range(2 * PER_WINDOW + 3))
    rows.close()
    table = np.fromfile(tmp_path / "rows", dtype="<i8").reshape(-1, ROW.size // 8)
    assert table[:, 0].tolist() == list(range(2 * PER_WINDOW + 3))


@pytest.mark.parametrize(("page", "window"), [(4 << 10, 252 << 10), (16 << 10, 144 << 10), (64 << 10, 576 << 10)])
def test_windows_begin_at_pages_of_any_size(page: int, window: int) -> None:
    """A window is 7 × 9 pages of 4 KiB, and at least nine pages: the system maps files from whole pages only."""
    assert window_of(page) == window
    assert window % page == window % ROW.size == 0


def test_rows_are_completed_in_any_window(tmp_path: Path) -> None:
    """A row can be completed and changed in any window, long after it was written or immediately."""
    rows = RowFile(tmp_path / "rows")
    for number in range(PER_WINDOW + 2):
        _append(rows, number)
    for row in (0, PER_WINDOW, PER_WINDOW + 1):
        rows.complete(row, 5, row % 1000)
        flags, op = rows.kind(row)
        rows.turn(row, flags | Flag.CANCELLED, Op.POLL if op == Op.IRECV else op)
    rows.close()
    data = (tmp_path / "rows").read_bytes()
    for row in range(PER_WINDOW + 2):
        at = ROW.unpack_from(data, row * ROW.size)
        expected = (5, row % 1000) if row in (0, PER_WINDOW, PER_WINDOW + 1) else (-2, -2)
        assert (at[0], at[4:6]) == (row, expected)
        assert at[13:15] == ((Flag.CANCELLED, Op.POLL) if expected[0] == 5 else (0, Op.IRECV))


def test_rows_survive_without_being_closed(tmp_path: Path) -> None:
    """Rows are in the file as soon as they are written, so a killed rank keeps them."""
    rows = RowFile(tmp_path / "rows")
    _append(rows, 7)
    data = (tmp_path / "rows").read_bytes()
    assert ROW.unpack_from(data, 0)[0] == 7
    assert ROW.unpack_from(data, ROW.size)[-1] == 0


def test_full_disk_is_an_error_and_no_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window for which the disk has no room raises an error before it is mapped; earlier rows stay."""
    rows = RowFile(tmp_path / "rows")
    for number in range(PER_WINDOW):
        _append(rows, number)

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        _append(rows, 0)
    rows.close()
    assert (tmp_path / "rows").stat().st_size == WINDOW


def test_extras_are_numbered_across_flushes(tmp_path: Path) -> None:
    """Lists of extras get running offsets, whether they were flushed in between or not."""
    extras = ExtraFile(tmp_path / "extras")
    assert [extras.append([number] * 3000) for number in range(4)] == [0, 3000, 6000, 9000]
    extras.close()
    assert np.fromfile(tmp_path / "extras", dtype="<i8")[[0, 3000, 9000, 11999]].tolist() == [0, 1, 3, 3]
