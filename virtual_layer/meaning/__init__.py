"""The meaning of MPI calls: from a call's arguments and result to ops. One module per family of calls.

A *prepare* function sees a call before it is made and may add arguments (a status, for instance); a *describe* function
sees it afterwards and writes its ops. Neither communicates with other ranks.
"""
