"""Cost sheets computed by hand, to the cent."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from clue.purchase.costs import (
    Account,
    Cloud,
    Costs,
    Electricity,
    Licence,
    Life,
    Number,
    Part,
    Per,
    Racks,
    Tariff,
    account_of,
    annuity,
    hardware_of,
)
from clue.units import YEAR

HOUR, KWH = 3600.0, 3.6e6
NODES = {"node": 64}


def years(number: float, rate: float = 0.0) -> Life:
    """Return a service life of a number of years at a discount rate."""
    return Life(number * YEAR, rate)


def account(
    costs: Costs, purchase: float = 0.0, nodes: Mapping[str, int] = NODES, *, cores: int = 64, life: Life | None = None
) -> Account:
    """Return the account of the given nodes, by default over one year."""
    return account_of(costs, purchase, hardware_of(costs, nodes), sum(nodes.values()), cores, life or years(1))


def cents(amount: float | None) -> float:
    """Round to cents."""
    assert amount is not None
    return round(amount, 2)


def test_a_run_in_a_cloud() -> None:
    """A run bills its node-hours: 359.483 s × 64 nodes × 5.06 USD/h = 32.3375 USD."""
    rented = account(Costs(cloud=Cloud(5.06 / HOUR)))
    assert rented.cost_of_run(1.0, 1 / 359.483, rented.billed(359.483)) == pytest.approx(32.3375, abs=5e-5)


#: Published figures: price per node-hour in USD, nodes, run time in seconds, cost of the run. CMAQ over two days on
#: HBv3-120 and c5n.18xlarge nodes, from the performance and cost tables in the manuals of CMASCenter/cyclecloud-cmaq
#: and CMASCenter/pcluster-cmaq. These round hours to three or four digits and costs to cents or less.
CMAQ = [
    (3.6, 1, 5911.45, 5.911),
    (3.6, 1, 5345.91, 5.34),
    (3.6, 1, 7079.60, 7.077),
    (3.6, 2, 4269.40, 8.54),
    (3.6, 3, 3255.30, 9.76),
    (3.888, 2, 6713.71, 14.5),
    (1.1732, 2, 6713.71, 4.37),
]


@pytest.mark.parametrize(("price", "nodes", "seconds", "published"), CMAQ)
def test_the_cost_table_of_a_study_in_clouds(price: float, nodes: int, seconds: float, published: float) -> None:
    """The cost equals the published one except for the table's rounding, and the product of its factors exactly."""
    rented = account(Costs(cloud=Cloud(price / HOUR)), nodes={"node": nodes})
    cost = rented.cost_of_run(1.0, 1 / seconds, rented.billed(seconds))
    assert cost == pytest.approx(published, abs=0.01)
    assert cost == pytest.approx(price * nodes * seconds / 3600, rel=1e-12)


@pytest.mark.parametrize(("seconds", "hours"), [(359.483, 1), (3600.0, 1), (3600.0000001, 1), (3600.1, 2), (0.0, 0)])
def test_a_run_is_billed_for_all_quanta_that_it_begins(seconds: float, hours: int) -> None:
    """Each started hour of 64 nodes costs 5.06 USD × 64 = 323.84 USD; an excess within rounding starts no hour."""
    rented = account(Costs(cloud=Cloud(5.06 / HOUR, quantum=HOUR)))
    assert cents(rented.cost_of_run(1.0, math.inf, rented.billed(seconds))) == cents(323.84 * hours)


def test_five_years_at_five_per_cent() -> None:
    """1,000,000 at once, 100,000 a year × 4.329477, and a tenth back, divided by 1.05^5 = 1.276282."""
    items = account(Costs(yearly={"staff": 100_000.0}, residual=0.1), 1e6, life=years(5, 0.05)).sheet(1, 0).items
    assert {item: cents(amount) for item, amount in items.items()} == {
        "purchase": 1_000_000.00,
        "residual": -78_352.62,
        "staff": 432_947.67,
    }


def test_a_part_of_a_year_is_paid_at_its_end() -> None:
    """2.5 years at 10 %: 1/1.1 + 1/1.21 + 0.5/1.1^2.5; without a rate, 2.5."""
    assert annuity(2.5, 0.1) == pytest.approx(1 / 1.1 + 1 / 1.21 + 0.5 / 1.1**2.5, rel=1e-15)
    assert annuity(2.5, 0.0) == 2.5


def test_power_of_nodes_idle_and_busy_with_the_site() -> None:
    """40 nodes of 210 W idle and 560 W busy, and a switch of 250 W, draw 8.65 to 22.65 kW.

    With nodes busy 0.8 of the time and a PUE of 1.3: 19.85 kW × 1.3 × 8,760 h = 226,051.8 kWh. At 0.25 per kWh this
    costs 56,512.95; at 350 g per kWh it emits 79,118.13 kg.
    """
    costs = Costs(
        parts=(
            Part("node", Number(Per.NODE), idle=210, busy=560),
            Part("switch", Number(Per.PORTS, 40), idle=250, busy=250),
        ),
        electricity=Electricity(0.25 / KWH, 0.35 / KWH, 1.3),
        utilisation=0.8,
    )
    used = account(costs, nodes={"node": 40})
    sheet = used.sheet(used.capacity, 0)
    assert (cents(sheet.energy) / KWH, cents(sheet.carbon)) == (pytest.approx(226_051.8), 79_118.13)
    assert cents(sheet.total) == 56_512.95
    assert used.busy == pytest.approx(1.3 * 22_650)


