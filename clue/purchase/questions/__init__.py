"""Further questions of a buyer: the cheapest option in time, the best use of more money, cloud or own machine.

:mod:`.answers` has the values; each question has its own module.
"""
