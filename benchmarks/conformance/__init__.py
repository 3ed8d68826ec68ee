"""mpi4py's own tests and demos under ``clue run``, beside a real MPI library."""
