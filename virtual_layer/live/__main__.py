"""``python -m virtual_layer.live DESCRIPTOR [TITLE…]``: the process that ranks are forked from."""

import sys

from virtual_layer.live.server import main

main(sys.argv[1:])
