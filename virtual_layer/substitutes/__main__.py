"""``python -m virtual_layer.substitutes DESCRIPTOR [TITLE…]``: the process that ranks are forked from."""

import sys

from virtual_layer.substitutes.server import main

main(sys.argv[1:])
