"""Models of how messages between nodes slow each other down; a machine has the same model throughout a run.

========== =========================================================================================================
none       messages do not slow each other
factor     the CLUE paper's model: delays grow with the number of simultaneous communications, by a measured table
ports      each node's send and receive ports serve one message after another; short messages pass long ones
flows      messages share the links of a topology max-min fairly
========== =========================================================================================================

No model applies to messages within a node. The engines define the effect of a model on messages in virtual time. Each
model states everything else about itself, so that no caller needs to know which model it has. There are no defaults:

=================================== ================================================================================
name                                its key in machine files
speeds_up                           whether contention may speed up a message; its time alone is then no lower bound
keeps_ports                         whether a message occupies its sender's send port and its receiver's receive port
topology                            the links that messages share, if any
busy                                how long a message occupies a shared resource; ``None``: as stated by its link
figures                             numbers passed to compiled code
parameters                          its parameters by name, each with a function that multiplies only this one
busier(factor)                      the model with its times on shared resources multiplied, if it states any
later(factor)                       the model with its latencies multiplied, if it states any
stronger(factor)                    the model with the cost of simultaneous messages multiplied, if it states one
described(nodes, links)             the model in words, on a machine with this number of nodes and these links
document(nodes)                     its figures by name: numbers, words, sequences, curves
=================================== ================================================================================
"""

from typing import get_args

from clue.machine.contention.factor import FactorTable
from clue.machine.contention.flows import Flows
from clue.machine.contention.none import NoContention
from clue.machine.contention.ports import Ports

#: Models that a network may state. If code lacks a case for one of them, mypy reports it.
Contention = NoContention | FactorTable | Ports | Flows
#: The number by which compiled code knows a model, by the model's name.
NUMBERS: dict[str, int] = {model.name: number for number, model in enumerate(get_args(Contention))}

__all__ = ["NUMBERS", "Contention", "FactorTable", "Flows", "NoContention", "Ports"]