def test_what_a_cluster_is_made_of() -> None:
    """100 nodes, 2 spares; 3 switches; 200 cables; 103 units and 56.75 kW in 3 racks; 6 PDUs: 1,083,900 in total."""
    costs = Costs(
        parts=(
            Part("node", Number(Per.NODE), 9_800, 210, 560, 1, 0.02),
            Part("switch", Number(Per.PORTS, 40), 18_000, 250, 250, 1),
            Part("cable", Number(Per.NODE, 2), 90),
            Part("pdu", Number(Per.RACK, 2), 800),
            Part("console", price=500),
        ),
        racks=Racks(42, 20_000, 2_500),
    )
    made = hardware_of(costs, {"node": 100})
    assert made.numbers == {"node": 100, "switch": 3, "cable": 200, "pdu": 6, "console": 1}
    assert made.price == 102 * 9_800 + 3 * 18_000 + 200 * 90 + 3 * 2_500 + 6 * 800 + 500
    assert (made.rack_units, made.racks, made.busy, made.idle) == (103, 3, 56_750, 21_750)


def test_racks_are_filled_by_what_runs_out_first() -> None:
    """Ten nodes of 1 kW need 4 racks of 42 units that feed 3 kW each, but 1 rack without a power limit."""
    node = Part("node", Number(Per.NODE), busy=1_000, rack_units=1)
    assert hardware_of(Costs((node,), Racks(42, 3_000)), {"node": 10}).racks == 4
    assert hardware_of(Costs((node,), Racks(42)), {"node": 10}).racks == 1


def test_parts_may_be_of_one_type_of_nodes() -> None:
    """Only the three nodes of type fat get accelerators; ports of the other nodes do not count for its hubs."""
    costs = Costs((Part("gpu", Number(Per.NODE, 4, "fat"), 1_000), Part("hub", Number(Per.PORTS, 2, "fat"), 10)))
    assert hardware_of(costs, {"fat": 3, "thin": 50}).numbers == {"gpu": 12, "hub": 2}


@pytest.mark.parametrize(("cores", "price"), [(1, 5_000), (8, 5_000), (9, 9_000), (128, 14_000), (129, 20_000)])
def test_licences_in_packs(cores: int, price: float) -> None:
    """Packs cover 8, 32, 128 and 512 cores; they are paid in each of three years, or once."""
    packs = Licence("solver", "cores", ((8, 5_000.0), (32, 9_000.0), (128, 14_000.0), (512, 20_000.0)))
    assert cents(account(Costs(licences=(packs,)), cores=cores, life=years(3)).sheet(1, 0).total) == 3 * price
    once = Licence("solver", "cores", packs.steps, yearly=False)
    assert cents(account(Costs(licences=(once,)), cores=cores, life=years(3)).sheet(1, 0).total) == price


def test_a_licence_ends_with_its_last_step() -> None:
    """No price covers 513 cores when the last step ends at 512."""
    packs = Licence("solver", "cores", ((512, 20_000.0),))
    with pytest.raises(ValueError, match="licence solver covers 512 cores at most, got 513"):
        account(Costs(licences=(packs,)), cores=513)


def test_reserved_nodes_are_paid_whether_they_are_used_or_not() -> None:
    """At any utilisation: 10 nodes × 2.10 × 26,280 h = 551,880, plus 50,000 upfront."""
    reserved = Costs(cloud=Cloud(2.10 / HOUR, Tariff.RESERVED, upfront=50_000))
    rented = account(reserved, nodes={"node": 10}, life=years(3))
    assert cents(rented.sheet(0.2, 0.2).total) == cents(rented.sheet(1, 1).total) == 601_880.00


def test_spot_nodes_repeat_what_was_taken_away_and_data_are_kept() -> None:
    """10 nodes × 1.20 × 8,760 h / 2 × 1.1 = 57,816; 20 TB × 0.023 a GB × 12 = 5,520; 2 TB × 0.09 a GB × 12 = 2,160."""
    spot = Cloud(1.20 / HOUR, Tariff.SPOT, repeated=0.1, storage=20_000 * 0.023, egress=2_000 * 0.09)
    items = account(Costs(cloud=spot), nodes={"node": 10}).sheet(0.5, 0.5).items
    assert {item: cents(amount) for item, amount in items.items() if amount} == {
        "cloud": 57_816.00,
        "storage": 5_520.00,
        "egress": 2_160.00,
    }


def test_spot_nodes_are_rented_no_longer_than_they_are_there() -> None:
    """A quarter is repeated: runs take 0.8 of the year at most, for which a year is paid, 10 nodes × 1.20 × 8,760 h."""
    spot = account(Costs(cloud=Cloud(1.20 / HOUR, Tariff.SPOT, repeated=0.25)), nodes={"node": 10})
    assert spot.capacity == 0.8
    assert cents(spot.sheet(spot.capacity, spot.capacity).total) == 105_120.00


def test_a_run_bears_its_share_of_all_that_is_paid() -> None:
    """A machine costs 876 a year and is busy half of it at one run an hour: 4,380 runs at 0.20 each."""
    assert cents(account(Costs(), 876.0).cost_of_run(0.5, 1 / HOUR, 0.0)) == 0.20
