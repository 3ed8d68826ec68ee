"""How messages between nodes slow each other down: models, of which a machine has one for all times.

========== =========================================================================================================
none       messages do not slow each other
factor     the CLUE paper's: delays grow with the number of simultaneous communications, by a measured table
ports      each node's send and receive port serve messages in turn, as store-and-forward Ethernet does
flows      links of a topology are shared max-min fairly by the messages that cross them
========== =========================================================================================================

Messages within a node take part in none of them. What they do to messages in virtual time the engines say. All else
that differs by model a model says of itself, so that nobody else asks which one it is; none of it has a default:

=================================== ================================================================================
name                                its key in machine files
speeds_up                           whether a message may be faster than without contention, which is no bound then
keeps_ports                         whether a message keeps the send port of its node and the receive port of the other
topology                            the links that messages share, if any
busy                                how long every message keeps what it shares; ``None``: as its link says
figures                             numbers that compiled code is handed
parameters                          what it states, by name, each with the way to multiply it alone
busier(factor)                      it with messages that keep what they share so many times as long, if it states that
stronger(factor)                    it with simultaneous messages that cost so many times as much, if it states what
described(nodes, links)             it in words, on a machine of so many nodes with such links
document(nodes)                     its figures by name: numbers, words, sequences, curves
=================================== ================================================================================
"""

from typing import get_args

from clue.machine.contention.factor import FactorTable
from clue.machine.contention.flows import Flows
from clue.machine.contention.none import NoContention
from clue.machine.contention.ports import Ports

#: What a network may state. Who uses a rule that one of these lacks is told by mypy.
Contention = NoContention | FactorTable | Ports | Flows
#: The number by which compiled code knows a model, by the model's name.
NUMBERS: dict[str, int] = {model.name: number for number, model in enumerate(get_args(Contention))}

__all__ = ["NUMBERS", "Contention", "FactorTable", "Flows", "NoContention", "Ports"]
