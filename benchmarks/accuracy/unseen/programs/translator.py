"""A translator too large for one computer: ranks have some words each, and a part of its state, and choose together."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
words, state, sentences, beam, length = (int(word) for word in sys.argv[1:])
SHARP, MEMORY, STRIDE = 12.0, 0.2, 37

# every word is a vector of waves; the model has learned that a word is followed by the one STRIDE further on
frequency = np.random.default_rng(911).uniform(0.1, np.pi, size=state // 2)


def vectors(numbers):
    phase = np.asarray(numbers)[:, None] * frequency
    return (np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / np.sqrt(state // 2)).astype(np.float32)


def split(total):
    bounds = np.arange(comm.size + 1) * total // comm.size
    return bounds[comm.rank], bounds[comm.rank + 1], np.diff(bounds)


first_word, last_word, _ = split(words)
first_unit, last_unit, units = split(state)
embedding = vectors(np.arange(first_word, last_word))
turn = np.zeros((state, state), dtype=np.float32)
half = np.arange(state // 2)
turn[half, half] = turn[half + state // 2, half + state // 2] = np.cos(STRIDE * frequency)
turn[half, half + state // 2] = -np.sin(STRIDE * frequency)
turn[half + state // 2, half] = np.sin(STRIDE * frequency)
noise = np.random.default_rng(912).normal(size=(state, state)).astype(np.float32)
weights = (turn + np.float32(0.02 / np.sqrt(state)) * noise)[first_unit:last_unit].T.copy()

rows = sentences * beam
gathered = np.empty(rows * state, dtype=np.float32)


def embedded(chosen):
    """Vectors of words, each of which one rank has."""
    result = np.zeros((rows, state), dtype=np.float32)
    here = (chosen >= first_word) & (chosen < last_word)
    result[here] = embedding[chosen[here] - first_word]
    comm.Allreduce(MPI.IN_PLACE, result)
    return result


def next_state(vector, before):
    """Each rank computes its units; all get all."""
    own = np.tanh(vector @ weights + MEMORY * before[:, first_unit:last_unit])
    comm.Allgatherv(own.ravel(), [gathered, [rows * int(count) for count in units]])
    ends = np.cumsum(rows * units)[:-1]
    return np.concatenate([part.reshape(rows, -1) for part in np.split(gathered, ends)], axis=1)


def candidates(hidden, scores):
    """The best continuations of each text, among all ranks' words: their scores, words and what they continue."""
    logits = SHARP * (hidden @ embedding.T)
    top = logits.max(axis=1)
    comm.Allreduce(MPI.IN_PLACE, top, op=MPI.MAX)
    norm = np.exp(logits - top[:, None]).sum(axis=1)
    comm.Allreduce(MPI.IN_PLACE, norm)
    logits += (scores - top - np.log(norm))[:, None]
    best = np.argpartition(-logits, beam - 1, axis=1)[:, :beam]
    mine = np.empty((rows, beam, 2))
    mine[:, :, 0] = np.take_along_axis(logits, best, axis=1)
    mine[:, :, 1] = best + first_word
    everyone = np.empty((comm.size, *mine.shape))
    comm.Allgather(mine, everyone)
    return everyone.transpose(1, 0, 2, 3).reshape(sentences, beam, comm.size * beam, 2)


begins = 101 + 53 * np.arange(sentences)
texts = [[[int(begin)]] * beam for begin in begins]
chosen = np.repeat(begins, beam)
# in the beginning all texts of a sentence are the same: but one of them count for nothing
scores = np.tile(np.array([0.0] + [-1e9] * (beam - 1), dtype=np.float32), sentences)
hidden = np.zeros((rows, state), dtype=np.float32)
for _ in range(length):
    hidden = next_state(embedded(chosen), hidden)
    found = candidates(hidden, scores)
    order, kept = [], []
    for sentence, options in enumerate(found.reshape(sentences, -1, 2)):
        picks = np.lexsort((options[:, 1], -options[:, 0]))[:beam]
        parents = picks // (comm.size * beam)
        kept.append(options[picks])
        order.append(parents + sentence * beam)
        texts[sentence] = [texts[sentence][p] + [int(o[1])] for p, o in zip(parents.tolist(), options[picks])]
    scores = np.concatenate(kept)[:, 0].astype(np.float32)
    chosen = np.concatenate(kept)[:, 1].astype(np.int64)
    hidden = hidden[np.concatenate(order)]

# the likeliest translations are what the model has learned, and all ranks have the same
for begin, translated in zip(begins.tolist(), texts):
    assert translated[0] == [begin + STRIDE * place for place in range(length + 1)]
assert begins[-1] + STRIDE * length < words
lines = scores.reshape(sentences, beam)
assert (lines[:, 0] < 0).all() and (np.diff(lines, axis=1) <= 0).all()
assert all(other == texts for other in comm.allgather(texts))
