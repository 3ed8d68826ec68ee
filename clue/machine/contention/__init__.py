"""How messages between nodes slow each other down: models; a machine has one throughout a run.

========== =========================================================================================================
none       messages do not slow each other
factor     the CLUE paper's: delays grow with the number of simultaneous communications, by a measured table
ports      each node's send and receive port serve messages one after another, as store-and-forward Ethernet does
flows      messages share the links of a topology max-min fairly
========== =========================================================================================================

No model applies to messages within a node. The engines define what a model does to messages in virtual time. Each
model states everything else about itself, so that no caller asks which model it has; nothing has a default:

=================================== ================================================================================
name                                its key in machine files
speeds_up                           whether contention may make a message faster; if so, its free time is no bound
keeps_ports                         whether a message occupies its sender's send port and its receiver's receive port
topology                            the links that messages share, if any
busy                                how long a message occupies a shared resource; ``None``: as its link says
figures                             numbers passed to compiled code
parameters                          its parameters by name, each with a function that multiplies it alone
busier(factor)                      the model with all times that it states multiplied, if it states any
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

#: Models that a network may state. Where code lacks a rule for one of them, mypy reports it.
Contention = NoContention | FactorTable | Ports | Flows
#: The number by which compiled code knows a model, by the model's name.
NUMBERS: dict[str, int] = {model.name: number for number, model in enumerate(get_args(Contention))}

__all__ = ["NUMBERS", "Contention", "FactorTable", "Flows", "NoContention", "Ports"]
