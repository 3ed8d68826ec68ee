"""Names are shown literally, on terminals, in pictures and in any encoding."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from matplotlib.text import Text
from rich.console import Console

from clue.cli.readable import READABLE, use_readable_errors
from clue.printable import printable
from clue.report.shared import style
from clue.report.shared.lettering import drawable
from clue.report.shared.table import add_row, bullets, facts, heading, table

#: Clears the screen, rings, returns, starts a line, reverses the text direction, separates lines, is half a letter.
HOSTILE = "a\x1b[2J\x07\r\n\u202e\u2028\udcff\x9bb"
SHOWN = r"a\x1b[2J\x07\r\n\u202e\u2028\udcff\x9bb"


def test_what_a_terminal_would_obey_is_escaped() -> None:
    """Control characters are escaped and long names are cut; letters of all languages stay."""
    assert printable(HOSTILE) == SHOWN
    assert printable("x" * 5000) == "x" * 4000 + "… (5,000 characters)"
    assert printable("\0" * 4000) == r"\x00" * 1000 + "… (4,000 characters)"
    assert printable("Größe 名前 µ × – ✓") == "Größe 名前 µ × – ✓"


def test_every_block_of_text_shows_names() -> None:
    """Tables, titles, facts, lists and headings escape names; a cell may have several lines, but not from its name."""
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    shown = table(HOSTILE, title=HOSTILE)
    add_row(shown, HOSTILE)
    add_row(shown, ("first", "second"))
    for each in (shown, facts([(HOSTILE, HOSTILE)]), bullets([HOSTILE]), heading(HOSTILE)):
        console.print(each)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count(SHOWN) == 7
    assert not set(HOSTILE) - set(SHOWN) - {"\n"} & set(text)
    assert [line.strip() for line in text.splitlines()].count("second") == 1


@pytest.mark.parametrize(
    ("encoding", "expected"), [("ascii", "1 us x 2 - 3... \\u540d"), ("latin-1", "1 µs × 2 - 3... \\u540d")]
)
def test_encodings_that_lack_letters_get_readable_ones(encoding: str, expected: str) -> None:
    """Letters that the encoding lacks are replaced: an ASCII terminal shows us for µs."""
    use_readable_errors()
    buffer = io.BytesIO()
    with io.TextIOWrapper(buffer, encoding, READABLE) as stream:
        stream.write("1 µs × 2 – 3… 名")
        stream.flush()
        assert buffer.getvalue().decode(encoding) == expected


def test_pictures_show_names(tmp_path: Path) -> None:
    """Names are drawn without mathematics, direction marks and letters that the font lacks; matplotlib would warn."""
    drawn = style.figure(6, 3, f"$\\frac{{ {HOSTILE}")
    axes = drawn.subplots()
    style.finish_axes(axes, "$x", "名", "$")
    axes.set_yticks([0, 1], ["$\\alpha$", HOSTILE])
    (line,) = axes.plot([0, 1], [0, 1])
    axes.annotate("$\\beta$", (0, 0))
    style.legend_below(drawn, [line], [HOSTILE])
    style.save(drawn, tmp_path, "x.png")
    texts = [each.get_text() for each in drawn.findobj(Text) if isinstance(each, Text)]
    assert "$\\alpha$" in texts and "$\\beta$" in texts and drawable("名") in texts
    assert not any({"\x1b", "\u202e", "\udcff"} & set(text) for text in texts)
    assert not any(
        each.get_parse_math() for each in drawn.findobj(Text) if isinstance(each, Text) and "$" in each.get_text()
    )
