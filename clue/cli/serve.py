"""``clue serve``: serve the report of a comparison as a page on which figures can be changed."""

from __future__ import annotations

import argparse

from clue import __version__
from clue.cli.comparing import check_repeats, predictor_of, sampling_of
from clue.cli.effects import refuse
from clue.cli.serve_arguments import PORT
from clue.cli.terminal import detail, progress, say
from clue.cli.tokens import serving_token
from clue.config.changes import ChangeableScenario
from clue.errors import UsageError
from clue.listening import LOOPBACK
from clue.progress import Reporter
from clue.serving.live import LiveRanking

#: Environment variable of the token, used if no file is named.
_TOKEN = "CLUE_SERVE_TOKEN"


def run(arguments: argparse.Namespace) -> int:
    """Rank, and serve until a signal ends it."""
    try:
        from clue.serving.application import application  # noqa: PLC0415 - its dependencies may be missing
        from clue.serving.running import listener  # noqa: PLC0415 - the same
        from clue.serving.running import run as serve  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise UsageError(f'clue serve must have {package}, got none: pip install "clue[serve]"') from None
    address = arguments.address or LOOPBACK
    token = serving_token(arguments, _TOKEN, address)
    changeable = ChangeableScenario(arguments.config, full=arguments.full)
    name = changeable.scenario.name
    if not arguments.samples:
        refuse(arguments, ["--seed"], "with --samples", "none", name)
    check_repeats(changeable.scenario, arguments)
    with listener(address, PORT if arguments.port is None else arguments.port) as at:
        with progress() as tell:
            live = _ranked(changeable, arguments, tell)
        where = f"[{address}]" if ":" in address else address
        ending = "" if token is None else "?token=TOKEN (with the token in its place)"
        say([f"serving {name} at http://{where}:{at.getsockname()[1]}/{ending}; Ctrl-C ends it"])
        try:
            serve(application(live, token, detail), at)
        finally:
            live.end()
    return 0


def _ranked(changeable: ChangeableScenario, arguments: argparse.Namespace, tell: Reporter) -> LiveRanking:
    sampling, error = sampling_of(arguments)
    live = LiveRanking(
        changeable,
        predictor_of(arguments, tell),
        top=arguments.top,
        sampling=sampling,
        error=error,
        command=arguments.typed,
        by=f"clue {__version__}",
    )
    if live.begin(tell).interrupted:
        raise KeyboardInterrupt  # figures of an incomplete ranking cannot be changed
    return live
