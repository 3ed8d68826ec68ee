"""Traffic on a ring road (Nagel and Schreckenberg): every rank has a stretch, and hands over the cars that leave it."""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
cells, steps, every = (int(word) for word in sys.argv[1:])
rank, size = comm.rank, comm.size
FASTEST, DAWDLE = 5, 0.2
ahead, behind = (rank + 1) % size, (rank - 1) % size
begin, end = rank * cells // size, (rank + 1) * cells // size
assert end - begin > FASTEST

random = np.random.default_rng(60 + rank)
places = np.flatnonzero(random.random(end - begin) < 0.15)
speeds = np.zeros(len(places), dtype=int)
cars = comm.allreduce(len(places))

# the stretch behind needs the position of a stretch's first car
first, next_first = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
requests = [comm.Send_init(first, dest=behind, tag=1), comm.Recv_init(next_first, source=ahead, tag=1)]

passed, driven, flows = 0, 0, []
for step in range(1, steps + 1):
    first[0] = places[0] if len(places) else end - begin
    MPI.Prequest.Startall(requests)
    MPI.Prequest.Waitall(requests)
    gaps = np.diff(places, append=end - begin + next_first[0]) - 1
    speeds = np.minimum(np.minimum(speeds + 1, FASTEST), gaps)
    speeds -= (random.random(len(speeds)) < DAWDLE) & (speeds > 0)
    places = places + speeds
    driven += int(speeds.sum())

    gone = places >= end - begin
    leaving = [(int(place) - (end - begin), int(speed)) for place, speed in zip(places[gone], speeds[gone])]
    coming = comm.sendrecv(leaving, dest=ahead, sendtag=2, source=behind, recvtag=2)
    passed += len(leaving)
    places = np.concatenate([[place for place, _ in coming], places[~gone]]).astype(int)
    speeds = np.concatenate([[speed for _, speed in coming], speeds[~gone]]).astype(int)

    if step % every == 0:
        flow = comm.reduce(np.array([driven, passed]), root=0)
        if rank == 0:
            flows.append(flow)
for request in requests:
    request.Free()

assert (np.diff(places) > 0).all()
assert len(places) == 0 or (places[0] >= 0 and places[-1] < end - begin)
assert comm.allreduce(len(places)) == cars
if rank == 0:
    # as many cars must pass the ends of stretches as any other point
    distance, passages = flows[-1]
    assert abs(distance / cells - passages / size) < 0.1 * distance / cells + 20
    assert all((late >= early).all() for early, late in zip(flows, flows[1:]))
