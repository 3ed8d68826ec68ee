"""What MPI calls mean: from a call's arguments and result to ops. One module per family of calls.

A *prepare* function sees a call before it happens and may ask more of it (a status, for instance); a *describe*
function sees it afterwards and writes its ops. Neither talks to another rank.
"""
