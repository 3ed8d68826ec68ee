"""Runs a Python program on a testbed, and tells the pace when the program's own code has ended: ``program.py FILE …``.

Figures of a whole run otherwise end with MPI's finalisation, before which Python removes all modules and data: 10 to
20 ms of a core here, eight times that on the processors of a testbed. A recording ends with the program's code, too.
"""

import atexit
import ctypes
import sys
import types
from pathlib import Path

sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
atexit.register(ctypes.CDLL(None).clue_testbed_program_ends)
# The program is the module ``__main__``: objects of its own classes cannot be pickled otherwise. Variables keep this
# module and the program's, as all that the program leaves behind must live until Python removes it.
loader, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
program = vars(sys.modules["__main__"])
program["__file__"] = sys.argv[0]
exec(compile(Path(sys.argv[0]).read_text(encoding="utf-8"), sys.argv[0], "exec"), program)
