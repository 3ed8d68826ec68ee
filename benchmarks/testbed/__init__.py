"""A cluster emulated on one Linux computer, to test predictions on: hosts, links and processors as in a machine file.

Hosts are network namespaces on a bridge, their links are shaped, their processors are slowed, and ranks talk over real
TCP. ``python -m benchmarks.testbed up|run|down MACHINE.yaml``; needs root. It emulates clusters; it predicts nothing.

It can emulate any number of nodes and node types, performance factors (of at least 1: a processor that is slower than
this computer's), processors per node, background loads of whole cores, and a bandwidth for each node type's link. A
truth file beside the machine's can state more: latencies, racks, memory that ranks share, and processors of another
kind (:mod:`benchmarks.testbed.truth`). It cannot emulate tori and trees, or changes during a run. See README.md.
"""
