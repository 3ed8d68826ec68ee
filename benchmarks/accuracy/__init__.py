"""Studies of prediction errors: one module or package per study, with its page of results beside it; see README.md."""
