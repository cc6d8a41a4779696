"""How figures look: column width, legible type, colours that the colour-blind tell apart, vectors beside pixels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wm_core.errors import StoreError, UsageError

COLUMN_INCHES = 3.4
PAGE_INCHES = 7.0
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's palette, its yellow left out: it is too pale on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")

_RC: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": None,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 8,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def pyplot() -> Any:
    """`matplotlib.pyplot`, without a window where nobody has chosen a backend.

    Raises `UsageError` where it is missing or does not load.
    """
    if not can_draw():
        raise UsageError("figures need matplotlib: pip install 'wm-core[plots]'")
    try:
        import matplotlib
    except ImportError as error:
        raise UsageError(
            f"matplotlib is installed and does not load ({error}); install it again: pip install 'wm-core[plots]'"
        ) from error

    if "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


@contextmanager
def style() -> Iterator[None]:
    """Figures made and saved inside look alike."""
    import matplotlib
    from cycler import cycler

    with matplotlib.rc_context({**_RC, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def look(place: int) -> dict[str, Any]:
    """Colour, marker and dashes of the agent at a place: no two of 32 share all three."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
    }


def save(figure: Any, stem: Path) -> list[Path]:
    """Write `stem.pdf` (vectors, type embedded) and `stem.png` (300 dots an inch) and close the figure; their paths.

    Equal figures give equal files: no date is written into them. `StoreError` where they cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}.pdf"), stem.with_name(f"{stem.name}.png")]
    dateless = {".pdf": {"CreationDate": None, "ModDate": None}, ".png": {"Software": None}}
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        for path in paths:
            figure.savefig(path, dpi=300, bbox_inches="tight", pad_inches=0.02, metadata=dateless[path.suffix])
    except OSError as error:
        raise StoreError(f"cannot write figures to {stem.parent}: {error.strerror or error}") from error
    finally:
        pyplot().close(figure)
    return paths
