"""What routines take on computers that are shared: measured once, forecast under the load of the moment.

After FAST (Caron, Desprez, Quinson, Suter). A routine's times are fitted by segments (``segments``, by
``clue.models``), at sizes that are chosen while they are measured (``adaptive``), in a process of its own
(``measuring``, ``worker``); the memory of its data is an exact polynomial (``memory``). A ``store`` keeps them. What
hosts have left (``availability``) and what lies between them (``routes``) is measured again once it is too old
(``figures``), by asking their ``server``. A ``Forecaster`` puts both together; ``parallel`` and ``sequence``
build on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clue.forecasting.forecaster import Forecast, Forecaster
from clue.forecasting.store import Store, default_store, open_store

__all__ = ["Forecast", "Forecaster", "Store", "default_store", "forecast", "open_store"]


def forecast(
    routine: str, host: str | None = None, *, store: str | Path | None = None, token: str | None = None, **sizes: int
) -> Forecast:
    """Return what a routine will take on a host under the load that there is.

    Who asks often keeps a :class:`Forecaster`, whose answers hold for up to 30 s.

    Args:
        routine: One that was measured: ``dgemm``, or ``module:function``.
        host: Where it is to run, a name or ``NAME:PORT`` of a host that serves; left out: here.
        store: Where measured routines are kept; left out: where ``clue forecast`` keeps them.
        token: What the host wants to be told, if anything.
        sizes: The routine's sizes by name.

    Raises:
        UsageError: If the routine, its sizes or the host are no such things.
        StoreError: If the store is of another version, or damaged.
        ForecastError: If the host cannot run it, has too little memory, or does not answer and never did.
    """
    given: Mapping[str, int] = sizes
    with open_store(Path(store) if store is not None else default_store()) as opened:
        return Forecaster(opened, token).time(routine, given, host)
