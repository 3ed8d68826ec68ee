"""``clue serve`` from the command line: its messages, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from clue.cli import main
from tests.cli.test_signals import DRIVER
from tests.serving import cases


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that holds a comparison."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CLUE_SERVE_TOKEN", raising=False)
    cases.write(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("absent.yaml", 2, "absent.yaml: scenario must be a file that exists"),
        ("slow.yaml", 2, "slow.yaml: file must hold a comparison, got a machine"),
        ("which.yaml --address 0.0.0.0", 2, "--token-file must be given where others can ask, at 0.0.0.0, got none"),
        ("which.yaml --address here", 2, "--address must be an IP address of this computer, got here"),
        ("which.yaml --token-file absent", 2, "absent: token must be readable, got No such file or directory"),
        ("which.yaml --token-file short", 2, "short: token must be at least 16 printable ASCII characters, got 6"),
        ("which.yaml --seed 3", 2, "which: --seed must go with --samples, got none"),
        ("which.yaml --full", 2, "which.yaml: full size must be described under 'full', got no such key"),
        (
            "which.yaml --address 192.0.2.1 --token-file token",
            1,
            "192.0.2.1:8458: address must be one at which clue can listen, got",
        ),
    ],
)
def test_what_is_refused(line: str, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each mistake is reported before anything is simulated."""
    Path("token").write_text("a token of twenty characters\n")
    Path("short").write_text("secret\n")
    assert main(["serve", *line.split()]) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"clue: {said}")


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the address and the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "which.yaml", "--port", str(port)]) == 1
    err = capsys.readouterr().err
    assert f"clue: 127.0.0.1:{port}: address must be one at which clue can listen, got: " in err
    assert err.endswith(": Address already in use: name another port (--port), or 0 for any that is free\n")


def test_without_the_framework_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The framework is an extra, so its absence is a message with the command that installs it."""
    for name in [each for each in sys.modules if each.startswith(("starlette", "clue.serving.application"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    assert main(["serve", "which.yaml"]) == 2
    assert capsys.readouterr().err == 'clue: clue serve must have starlette, got none: pip install "clue[serve]"\n'


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_ends_it(folder: Path, number: signal.Signals) -> None:
    """The server answers with the ranking until a signal ends it, with the usual status and without a traceback."""
    command = [sys.executable, "-c", DRIVER, "serve", "which.yaml", "--port", "0", "-v"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment) as server:
        assert server.stderr is not None
        said = next(line for line in server.stderr if line.startswith("serving"))
        found = re.fullmatch(r"serving which at (http://127\.0\.0\.1:\d+/); Ctrl-C ends it\n", said)
        assert found is not None
        body = json.dumps({"changes": {"options.fast.price": "1900 EUR"}}).encode()
        asked = urllib.request.Request(f"{found[1]}ranking", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert json.load(answer)["simulations"] == 0
        server.send_signal(number)
        rest = server.stderr.read()
        assert server.wait(60) == 128 + number
    assert "Traceback" not in rest
    assert rest.splitlines()[-1] == f"clue: {'interrupted' if number is signal.SIGINT else 'ended by SIGTERM'}"
    assert "clue: ranked with 1 changed figure in " in rest
