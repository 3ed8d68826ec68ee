"""What a buyer asks beside the order of options: the cheapest in time, where more money goes, cloud or own.

:mod:`.answers` has the values; each question has a module of its own.
"""
