"""Live execution, inside a rank's process: what crosses ranks goes to the kernel, everything else is the real MPI.

Each rank is a process of its own in which the real MPI library runs alone. Datatypes, packing, statuses, requests,
operations and attributes are its own; messages to other ranks are ops told to the kernel, which lets one rank run
at a time and says when it goes on in virtual time. Started by ``python -m virtual_layer.substitutes``.
"""
