"""The one table of unseen programs and machines, and who may look at what before the model is frozen.

*Rehearsal*: may be run, recorded and predicted while the model is repaired. *Frozen*: no frozen program is predicted on
any machine, and no program on a frozen machine, before the commit that freezes the model. Sizes were
chosen by how long programs run, and by nothing else. *Seen*: were frozen until somebody looked at them;
:mod:`benchmarks.accuracy.unseen.sets` has the tables. Intervals are learned from the looks at the ninth, tenth and
eleventh sets. The twelfth set is frozen and has been looked at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_HERE = Path(__file__).parent
PROGRAMS = _HERE / "programs"
MACHINES = _HERE / "machines"


class Set(Enum):
    """Who may look."""

    REHEARSAL = "rehearsal"
    SEEN = "seen"
    FROZEN = "frozen"


@dataclass(frozen=True, slots=True)
class UnseenProgram:
    """A program as a user would write it, with its arguments.

    Attributes:
        name: Its name.
        arguments: Its arguments, for about 0.3 to 3 seconds on the machines here.
        of: Its set.
        decides: Whether its control flow depends on arrival order.
    """

    name: str
    arguments: tuple[int, ...]
    of: Set
    decides: bool = False

    @property
    def size(self) -> str:
        """Its arguments, as a word."""
        return "-".join(map(str, self.arguments))

    @property
    def command(self) -> list[str]:
        """The program with its arguments."""
        return [str(PROGRAMS / f"{self.name}.py"), *map(str, self.arguments)]


@dataclass(frozen=True, slots=True)
class UnseenMachine:
    """A machine that the testbed builds.

    Attributes:
        name: Its name.
        of: Its set.
    """

    name: str
    of: Set

    @property
    def file(self) -> Path:
        """The description of it for clue; its true properties are in the folder truths."""
        return MACHINES / f"{self.name}.yaml"


UNSEEN_PROGRAMS = (
    UnseenProgram("integer_sort", (120_000, 5), Set.REHEARSAL),
    UnseenProgram("multigrid", (16_384, 8), Set.REHEARSAL),
    UnseenProgram("overlap", (1024, 128, 40), Set.REHEARSAL),
    UnseenProgram("lookahead", (512, 32), Set.REHEARSAL),
    UnseenProgram("power", (1200, 60), Set.REHEARSAL),
    UnseenProgram("red_black", (600, 60), Set.REHEARSAL),
    UnseenProgram("walks", (100, 200, 10), Set.REHEARSAL),
    UnseenProgram("merge_tree", (60_000, 6), Set.REHEARSAL),
    UnseenProgram("ring_product", (360, 8), Set.REHEARSAL),
    UnseenProgram("sparse_cg", (40, 40), Set.SEEN),
    UnseenProgram("fft3d", (72, 6), Set.SEEN),
    UnseenProgram("objects", (800, 28), Set.SEEN),
    UnseenProgram("panels", (960, 48), Set.SEEN),
    UnseenProgram("kmeans", (12_000, 16, 24), Set.SEEN),
    UnseenProgram("map_reduce", (1500, 6), Set.SEEN),
    UnseenProgram("pool", (600, 1200), Set.SEEN, decides=True),
    UnseenProgram("page_rank", (40_000, 8, 24), Set.SEEN),
    UnseenProgram("heat", (768, 80), Set.SEEN),
    UnseenProgram("particles", (10_000, 60), Set.SEEN),
    UnseenProgram("alignment", (4800, 60), Set.SEEN),
    UnseenProgram("equalise", (600, 800, 24), Set.SEEN),
    UnseenProgram("gauss_jordan", (400,), Set.SEEN),
    UnseenProgram("gradient", (128, 64, 72), Set.SEEN),
    UnseenProgram("knapsack", (60, 200), Set.SEEN, decides=True),
    UnseenProgram("life", (1200, 128), Set.SEEN),
    UnseenProgram("odd_even", (120_000, 6), Set.SEEN),
    UnseenProgram("quadrature", (9, 100_000, 12), Set.SEEN),
    UnseenProgram("tempering", (64, 40, 4), Set.SEEN),
    UnseenProgram("wave", (640, 4, 40), Set.SEEN),
    UnseenProgram("adi", (240, 30, 30), Set.SEEN),
    UnseenProgram("floyd_warshall", (640,), Set.SEEN),
    UnseenProgram("lattice_boltzmann", (160, 120), Set.SEEN),
    UnseenProgram("least_squares", (3000, 40, 24), Set.SEEN),
    UnseenProgram("molecular", (6, 50), Set.SEEN),
    UnseenProgram("parameter_server", (1500, 64, 60), Set.SEEN, decides=True),
    UnseenProgram("particle_filter", (20_000, 60), Set.SEEN),
    UnseenProgram("pca", (4000, 360, 12, 20), Set.SEEN),
    UnseenProgram("pipelined_cg", (192, 6), Set.SEEN),
    UnseenProgram("salesman", (80, 50, 200, 10), Set.SEEN),
    UnseenProgram("breadth_first", (40_000, 8, 5), Set.SEEN),
    UnseenProgram("burgers", (240, 60), Set.SEEN),
    UnseenProgram("hash_join", (60_000, 8000, 6), Set.SEEN),
    UnseenProgram("membrane", (600, 100), Set.SEEN),
    UnseenProgram("pivoting", (320,), Set.SEEN),
    UnseenProgram("plasma", (40_000, 256, 60), Set.SEEN),
    UnseenProgram("ring_attention", (192, 64, 6), Set.SEEN),
    UnseenProgram("sample_sort", (60_000, 10), Set.SEEN),
    UnseenProgram("svd", (200, 8, 3), Set.SEEN),
    UnseenProgram("triangular", (240, 40, 10), Set.SEEN),
    UnseenProgram("barnes_hut", (2000, 4, 8), Set.SEEN),
    UnseenProgram("micro_batches", (256, 256, 8, 9), Set.SEEN),
    UnseenProgram("parareal", (2000, 1600, 64), Set.SEEN),
    UnseenProgram("queens", (13,), Set.SEEN),
    UnseenProgram("schwarz", (200, 6, 24), Set.SEEN),
    UnseenProgram("shallow_water", (200, 150), Set.SEEN),
    UnseenProgram("stealing", (13, 200), Set.SEEN, decides=True),
    UnseenProgram("strassen", (640, 40, 3), Set.SEEN),
    UnseenProgram("suffixes", (160_000, 200), Set.SEEN),
    UnseenProgram("tomography", (96, 8, 36, 24), Set.SEEN),
    UnseenProgram("cholesky", (12, 200), Set.SEEN),
    UnseenProgram("colouring", (40_000, 16, 1000), Set.SEEN),
    UnseenProgram("components", (28, 32), Set.SEEN),
    UnseenProgram("evolution", (20, 300, 400), Set.SEEN, decides=True),
    UnseenProgram("film", (256, 36), Set.SEEN),
    UnseenProgram("folding", (440,), Set.SEEN),
    UnseenProgram("kalman", (120, 80, 80, 5), Set.SEEN),
    UnseenProgram("kd_tree", (20_000, 64), Set.SEEN),
    UnseenProgram("list_ranking", (50_000,), Set.SEEN),
    UnseenProgram("traffic", (120_000, 150, 25), Set.SEEN),
    UnseenProgram("bands", (96, 39, 9), Set.SEEN),
    UnseenProgram("consensus", (3200, 128, 10, 120), Set.SEEN),
    UnseenProgram("epidemic", (20, 600, 60), Set.SEEN),
    UnseenProgram("halving", (6000, 300, 81, 24), Set.SEEN, decides=True),
    UnseenProgram("hidden_states", (9000, 12, 5), Set.SEEN),
    UnseenProgram("recommend", (3000, 1000, 12, 6), Set.SEEN),
    UnseenProgram("render", (200, 48, 8), Set.SEEN),
    UnseenProgram("sieve", (60_000_000,), Set.SEEN),
    UnseenProgram("spanning_tree", (120_000, 10), Set.SEEN),
    UnseenProgram("turing", (64, 150, 30), Set.SEEN),
    UnseenProgram("archive", (48, 60_000), Set.SEEN),
    UnseenProgram("boosting", (100_000, 8, 5, 4), Set.SEEN),
    UnseenProgram("delta_stepping", (100_000, 8, 1000, 500), Set.SEEN),
    UnseenProgram("lanczos", (64, 44), Set.SEEN),
    UnseenProgram("mandelbrot", (800, 600, 10, 400), Set.SEEN, decides=True),
    UnseenProgram("maxwell", (48, 48), Set.SEEN),
    UnseenProgram("pi_digits", (24_000,), Set.SEEN),
    UnseenProgram("sandpile", (96, 180, 200), Set.SEEN),
    UnseenProgram("shadows", (480, 8, 4), Set.SEEN),
    UnseenProgram("transport", (40, 24, 3, 4), Set.SEEN),
    UnseenProgram("auction", (160, 200, 5), Set.SEEN),
    UnseenProgram("baskets", (6000, 200, 20, 2), Set.SEEN),
    UnseenProgram("climate", (96, 48, 12, 16, 40, 8), Set.SEEN),
    UnseenProgram("filters", (8000, 256, 32), Set.SEEN),
    UnseenProgram("options", (20_000, 50, 4), Set.SEEN),
    UnseenProgram("parity", (12, 100_000, 3), Set.SEEN),
    UnseenProgram("passwords", (26, 3, 5, 20, 50), Set.SEEN, decides=True),
    UnseenProgram("queueing", (64, 600, 150, 1), Set.SEEN),
    UnseenProgram("swirl", (256, 24), Set.SEEN),
    UnseenProgram("triangles", (20_000, 12, 4), Set.SEEN),
    UnseenProgram("backup", (6, 3000, 12, 12, 30), Set.SEEN),
    UnseenProgram("factoring", (100, 280, 100_000), Set.SEEN, decides=True),
    UnseenProgram("family_tree", (600,), Set.SEEN),
    UnseenProgram("four_in_a_row", (4, 4, 4), Set.SEEN, decides=True),
    UnseenProgram("microscope", (64, 8, 12, 60), Set.SEEN),
    UnseenProgram("power_plants", (120, 96, 300), Set.SEEN),
    UnseenProgram("pursuit", (800, 12), Set.SEEN),
    UnseenProgram("reaction", (16, 9, 4, 600), Set.SEEN),
    UnseenProgram("telescope", (16, 512, 32, 48), Set.SEEN),
    UnseenProgram("topics", (240, 50, 1500, 8, 16), Set.SEEN),
    UnseenProgram("docking", (120, 60, 40), Set.SEEN, decides=True),
    UnseenProgram("flock", (12_000, 25), Set.SEEN),
    UnseenProgram("friends", (4, 30, 5, 40), Set.SEEN),
    UnseenProgram("genome", (90_000, 120, 12), Set.SEEN),
    UnseenProgram("insurance", (40_000, 12, 6), Set.SEEN),
    UnseenProgram("lorries", (20, 16, 400), Set.SEEN),
    UnseenProgram("panorama", (160, 48, 6, 5), Set.SEEN),
    UnseenProgram("pulsar", (192, 2048, 32, 12), Set.SEEN),
    UnseenProgram("robot_arm", (4, 8, 700, 12, 20), Set.SEEN),
    UnseenProgram("translator", (16_000, 256, 12, 6, 24), Set.SEEN),
    UnseenProgram("ballots", (32, 900, 11, 5, 301), Set.FROZEN),
    UnseenProgram("crossmatch", (43, 1000, 6, 5), Set.FROZEN),
    UnseenProgram("keywords", (300, 20, 4, 8), Set.FROZEN),
    UnseenProgram("mosaic", (62, 77, 2, 70), Set.FROZEN),
    UnseenProgram("river", (1000, 8, 12, 4), Set.FROZEN),
    UnseenProgram("sudoku", (32, 15), Set.FROZEN, decides=True),
    UnseenProgram("tides", (120, 48, 108, 16), Set.FROZEN),
    UnseenProgram("timetable", (24, 16, 70, 12), Set.FROZEN),
    UnseenProgram("tissue", (230, 210, 200, 10), Set.FROZEN),
    UnseenProgram("wildfire", (300, 320, 25, 10), Set.FROZEN),
)
UNSEEN_MACHINES = (
    UnseenMachine("far-4", Set.REHEARSAL),
    UnseenMachine("two-racks", Set.REHEARSAL),
    UnseenMachine("shared-memory", Set.REHEARSAL),
    UnseenMachine("mixed-speeds", Set.SEEN),
    UnseenMachine("narrow", Set.SEEN),
    UnseenMachine("busy-memory", Set.SEEN),
    UnseenMachine("near", Set.SEEN),
    UnseenMachine("far-racks", Set.SEEN),
    UnseenMachine("long-haul", Set.SEEN),
    UnseenMachine("one-new", Set.SEEN),
    UnseenMachine("two-ages", Set.SEEN),
    UnseenMachine("tied-racks", Set.SEEN),
    UnseenMachine("distant", Set.SEEN),
    UnseenMachine("paired", Set.SEEN),
    UnseenMachine("streaming", Set.SEEN),
    UnseenMachine("quarter-gigabit", Set.SEEN),
    UnseenMachine("three-speeds", Set.SEEN),
    UnseenMachine("thin-uplink", Set.SEEN),
    UnseenMachine("across-town", Set.SEEN),
    UnseenMachine("three-duals", Set.SEEN),
    UnseenMachine("second-hand", Set.SEEN),
    UnseenMachine("classroom", Set.SEEN),
    UnseenMachine("two-campuses", Set.SEEN),
    UnseenMachine("dual-boards", Set.SEEN),
    UnseenMachine("old-and-new", Set.SEEN),
    UnseenMachine("satellite", Set.SEEN),
    UnseenMachine("attic", Set.SEEN),
    UnseenMachine("gigabit-duals", Set.SEEN),
    UnseenMachine("three-cabinets", Set.SEEN),
    UnseenMachine("two-buildings", Set.SEEN),
    UnseenMachine("hand-me-downs", Set.SEEN),
    UnseenMachine("crowded-duals", Set.SEEN),
    UnseenMachine("two-desks", Set.SEEN),
    UnseenMachine("branch-office", Set.SEEN),
    UnseenMachine("grown-lab", Set.SEEN),
    UnseenMachine("slow-lane-duals", Set.SEEN),
    UnseenMachine("thrifty", Set.SEEN),
    UnseenMachine("noisy-neighbours", Set.SEEN),
    UnseenMachine("home-and-away", Set.SEEN),
    UnseenMachine("seven-desks", Set.SEEN),
    UnseenMachine("server-and-desks", Set.SEEN),
    UnseenMachine("annexe", Set.SEEN),
    UnseenMachine("triple-boards", Set.SEEN),
    UnseenMachine("partly-let", Set.SEEN),
    UnseenMachine("refurbished", Set.SEEN),
    UnseenMachine("workshop", Set.SEEN),
    UnseenMachine("two-sites", Set.SEEN),
    UnseenMachine("let-server", Set.SEEN),
    UnseenMachine("veterans", Set.SEEN),
    UnseenMachine("workstation", Set.SEEN),
    UnseenMachine("home-office", Set.SEEN),
    UnseenMachine("observatory", Set.SEEN),
    UnseenMachine("six-in-one", Set.SEEN),
    UnseenMachine("archipelago", Set.SEEN),
    UnseenMachine("old-guard", Set.SEEN),
    UnseenMachine("faculty", Set.SEEN),
    UnseenMachine("co-location", Set.SEEN),
    UnseenMachine("control-room", Set.SEEN),
    UnseenMachine("open-plan", Set.SEEN),
    UnseenMachine("two-labs", Set.SEEN),
    UnseenMachine("field-station", Set.SEEN),
    UnseenMachine("sublet", Set.SEEN),
    UnseenMachine("odd-trio", Set.SEEN),
    UnseenMachine("lighthouse", Set.SEEN),
    UnseenMachine("newsroom", Set.SEEN),
    UnseenMachine("hospital", Set.SEEN),
    UnseenMachine("library", Set.SEEN),
    UnseenMachine("harbour", Set.SEEN),
    UnseenMachine("museum", Set.SEEN),
    UnseenMachine("vineyard", Set.FROZEN),
    UnseenMachine("theatre", Set.FROZEN),
    UnseenMachine("bakery", Set.FROZEN),
    UnseenMachine("airport", Set.FROZEN),
    UnseenMachine("monastery", Set.FROZEN),
    UnseenMachine("shipyard", Set.FROZEN),
)


def chosen(of: Set) -> tuple[list[UnseenProgram], list[UnseenMachine]]:
    """Return the programs and machines of a set: those for rehearsal never meet frozen ones."""
    return (
        [each for each in UNSEEN_PROGRAMS if each.of is of],
        [each for each in UNSEEN_MACHINES if each.of is of],
    )
