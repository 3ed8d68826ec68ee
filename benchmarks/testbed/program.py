"""Runs a Python program on a testbed, and tells the pace when the program's own code has ended: ``program.py FILE …``.

Figures of a whole run otherwise end with MPI's finalisation, before which Python removes all modules and data: 10 to
20 ms of a core here, eight times that on the processors of a testbed. A recording ends with the program's code, too.
"""

import atexit
import ctypes
import sys
from pathlib import Path

sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
atexit.register(ctypes.CDLL(None).clue_testbed_program_ends)
# In a variable: what the program leaves behind must live until Python removes it.
program = {"__name__": "__main__", "__file__": sys.argv[0]}
exec(compile(Path(sys.argv[0]).read_text(encoding="utf-8"), sys.argv[0], "exec"), program)
