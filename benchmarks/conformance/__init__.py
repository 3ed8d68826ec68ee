"""mpi4py's own tests and demos under ``clue run``, compared with a real MPI library."""
