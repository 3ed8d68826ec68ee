"""What articles are about (latent Dirichlet allocation): ranks draw topics of their words, and add up the changes."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
articles, length, words, topics, sweeps = (int(word) for word in sys.argv[1:])
ALPHA, BETA = 0.2, 0.05

# articles are written about a few of the true topics
random = np.random.default_rng(131)
truth = random.dirichlet(np.full(words, 0.02), size=topics)
begin, end = comm.rank * articles // comm.size, (comm.rank + 1) * articles // comm.size
random = np.random.default_rng([132, comm.rank])
texts = []
for _ in range(begin, end):
    about = random.choice(topics, size=random.poisson(length) + 1, p=random.dirichlet(np.full(topics, 0.1)))
    texts.append([int(random.choice(words, p=truth[topic])) for topic in about[: length // 4]])
    texts[-1] += [texts[-1][each] for each in random.integers(len(texts[-1]), size=len(about) - len(texts[-1]))]

given = [random.integers(topics, size=len(text)).tolist() for text in texts]
by_article = np.zeros((len(texts), topics))
local = np.zeros((words, topics), dtype=np.int32)
for article, (text, chosen) in enumerate(zip(texts, given)):
    np.add.at(by_article[article], chosen, 1)
    np.add.at(local, (text, chosen), 1)
by_word = np.empty_like(local)
comm.Allreduce(local, by_word)
total_words = comm.allreduce(sum(map(len, texts)))


def sweep():
    """Draw the topic of each word again, given all others; return what that changes."""
    counts = by_word + BETA
    totals = counts.sum(axis=0)
    change = np.zeros_like(by_word)
    for article, (text, chosen) in enumerate(zip(texts, given)):
        here = by_article[article]
        chances = random.random(len(text))
        for place, word in enumerate(text):
            old = chosen[place]
            here[old] -= 1
            counts[word, old] -= 1
            totals[old] -= 1
            line = ((here + ALPHA) * counts[word] / totals).cumsum()
            new = int(line.searchsorted(chances[place] * line[-1]))
            here[new] += 1
            counts[word, new] += 1
            totals[new] += 1
            chosen[place] = new
            change[word, old] -= 1
            change[word, new] += 1
    return change


def surprise():
    """Minus the mean logarithm of how likely the words are."""
    likely = (by_word + BETA) / (by_word + BETA).sum(axis=0)
    total = 0.0
    for article, text in enumerate(texts):
        mixture = (by_article[article] + ALPHA) / (by_article[article] + ALPHA).sum()
        total -= np.log(likely[text] @ mixture).sum()
    return comm.allreduce(float(total)) / total_words


surprises = [surprise()]
for number in range(sweeps):
    change = sweep()
    comm.Allreduce(MPI.IN_PLACE, change)
    by_word += change
    if number % 4 == 3:
        surprises.append(surprise())
    assert by_word.min() >= 0

# nothing is lost, and the topics say more than the frequencies of words
assert by_word.sum() == total_words == comm.allreduce(int(by_article.sum()))
assert surprises[-1] < surprises[0] - 0.3
leading = comm.gather(by_article.argmax(axis=1) if texts else [], root=0)
if comm.rank == 0:
    assert len(np.unique(np.concatenate(leading))) > topics // 2
