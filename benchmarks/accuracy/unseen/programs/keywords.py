"""Keywords in a long recording, by time warping: ranks share the samples and pass on borders of the table."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
seconds, words, copies, block = (int(word) for word in sys.argv[1:])
RATE, FRAME, HOP, BANDS, KEPT = 8000, 200, 80, 24, 12
SOUNDS, SYLLABLES, NOISE = 24, 6, 600
frames = seconds * RATE // HOP
counts = [(rank + 1) * frames // comm.size - rank * frames // comm.size for rank in range(comm.size)]
first = comm.rank * frames // comm.size
columns = counts[comm.rank]

# triangles that are as wide as they are for the ear, and cosines over them
edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + RATE / 1400), BANDS + 2) / 2595) - 1)
tones = np.fft.rfftfreq(256, 1 / RATE)[:, None]
rising = (tones - edges[:-2]) / np.diff(edges)[:-1]
falling = (edges[2:] - tones) / np.diff(edges)[1:]
ear = np.maximum(0, np.minimum(rising, falling))
cosines = np.cos(np.pi * np.arange(1, KEPT + 1) * (np.arange(BANDS)[:, None] + 0.5) / BANDS)


def cepstra(samples):
    """What is heard in each frame, as the cosines of its loudness over the bands."""
    pieces = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[::HOP]
    power = np.abs(np.fft.rfft(pieces * np.hamming(FRAME), 256, axis=1)) ** 2
    return np.log(power @ ear + 1e4) @ cosines


class Speaker:
    """Says words, which are rows of sounds, never twice at the same speed."""

    def __init__(self):
        self.random = np.random.default_rng(1201)
        formants = self.random.uniform([250, 900, 2000], [850, 1900, 3400], size=(SOUNDS, 3))
        waves = np.sin(2 * np.pi * formants[:, :, None] * np.arange(RATE // 5) / RATE)
        pitch = 1 - np.arange(RATE // 5) % 70 / 90
        self.sounds = np.tensordot([3000, 2000, 1200], waves, axes=(0, 1)) * pitch
        self.words = [self.random.permutation(SOUNDS)[:SYLLABLES] for _ in range(words)]

    def say(self, sounds):
        lengths = self.random.integers(RATE // 20, RATE // 9, size=len(sounds))
        return np.concatenate([self.sounds[sound, :length] for sound, length in zip(sounds, lengths)])

    def record(self):
        """A recording of noise and babble, in which each word is hidden some times, and where that was."""
        samples = self.random.standard_normal(frames * HOP + FRAME - HOP, dtype=np.float32) * NOISE
        order = self.random.permutation(np.repeat(np.arange(words), copies)).tolist()
        room, hidden = frames * HOP // len(order), []
        for number, word in enumerate(order):
            spoken = self.say(self.words[word])
            begin = number * room + int(self.random.integers(room - len(spoken)))
            for at in range(number * room, begin - RATE, RATE):
                babble = self.say(self.random.integers(SOUNDS, size=4))
                samples[at : at + len(babble)] += babble
            samples[begin : begin + len(spoken)] += spoken
            hidden.append((word, begin // HOP, (begin + len(spoken)) // HOP))
        return samples.astype(np.int16), sorted(hidden)


recording = hidden = templates = None
if comm.rank == 0:
    speaker = Speaker()
    recording, hidden = speaker.record()
    spoken = [speaker.say(word) for word in speaker.words]
    templates = [cepstra(one + NOISE / 3 * speaker.random.standard_normal(len(one))) for one in spoken]
templates = comm.bcast(templates, root=0)

# everyone gets the samples of its frames, and those that its last frames reach into
samples = np.empty(columns * HOP + FRAME - HOP, dtype=np.int16)
sizes = [count * HOP for count in counts]
comm.Scatterv([recording[: sum(sizes)], sizes] if comm.rank == 0 else None, samples[: columns * HOP], root=0)
before = comm.rank - 1 if comm.rank else MPI.PROC_NULL
after = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL
samples[columns * HOP :] = 0
comm.Sendrecv(samples[: FRAME - HOP].copy(), dest=before, recvbuf=samples[columns * HOP :], source=after)
heard = cepstra(samples)

# the spread of each cosine over the whole recording makes them alike
moments = np.concatenate([heard.sum(axis=0), (heard**2).sum(axis=0)])
comm.Allreduce(MPI.IN_PLACE, moments, op=MPI.SUM)
mean = moments[:KEPT] / frames
spread = np.sqrt(moments[KEPT:] / frames - mean**2)
heard = (heard - mean) / spread
templates = [(template - mean) / spread for template in templates]


def distances(rows, those):
    squares = (rows**2).sum(axis=1)[:, None] + (those**2).sum(axis=1) - 2 * rows @ those.T
    return np.sqrt(np.maximum(squares, 0))


# the table of a word: a row for each of its frames, and a path may begin and end in any column
numbers = np.arange(columns + 1)
ends, begins = np.empty((words, columns)), np.empty((words, columns))
pending = MPI.REQUEST_NULL
for word, template in enumerate(templates):
    costs, origins = np.zeros(columns + 1), first - 1.0 + numbers
    if comm.rank == 0:
        costs[0] = np.inf
    for top in range(0, len(template), block):
        apart = distances(template[top : top + block], heard)
        left, right = np.full((2, len(apart)), np.inf), np.empty((2, len(apart)))
        comm.Recv(left, source=before)
        for row, own in enumerate(apart):
            upright = costs[1:] <= costs[:-1]
            came = np.where(upright, costs[1:], costs[:-1])
            source = np.concatenate([left[1, row : row + 1], np.where(upright, origins[1:], origins[:-1])])
            # whatever enters the row somewhere can stay in it, and pays for all columns until it leaves
            paid = np.cumsum(own)
            entered = np.concatenate([left[0, row : row + 1], came - paid + own])
            lowest = np.minimum.accumulate(entered)
            origins = source[np.maximum.accumulate(np.where(entered == lowest, numbers, 0))]
            costs = lowest
            costs[1:] += paid
            right[:, row] = costs[-1], origins[-1]
        pending.Wait()
        pending = comm.Isend(right, dest=after)
    ends[word], begins[word] = costs[1:] / len(template), origins[1:]
pending.Wait()

# the best place of each word, then the next best one that is elsewhere
pair = np.dtype([("cost", np.float64), ("place", np.int32)], align=True)
found, untouched = [], ends.copy()
mine, best = np.empty(words, dtype=pair), np.empty(words, dtype=pair)
for _ in range(copies):
    mine["place"] = first + ends.argmin(axis=1)
    mine["cost"] = ends.min(axis=1)
    comm.Allreduce([mine, MPI.DOUBLE_INT], [best, MPI.DOUBLE_INT], op=MPI.MINLOC)
    for word, (cost, place) in enumerate(best.tolist()):
        if first <= place < first + columns:
            found.append((word, int(begins[word, place - first]), place, cost))
        reach = len(templates[word])
        ends[word, max(0, place - first - reach) : max(0, place - first + reach)] = np.inf
everything = comm.gather(found, root=0)
heights = comm.reduce(float(untouched.min()), op=MPI.MIN, root=0)

if comm.rank == 0:
    places = sorted(place for some in everything for place in some)
    assert len(places) == len(hidden) == words * copies
    assert abs(min(cost for *_, cost in places) - heights) < 1e-9
    # a word is where it was hidden; its path alone, in plain steps, costs as much as it did in the whole table
    for (word, begin, end, _), (hidden_word, hidden_begin, hidden_end) in zip(places, hidden):
        assert word == hidden_word
        assert abs(begin - hidden_begin) < 15 and abs(end - hidden_end) < 15
    for word, begin, end, cost in places[::copies]:
        piece = (cepstra(recording[begin * HOP : end * HOP + FRAME]) - mean) / spread
        line = [0.0] + [np.inf] * len(piece)
        for own in distances(templates[word], piece).tolist():
            above, line = line, [np.inf]
            for column, step in enumerate(own):
                line.append(step + min(above[column], above[column + 1], line[column]))
        assert abs(line[-1] / len(templates[word]) - cost) < 1e-6
