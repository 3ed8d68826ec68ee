"""Find forgotten passwords from their hashes: all ranks try, and whoever finds one tells the others at once."""

import hashlib
import itertools
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
letters, length, accounts, rounds, chunk = (int(word) for word in sys.argv[1:])
ALPHABET = "etaoinshrdlcumwfgypbvkjxqz0123456789"[:letters]
LIMIT = letters**length


def spelled(number):
    word = ""
    for _ in range(length):
        number, letter = divmod(number, letters)
        word += ALPHABET[letter]
    return word


def hash_of(word, salt):
    return hashlib.pbkdf2_hmac("sha256", word.encode(), salt, rounds)


# only rank 0 has the file with the hashes
if comm.rank == 0:
    random = np.random.default_rng(97)
    secrets = [spelled(int(number)) for number in random.integers(LIMIT, size=accounts)]
    salts = [random.bytes(8) for _ in range(accounts)]
    shadow = [(salt, hash_of(secret, salt)) for salt, secret in zip(salts, secrets)]
else:
    shadow = None
shadow = comm.bcast(shadow, root=0)


def chunks():
    """Ranks take chunks of words in turn."""
    for begin in itertools.count(comm.rank * chunk, comm.size * chunk):
        if begin >= LIMIT:
            return
        yield range(begin, min(begin + chunk, LIMIT))


found, tried, mine = [], 0, 0
for account, (salt, wanted) in enumerate(shadow):
    word = None
    for numbers in chunks():
        for number in numbers:
            guess = spelled(number)
            tried += 1
            if hash_of(guess, salt) == wanted:
                word = guess
                break
        if word is not None or comm.Iprobe(source=MPI.ANY_SOURCE, tag=account):
            break
    if word is None:
        # somebody else has it, or will
        word = comm.recv(source=MPI.ANY_SOURCE, tag=account)
    else:
        mine += 1
        requests = [comm.isend(word, dest=other, tag=account) for other in range(comm.size) if other != comm.rank]
        MPI.Request.waitall(requests)
    found.append(word)

assert all(hash_of(word, salt) == wanted for word, (salt, wanted) in zip(found, shadow))
assert comm.allreduce(mine) == accounts
assert comm.allreduce(tried) <= accounts * LIMIT
if comm.rank == 0:
    assert found == secrets
