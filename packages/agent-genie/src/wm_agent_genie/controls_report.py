"""How the controls are written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wm_agent_genie.controls import ControlsReport, GameControls
from wm_core.atomic import write_text

_WAYS = {
    "genie": "cloned on latent actions, mapped to real ones",
    "true_actions": "cloned on true actions (control: what latent actions could reach)",
    "shuffled": "cloned on latent actions of other clips (control: what the rest of the method gives)",
    "random": "random actions (control)",
}


def write(found: ControlsReport, directory: Path) -> None:
    """`genie.json` and `genie.md`, whole or not at all."""
    write_text(directory / "genie.json", found.model_dump_json(indent=2) + "\n")
    write_text(directory / "genie.md", "".join(f"{line}\n" for line in _markdown(found)))


def lines(found: ControlsReport) -> Iterator[str]:
    """A few lines for a terminal."""
    for game in found.games:
        scores = ", ".join(f"{name} {score.mean:.3f}" for name, score in game.scores.items())
        yield f"genie on {game.game}: {scores}, expert's video {game.expert_return}"
        yield (
            f"  dynamics used: no; labels: {game.labels}; fallback rate: {game.fallback_rate:.1%}; "
            "more in genie.md beside the report"
        )
        yield from (f"  warning: {warning}" for warning in game.warnings)


def _markdown(found: ControlsReport) -> Iterator[str]:
    for game in found.games:
        yield f"# Genie on {game.game}, beside its controls"
        yield ""
        yield "| plays | mean return | of each seed |"
        yield "|---|---|---|"
        for name, score in game.scores.items():
            per_seed = ", ".join(f"{each:.3f}" for each in score.per_seed)
            yield f"| {_WAYS[name]} | {score.mean:.3f} | {per_seed} |"
        yield f"| the expert, in the video cloned from | {game.expert_return} | |"
        yield ""
        yield from (f"**Warning: {warning}.**\n" for warning in game.warnings)
        yield from _facts(game)
        yield ""
        if game.world_model:
            yield "| world model, on held-out video | |"
            yield "|---|---|"
            for name, value in game.world_model.items():
                yield f"| {name} | {value:.3f} |"
            yield ""


def _facts(game: GameControls) -> Iterator[str]:
    yield "- dynamics used: no (the policy plays from frames; the world model only dreams)"
    yield f"- seeds {', '.join(map(str, game.seeds))}, {game.scores['genie'].episodes} episodes each"
    yield f"- expert: {game.expert}; its mean return: {game.expert_return}"
    yield f"- world model trained on: {game.video}"
    yield f"- labelled transitions: {game.labels}; fallback rate of the map: {game.fallback_rate:.2%}"
    updates = ", ".join(f"{name} {count}" for name, count in game.cloning_updates.items())
    yield f"- updates of each cloned policy: {updates}"
