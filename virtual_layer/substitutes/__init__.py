"""Live execution, inside a rank's process: communication between ranks goes to the kernel, the rest to the real MPI.

Each rank is a separate process in which the real MPI library runs alone. The library handles datatypes, packing,
statuses, requests, operations and attributes. Messages to other ranks are ops sent to the kernel, which lets one rank
run at a time and decides when it continues in virtual time. Started by ``python -m virtual_layer.substitutes``.
"""
