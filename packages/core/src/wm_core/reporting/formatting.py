"""Numbers and names as they stand in tables, before any markup."""

from __future__ import annotations

import math
from collections.abc import Iterable

from wm_core.specs import Interval

NONE = "—"
HNS_DECIMALS = 3


def one_line(text: str) -> str:
    """`text` on one line: runs of white space become one space, what cannot be seen becomes `<U+XXXX>`."""
    visible = (c if c.isprintable() or c.isspace() else codepoint(c) for c in text)
    return " ".join("".join(visible).split())


def codepoint(character: str) -> str:
    """`<U+4E2D>`: a character that cannot be printed as it is."""
    return f"<U+{ord(character):04X}>"


def decimals_for(values: Iterable[float | None]) -> int:
    """Decimals that suit returns of this size: 1 from 100 up, 2 below; below 0.1 two significant digits, at most 6."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if largest >= 100:
        return 1
    if largest >= 0.1 or largest == 0:
        return 2
    return min(6, 1 - math.floor(math.log10(largest)))


def number(value: float | None, decimals: int) -> str:
    """`-20.70`; scientific from 10 million up; an em dash for None."""
    if value is None:
        return NONE
    if abs(value) >= 1e7:
        return f"{value:.3e}"
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text


def estimate(mean: float | None, std: float | None, decimals: int) -> str:
    """`12.30 ± 0.41`; the mean alone where there is no spread."""
    if mean is None or std is None:
        return number(mean, decimals)
    return f"{number(mean, decimals)} ± {number(std, decimals)}"


def bounds(interval: Interval, decimals: int) -> str:
    """`[11.90, 12.70]`, or an em dash where no interval is given."""
    if interval.lo is None or interval.hi is None:
        return NONE
    return f"[{number(interval.lo, decimals)}, {number(interval.hi, decimals)}]"


def percent(level: float) -> str:
    """`95%`."""
    return f"{100 * level:g}%"


def listing(items: Iterable[object], limit: int = 6) -> str:
    """`a, b, c and 4 more`."""
    words = [str(item) for item in items]
    rest = f" and {len(words) - limit} more" if len(words) > limit else ""
    return ", ".join(words[:limit]) + rest
