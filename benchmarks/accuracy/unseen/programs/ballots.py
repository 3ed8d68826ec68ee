"""An election by single transferable vote, and how sure it is: ranks hold ballots, and add up counts in each round."""

import sys
from collections import Counter

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
districts, voters, candidates, seats, draws = (int(word) for word in sys.argv[1:])
UNIT = 100_000  # a vote in parts that can be transferred, as in Scotland
NOBODY = -1


def district(random, parties):
    """The ballots of a polling district: voters list some candidates, those near to their opinion first."""
    opinions = random.normal(random.normal(scale=0.4, size=2), 1, size=(voters, 2))
    far = np.linalg.norm(opinions[:, None] - parties, axis=2) + random.gumbel(scale=0.4, size=(voters, candidates))
    lengths = random.binomial(candidates - 1, 0.5, size=voters) + 1
    return [tuple(order[:length]) for order, length in zip(np.argsort(far, axis=1).tolist(), lengths.tolist())]


# rank 0 hands out district after district; the same ballots are kept once, with how many there are
random, parties, cast = np.random.default_rng(1211), None, 0
if comm.rank == 0:
    parties = random.normal(scale=0.6, size=(candidates, 2))
mine = Counter()
for _ in range(districts):
    box = None
    if comm.rank == 0:
        papers = district(random, parties)
        cast += len(papers)
        box = [papers[rank :: comm.size] for rank in range(comm.size)]
    mine.update(comm.scatter(box, root=0))
cast = comm.bcast(cast, root=0)


def together(some, others):
    """Add up what candidates have, and leave out those that have nothing."""
    both = dict(some)
    for candidate, votes in others.items():
        both[candidate] = both.get(candidate, 0) + votes
    return {candidate: votes for candidate, votes in sorted(both.items()) if votes}


def next_choice(ballot, place, running):
    while place < len(ballot) and ballot[place] not in running:
        place += 1
    return place


# ballots lie in piles, one for each candidate: the ballot, how many, which choice, what one is worth
running, elected, log = set(range(candidates)), [], []
piles = {candidate: [] for candidate in [NOBODY, *running]}
for ballot, number in mine.items():
    piles[ballot[0]].append((ballot, number, 0, UNIT))
quota = cast * UNIT // (seats + 1) + 1
while len(running) + len(elected) > seats > len(elected):
    held = {candidate: sum(number * worth for _, number, _, worth in pile) for candidate, pile in piles.items()}
    counts = comm.allreduce(held, op=together)
    # no vote gets lost but for what is rounded down
    assert 0 <= cast * UNIT - sum(counts.values()) - quota * len(elected) <= cast * len(elected)
    best = max(running, key=lambda candidate: (counts.get(candidate, 0), -candidate))
    if counts.get(best, 0) >= quota:
        elected.append(best)
        goes, surplus, whole = best, counts[best] - quota, counts[best]
    else:
        goes, surplus, whole = min(running, key=lambda candidate: (counts.get(candidate, 0), candidate)), 1, 1
    running.remove(goes)
    log.append((goes, surplus, whole))
    for ballot, number, before, worth in piles.pop(goes):
        place = next_choice(ballot, before, running)
        holder = ballot[place] if place < len(ballot) else NOBODY
        piles[holder].append((ballot, number, place, worth * surplus // whole))
if len(elected) < seats:
    elected += sorted(running)
assert len(set(elected)) == seats and log == comm.bcast(log, root=comm.size - 1)

# each ballot alone, with all rounds as they were, ends in the pile in which it is
for holder, pile in piles.items():
    for ballot, _, _, worth in pile:
        alone, left = UNIT, list(ballot)
        for goes, surplus, whole in log:
            if left and left[0] == goes:
                alone = alone * surplus // whole
            left = [candidate for candidate in left if candidate != goes]
        assert (left[0] if left else NOBODY) == holder and alone == worth

# how many prefer one candidate to another, in the election and in others with the same voters drawn again
prefers = np.zeros((len(mine), candidates, candidates), dtype=np.float32)
for ballot, matrix in zip(mine, prefers):
    behind = np.ones(candidates)
    for candidate in ballot:
        behind[candidate] = 0
        matrix[candidate] = behind
numbers = np.array(list(mine.values()))
weights = np.random.default_rng([1212, comm.rank]).poisson(numbers, size=(draws, len(numbers))).astype(np.float32)
weights[0] = numbers
partial = np.rint(weights @ prefers.reshape(len(numbers), -1)).astype(np.int64)
owned = [(rank + 1) * draws // comm.size - rank * draws // comm.size for rank in range(comm.size)]
duels = np.empty((owned[comm.rank], candidates, candidates), dtype=np.int64)
comm.Reduce_scatter(partial, duels, [count * candidates**2 for count in owned])


def schulze(duel):
    """Who wins: nobody has a stronger way to them than they have to the other."""
    strength = np.where(duel > duel.T, duel, 0)
    for via in range(candidates):
        strength = np.maximum(strength, np.minimum(strength[:, via, None], strength[via]))
    return int((strength >= strength.T).all(axis=1).argmax())


wins = np.bincount([schulze(duel) for duel in duels], minlength=candidates)
comm.Allreduce(MPI.IN_PLACE, wins)
sums = np.zeros((candidates, candidates), dtype=np.int64)
comm.Reduce(duels.sum(axis=0), sums, root=0)

# duels again, ballot by ballot
for other in sorted(running | set(elected[1:])):
    ahead = {elected[0]: 0, other: 0}
    for ballot, number in mine.items():
        first = next((candidate for candidate in ballot if candidate in ahead), None)
        if first is not None:
            ahead[first] += number
    ahead = comm.reduce(ahead, op=together, root=0)
    if comm.rank == 0:
        assert ahead.get(elected[0], 0) == duels[0, elected[0], other]
        assert ahead.get(other, 0) == duels[0, other, elected[0]]

assert wins.sum() == draws
if comm.rank == 0:
    duel = duels[0]
    assert (np.abs(sums / draws - duel) <= 6 * np.sqrt((duel + 1) / draws) + 1).all()
    # who beats all others wins, and most often also if voters are drawn again
    champions = np.flatnonzero((duel > duel.T).sum(axis=1) == candidates - 1).tolist()
    assert champions in ([], [schulze(duel)])
    assert wins.argmax() in (champions or range(candidates))
