"""Times of routines on shared computers: measured once, forecast under the current load.

After FAST (Caron, Desprez, Quinson, Suter). A routine is measured in a process of its own (``measuring``, ``worker``),
at sizes chosen adaptively (``adaptive``). Its times are fitted by segments (``segments``, by ``clue.models``); the
memory of its data is an exact polynomial (``memory``). A ``store`` keeps both. The availability of hosts
(``availability``) and the links between them (``routes``) are measured again once they are too old (``figures``), by
asking their ``server``. A ``Forecaster`` combines all of this; ``parallel`` and ``sequence`` build on it.
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
    """Forecast the time of a routine on a host under its current load.

    For frequent queries keep a :class:`Forecaster`, whose answers hold for up to 30 s.

    Args:
        routine: A measured routine: ``dgemm``, or ``module:function``.
        host: Host to run on, a name or ``NAME:PORT`` of its server; by default this computer.
        store: Store of measured routines; by default that of ``clue forecast``.
        token: Token that the host requires, if any.
        sizes: The routine's sizes by name.

    Raises:
        UsageError: If the routine, its sizes or the host are invalid.
        StoreError: If the store is of another version, or damaged.
        ForecastError: If the host cannot run it, has too little memory, or never answered.
    """
    given: Mapping[str, int] = sizes
    with open_store(default_store() if store is None else store) as opened:
        return Forecaster(opened, token).time(routine, given, host)
