"""How far predictions are off: one module or package for each study, whose page stands beside it; see README.md."""
