"""``clue parts``, and node types that ``clue calibrate processor`` makes of parts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.cli import calibrate, main
from clue.config import load_machine, load_parts
from clue.config.yaml12 import parse_yaml
from clue.trace import TraceBuilder
from clue.trace.head import Probe
from clue.trace.speed import FEWEST


def test_all_parts_are_listed_with_how_many_have_which_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON lists the names of all shipped parts; the table also counts how many have a figure."""
    assert main(["parts", "--json"]) == 0
    assert {part["part"] for part in json.loads(capsys.readouterr().out)} == set(load_parts())
    assert main(["parts"]) == 0
    shown = capsys.readouterr().out
    assert "parts/amd-epyc-9654 " in shown
    assert "SPECrate 2017 fp base of " in " ".join(shown.split())


def test_parts_of_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """``--kind`` selects parts of one kind, in JSON with SI units."""
    assert main(["parts", "--kind", "switch", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {part["kind"] for part in found} == {"switch"}
    assert next(part for part in found if part["part"] == "parts/nvidia-qm9700")["rate"] == 50e9


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("parts/amd-epyc-9654", "computed channels × rate × 8 B"),
        ("infiniband-hdr", "link that of azure-cyclecloud"),
        ("parts/mellanox-qm8790", "power: not known: no published figure found"),
    ],
)
def test_a_part_is_shown_with_its_sources(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each figure is shown with how it is known; JSON has source and date."""
    assert main(["parts", name]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert main(["parts", name, "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["source"] and document["date"]


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message suggests the nearest name."""
    assert main(["parts", "amd-epyc-9645"]) == 2
    assert 'amd-epyc-9645: part must be a file or one of the parts shipped with clue, got "amd-epyc-9645": did' in (
        capsys.readouterr().err
    )


def test_a_node_type_by_published_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recording processor is found by its name; the written file is a node type that machines accept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibrate, "processor_name", lambda: "AMD EPYC 9654 96-Core Processor")
    built = TraceBuilder(2, "prog.py")
    for rank in built:
        rank.compute(0.5, "product")
    built.build().save(tmp_path / "t.clue")
    words = (
        "calibrate processor --trace t.clue --target-part intel-xeon-6737p --sockets 2 --work core -o node.yaml --json"
    )
    assert main(words.split()) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["performance_factor"]["product"]["value"] == pytest.approx(
        ((1650 / 192) / (984 / 64) * 3.7 / 4.0) ** 0.5
    )
    assert document["compared_with"] == "AMD EPYC 9654 96-Core Processor"
    written = parse_yaml((tmp_path / "node.yaml").read_text(), "node.yaml").value
    assert isinstance(written, dict)
    link = {"send_delay": "1 us", "transmission_delay": "1 us"}
    machine = load_machine({"nodes": [{"type": "node"}], "network": {"between_nodes": link}, **written})
    node = machine.nodes[0]
    assert (node.processors, node.noise.factor > 0) == (64, True)
    assert main(["calibrate", "processor", "--target-part", "mellanox-sn2700", "--part", "nvidia-grace"]) == 2
    assert "--target-part must be a processor, got Mellanox Spectrum SN2700" in capsys.readouterr().err


def test_repeats_beside_a_recording_show_the_kind_of_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``t.2.clue`` is used with ``t.clue``; others are not: of other arguments, another processor, without readings.

    While the core's piece took 1.5 times as long, the burst took 1.5 ** 0.8 times as long. With d = ln 1.5 and
    x = d² / 2 / MISSED² = 2.055, the response to the core is (0.8 x + 0.4 · 16) / (x + 16) = 0.446. That to memory
    stays as usual.
    """
    monkeypatch.chdir(tmp_path)
    runs: dict[str, tuple[float, tuple[str, ...], str, bool]] = {
        "t.clue": (1.0, (), "", True),
        "t.2.clue": (1.5, (), "", True),
        "t.3.clue": (9.0, ("--large",), "", True),
        "t.4.clue": (9.0, (), "AMD EPYC 9375F", True),
        "t.5.clue": (9.0, (), "", False),
    }
    for name, (slower, arguments, processor, read) in runs.items():
        builder = TraceBuilder(1, "prog.py")
        builder[0].compute(0.1 * slower**0.8, "product")
        built = builder.build()
        rows = np.array([(0, round(10_000 * slower), 20_000)] * FEWEST, np.int64)
        head = replace(built.head, arguments=arguments, processor=processor)
        if read:
            head = replace(head, probe=Probe("test", (0, FEWEST), (1e-5, 2e-5)))
            built = replace(built, readings=rows)
        replace(built, head=head).save(name)
    words = "calibrate processor --trace t.clue --part amd-epyc-9654 --target-part amd-epyc-9375f -o node.yaml --json"
    assert main(words.split()) == 0
    (said,) = (note for note in json.loads(capsys.readouterr().out)["notes"] if note.startswith("product: "))
    assert "as bursts responded in 2 recordings: 0.45 to core, 0.50 to memory" in said


def test_an_unknown_recorder_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A virtual computer's processor name matches no part, so ``--part`` is required."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibrate, "processor_name", lambda: "AMD EPYC")
    built = TraceBuilder(1, "prog.py")
    built[0].compute(1.0)
    built.build().save(tmp_path / "t.clue")
    assert main(["calibrate", "processor", "--trace", "t.clue", "--target-part", "amd-epyc-9654"]) == 2
    assert "--part must be given if no part has the name of the recording processor, got 'AMD EPYC'" in (
        capsys.readouterr().err
    )
