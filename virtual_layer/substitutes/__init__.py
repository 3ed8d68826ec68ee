"""Live execution, inside a rank's process: communication between ranks goes to the kernel, the rest to the real MPI.

Each rank is a process of its own in which the real MPI library runs alone. Datatypes, packing, statuses, requests,
operations and attributes are the library's; messages to other ranks are ops told to the kernel, which lets one rank run
at a time and decides when it goes on in virtual time. Started by ``python -m virtual_layer.substitutes``.
"""
