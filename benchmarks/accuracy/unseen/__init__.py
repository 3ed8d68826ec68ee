"""Accuracy for users: programs and machines that were unseen while the model was developed.

``python -m benchmarks.accuracy.unseen`` measures them once the model is frozen, and predicts them as a user can.
Columns:

user         one plain ``clue record`` on this computer at the target's number of ranks, the machine's nominal
             performance factor, links as ``clue calibrate network`` measures them between two of its hosts
calibrated   the same, with a performance factor for each program and type of node: its CPU time recorded on one node
hindsight    the same, with the CPU time that each rank's bursts took in the runs: the error of the message model alone

and, for each of these sources of computation, without the model:

none         messages do not slow each other (``contention: none``)
baseline     no simulation: max over ranks r of C(r) + max(S(r), R(r)), where C is the computation of r, and S and R sum
             L + m / B over the messages that r sends, and receives; L is the time of an empty message of the link, B
             its bandwidth from an empty message to 1 MiB; collectives count as the messages that they consist of
computation  C(r) of the rank that computes longest

Programs whose control flow depends on the order of arrival are predicted by ``clue run``; its calibrated and hindsight
columns take bursts from the recording, matched by kind of call.
"""
