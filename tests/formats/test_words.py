"""Lines of words, and the matching of waits with requests."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import UsageError
from clue.formats.ti_requests import Events, match
from clue.formats.words import Lines, Names, read_lines


def lines_of(folder: Path, text: str) -> Lines:
    """Return the lines of a text."""
    (folder / "text").write_text(text)
    return read_lines(folder / "text")


def test_lines_have_words_and_numbers(tmp_path: Path) -> None:
    """Empty lines and comments are skipped but counted; the last line may lack its end."""
    lines = lines_of(tmp_path, "\n# one\n  two\tthree \r\n\nfour")
    assert [lines.words(line) for line in range(len(lines))] == [["two", "three"], ["four"]]
    assert lines.number.tolist() == [3, 5]
    assert lines.place(1).endswith("text:5")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing"])
def test_nothing(text: str, tmp_path: Path) -> None:
    """A text without words has no lines."""
    assert len(lines_of(tmp_path, text)) == 0


def test_whole_and_real_numbers(tmp_path: Path) -> None:
    """Missing words and words that are not numbers are marked."""
    lines = lines_of(tmp_path, "12\n-7\n1.5\n1e3\nx\n-\n123456789012345\n1234567890123456\nnan\n")
    all_lines = np.arange(len(lines))
    values, good = lines.whole(all_lines, 0)
    assert values[good].tolist() == [12, -7, 123456789012345]
    reals, good = lines.real(all_lines, 0)
    assert reals[good].tolist() == [12.0, -7.0, 1.5, 1000.0, 123456789012345.0, 1234567890123456.0]
    assert not lines.whole(all_lines, 1)[1].any()


def test_underscores_are_no_part_of_numbers(tmp_path: Path) -> None:
    """Only Python reads 1_000 as a number."""
    lines = lines_of(tmp_path, "1_000\n1e3\n")
    assert lines.real(np.arange(2), 0)[1].tolist() == [False, True]


def test_a_line_keeps_its_blanks(tmp_path: Path) -> None:
    """The content of a line begins with its first word and ends with its last."""
    lines = lines_of(tmp_path, "  my  run\t\u00e4.0 \r\n# nothing\nb\n")
    assert [lines.content(line) for line in range(len(lines))] == ["my  run\t\u00e4.0", "b"]


def test_names_are_compared_whole(tmp_path: Path) -> None:
    """Names match only as a whole."""
    lines = lines_of(tmp_path, "0 allgather\n0 allgatherv\n0\n0 allgather-allgather-allgather\n")
    assert lines.which(1, Names(("allgatherv", "init", "allgather"))).tolist() == [2, 0, -1, -1]


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    """Editors on Windows put one at the beginning; the first line was passed over as that of another rank."""
    assert lines_of(tmp_path, "\ufeff0 init\n").words(0) == ["0", "init"]


def test_file_must_be_text(tmp_path: Path) -> None:
    """A file that is not UTF-8 is refused with its name."""
    (tmp_path / "binary").write_bytes(b"0 init\n\xff\xfe\n")
    with pytest.raises(UsageError, match="binary: file must be readable text"):
        read_lines(tmp_path / "binary")


def test_a_compressed_file_is_told(tmp_path: Path) -> None:
    """A file that gzip compressed is refused with what to do."""
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"0 init\n"))
    with pytest.raises(UsageError, match=r"t\.gz: file must be readable text, got one that gzip compressed: unpack it"):
        read_lines(tmp_path / "t.gz")


def one_by_one(events: list[tuple[int, int, int]]) -> tuple[list[int], list[bool]]:
    """Match with a queue for each name and span."""
    queues: dict[tuple[int, int], list[int]] = {}
    found: list[int] = []
    unended: list[bool] = []
    for name, span, change in events:
        queue = queues.setdefault((name, span), [])
        if change == 1:
            queue.append(len(unended))
            found.append(len(unended))
            unended.append(True)
            continue
        found.append(queue[0] if queue else -1)
        if queue and change == -1:
            unended[queue.pop(0)] = False
    return found, unended


@given(
    steps=st.lists(st.tuples(st.integers(-1, 2), st.booleans(), st.sampled_from([1, 1, -1, -1, 0])), max_size=60),
)
def test_waits_take_the_oldest_request_of_their_name(steps: list[tuple[int, bool, int]]) -> None:
    """The vectorised matching equals matching with queues: a wait takes the oldest request of its name."""
    spans = np.cumsum([ends for _, ends, _ in steps], dtype=np.int64)
    events = [(name, int(span), change) for (name, _, change), span in zip(steps, spans, strict=True)]
    columns = np.array(events, np.int64).reshape(-1, 3).T
    found, unended = match(Events(*columns))
    assert (found.tolist(), unended.tolist()) == one_by_one(events)
