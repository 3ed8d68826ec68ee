"""Waiting times of jobs on a machine: a mix of jobs, a scheduling policy, and a simulation of the queue.

Nodes are the resource: a job occupies whole nodes, all from its start to its end. :mod:`.reference` defines the
policies, in SimPy; :mod:`.fast` takes the same decisions for millions of jobs.
"""
