"""``python -m virtual_layer.substitutes DESCRIPTOR [TITLE…]``: the process that ranks are forked from."""

import sys

from virtual_layer.own_modules import without_current_folder

with without_current_folder(__name__ == "__main__"):
    from virtual_layer.substitutes.server import main

main(sys.argv[1:])
