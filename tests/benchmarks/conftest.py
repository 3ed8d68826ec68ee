"""What tests of emulated clusters share: the cores of this computer."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator

import pytest


@pytest.fixture
def the_only_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Wait until no other process of these tests has a testbed: two would take each other's processors."""
    with (tmp_path_factory.getbasetemp().parent / "testbed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
