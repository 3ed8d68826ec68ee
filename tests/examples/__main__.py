"""Write the output of the examples to their .out files, and run the notebook: ``python -m tests.examples``."""

import tests.conftest  # noqa: F401 - so that what a user has validated here does not count
from tests.examples.notebook import NOTEBOOK, run_notebook, write_notebook
from tests.examples.running import examples, output_of

for file in examples():
    file.with_suffix(".out").write_text(output_of(file))
write_notebook(run_notebook(NOTEBOOK))
