"""How long jobs wait on a machine: a mix of jobs, a policy, and a simulation of the queue.

Nodes are the resource: a job takes whole nodes, all at once, from its start to its end. :mod:`.reference` is the
meaning, in SimPy; :mod:`.fast` takes the same decisions for millions of jobs.
"""
