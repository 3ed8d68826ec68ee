"""The measured cases: programs, settings of the cluster, lengths of skeletons; and the paper's results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
#: The predicted class, and the small one, which the paper uses as a skeleton for comparison.
STUDIED, SMALL = "B", "S"
#: Approximate time of a program on the dedicated cluster, s.
APPLICATION = 30.0
#: Lengths of skeletons, s.
SECONDS = (10.0, 5.0, 2.0, 1.0, 0.5)
DEDICATED = "dedicated"


@dataclass(frozen=True, slots=True)
class StudyProgram:
    """A program, with the paper's figure for its namesake.

    Attributes:
        name: Its file's name.
        shortest: The paper's smallest good skeleton, seconds.
    """

    name: str
    shortest: float

    @property
    def script(self) -> Path:
        """Its file."""
        return _HERE / "programs" / f"{self.name}.py"


@dataclass(frozen=True, slots=True)
class Setting:
    """A state of the cluster.

    Attributes:
        name: Name of its machine.
        words: Its description.
        processors: Whether processes compete for processors.
        network: Whether links are slow.
        slower: Approximate slowdown of programs relative to the dedicated cluster, to estimate the remaining time.
    """

    name: str
    words: str
    processors: bool
    network: bool
    slower: float

    @property
    def file(self) -> Path:
        """Its machine."""
        return _HERE / "machines" / f"{self.name}.yaml"


PROGRAMS = (
    StudyProgram("bt", 1.01),
    StudyProgram("cg", 0.13),
    StudyProgram("integer_sort", 3.0),
    StudyProgram("lu", 1.97),
    StudyProgram("mg", 0.34),
    StudyProgram("sp", 0.34),
)
ALONE = Setting(DEDICATED, "nothing else runs", processors=False, network=False, slower=1.0)
SCENARIOS = (
    Setting("busy-one", "two processes on one node", processors=True, network=False, slower=1.45),
    Setting("busy-all", "two processes on every node", processors=True, network=False, slower=1.45),
    Setting("slow-one", "one link at 10 Mbit/s", processors=False, network=True, slower=1.7),
    Setting("slow-all", "all links at 10 Mbit/s", processors=False, network=True, slower=1.8),
    Setting("busy-and-slow", "one node and one link", processors=True, network=True, slower=2.1),
)
