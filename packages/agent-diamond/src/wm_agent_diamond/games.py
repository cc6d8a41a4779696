"""Games for which the published results need other values than the rest."""

from __future__ import annotations

from wm_agent_diamond.config import DiamondConfig

OVERRIDES: dict[str, dict[str, float]] = {"ALE/Freeway-v5": {"training.collection.temperature": 0.01}}
"""By game id: settings that differ from the preset's, to be given with `--set`.

Freeway pays only after many steps forward in a row, which a policy that is still uniform never takes; with a low
sampling temperature it holds on to one action (IRIS, Micheli et al. 2023, Appendix H). The authors of DIAMOND say that
their Freeway result was made so.
"""


def advice(game: str, config: DiamondConfig) -> list[str]:
    """A line for each such value that is still the preset's."""
    lines = []
    for name, value in OVERRIDES.get(game, {}).items():
        *groups, last = name.split(".")
        place: object = config
        for group in groups:
            place = getattr(place, group)
        default: object = DiamondConfig()
        for group in groups:
            default = getattr(default, group)
        if getattr(place, last) == getattr(default, last):
            lines.append(
                f"{game}: the published result needs another {name}, and with {getattr(place, last)} the return stays "
                f"0; use --set {name}={value}"
            )
    return lines
