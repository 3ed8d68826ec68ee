"""What is bought together (Apriori): ranks have baskets, and add up how often sets of goods occur in them."""

import sys
from collections import Counter
from itertools import combinations

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
total, goods, habits, percent = (int(word) for word in sys.argv[1:])
needed = total * percent / 100
begin, end = comm.rank * total // comm.size, (comm.rank + 1) * total // comm.size

# some goods go together by habit; everyone knows the habits, the baskets are those of the own shops
random = np.random.default_rng(51)
together = [frozenset(map(int, random.choice(goods, size=random.integers(3, 6), replace=False))) for _ in range(habits)]
popular = 1 / np.arange(1, goods + 1)
popular /= popular.sum()
random = np.random.default_rng([52, comm.rank])
baskets = []
for _ in range(begin, end):
    basket = set(map(int, random.choice(goods, size=random.integers(1, 9), p=popular)))
    for habit in random.integers(habits, size=random.integers(0, 3)):
        basket |= together[habit]
    baskets.append(frozenset(basket))


def frequent(counts):
    """Of the sets that were counted by anyone, those that occur often enough."""
    everywhere = comm.allreduce(counts, op=MPI.SUM)
    return {each: count for each, count in everywhere.items() if count >= needed}


def candidates(known, size):
    """Sets of which all subsets are frequent."""
    ordered = sorted(known)
    found = set()
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            if one[:-1] != other[:-1]:
                break
            joint = (*one, other[-1])
            if all(part in known for part in combinations(joint, size - 1)):
                found.add(joint)
    return found


levels = [frequent(Counter((each,) for basket in baskets for each in basket))]
while levels[-1]:
    size = len(levels) + 1
    wanted = candidates(levels[-1], size)
    useful = {each for one in wanted for each in one}
    counts = Counter()
    for basket in baskets:
        content = sorted(basket & useful)
        if len(content) >= size:
            counts.update(each for each in combinations(content, size) if each in wanted)
    levels.append(frequent(counts))

# rules: whoever has all but one of a set often has that one, too
known = {each: count for level in levels for each, count in level.items()}
sets = sorted(each for each in known if len(each) > 1)
rules = []
for each in sets[comm.rank :: comm.size]:
    for last in each:
        rest = tuple(one for one in each if one != last)
        if known[each] > 0.7 * known[rest]:
            rules.append((known[each] / known[rest], rest, last))
rules = comm.gather(rules, root=0)

for each, count in known.items():
    assert len(each) == 1 or all(known[part] >= count for part in combinations(each, len(each) - 1))
for habit in together:
    assert tuple(sorted(habit)) in known
for each in sorted(known, key=lambda one: (len(one), one))[-10:]:
    assert comm.allreduce(sum(basket.issuperset(each) for basket in baskets)) == known[each]
if comm.rank == 0:
    rules = sorted(rule for part in rules for rule in part)
    assert len(rules) >= habits and all(0.7 < sure <= 1 for sure, *_ in rules)
