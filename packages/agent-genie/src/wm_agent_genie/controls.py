"""The controls that a score of Genie is read against, played with the run's own seeds and episodes.

Latent actions are worth something only where the policy cloned on them does about as well as the same network cloned
on true actions, and better than on latent actions of other clips, and than random play. Section 3.3.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
from pydantic import Field, FiniteFloat

from wm_agent_genie.acting import STUDENTS
from wm_agent_genie.checkpoint import load
from wm_agent_genie.measures import MEASURES, UNMEASURED
from wm_agent_genie.metrics.codes import collapse_warning
from wm_agent_genie.player import GeniePlayer
from wm_agent_genie.video_sources import random_policy
from wm_core.envs.vector import LaneEnvs, make_vector
from wm_core.protocols import Acts
from wm_core.rollout import rollout
from wm_core.specs import Cell, GameResult, RunReport, Spec
from wm_core.store import RunDirectory


class Score(Spec):
    """What one way of playing returned."""

    mean: FiniteFloat
    per_seed: tuple[FiniteFloat, ...]
    episodes: int = Field(description="Of each seed")


class GameControls(Spec):
    """Everything that a score on one game is read against."""

    game: str
    seeds: tuple[int, ...]
    dynamics_used: bool = Field(False, description="The policy plays from frames; the world model dreams, not plays")
    expert: str = Field(description="Whose video the policy is cloned from")
    expert_return: str = Field(description="Mean of that video's whole episodes")
    video: str = Field(description="What the world model was trained on")
    labels: int = Field(description="Labelled transitions behind the map from latent to real actions")
    fallback_rate: float = Field(description="Share of actions drawn at random because the map was empty there")
    cloning_updates: dict[str, int]
    scores: dict[str, Score] = Field(description="Of 'genie', 'true_actions', 'shuffled' and 'random'")
    world_model: dict[str, float] = Field(description="Measures on held-out video, at the training's last evaluation")
    warnings: tuple[str, ...] = Field(description="What a reader of these figures must know")


class ControlsReport(Spec):
    """Beside the report of a run."""

    format: str = "wmbench.genie-controls/1"
    spec_sha256: str
    games: tuple[GameControls, ...]


def measure_controls(report: RunReport, directory: Path) -> ControlsReport:
    """Play the controls of each game whose checkpoints are known; with each seed its own where it was trained here."""
    run = RunDirectory.attach(directory)
    games = []
    for game in report.games:
        paths = {}
        for seed in (each.seed for each in game.seeds if each.episode_returns):
            trained = run.trained(Cell(agent=report.agent, game=game.env.id, seed=seed))
            known = game.checkpoint or (trained.checkpoint if trained else None)
            if known is not None:
                paths[seed] = Path(known.path)
        if paths:
            games.append(_of_game(game, paths, report.device))
    return ControlsReport(spec_sha256=report.spec_sha256, games=tuple(games))


def _of_game(game: GameResult, paths: dict[int, Path], device: str) -> GameControls:
    episodes = game.seeds[0].planned
    returns: dict[str, list[float]] = {name: [] for name in (*STUDENTS, "random")}
    decisions = fallbacks = 0
    loaded = {path: load(path, device) for path in sorted(set(paths.values()))}
    for seed, path in paths.items():
        acting, _ = loaded[path]
        for student in STUDENTS:
            with closing(make_vector(game.env, 1)) as lanes:
                spaces = lanes.single_observation_space, lanes.single_action_space
                player = GeniePlayer(acting, *spaces, student)
                returns[student].append(_mean_return(player, lanes, seed, episodes))
            if student == "genie":
                decisions, fallbacks = decisions + player.decisions, fallbacks + player.fallbacks
        with closing(make_vector(game.env, 1)) as lanes:
            returns["random"].append(_mean_return(random_policy(game.env), lanes, seed, episodes))
    acting, header = loaded[paths[min(paths)]]
    taken = dict(zip(MEASURES, acting.measured.tolist(), strict=True))
    measured = {name: value for name, value in taken.items() if value != UNMEASURED}
    used = measured.get("latent_action_perplexity")
    collapsed = None if used is None else collapse_warning(used, acting.agent.config.latent_actions.actions)
    return GameControls(
        game=game.env.id,
        seeds=tuple(paths),
        expert=header.notes.get("expert", "not known"),
        expert_return=header.notes.get("expert_return", "not known"),
        video=header.notes.get("video", "not known"),
        labels=acting.latent_map.labels,
        fallback_rate=fallbacks / max(1, decisions),
        cloning_updates=dict(zip(STUDENTS, map(int, acting.cloned.tolist()), strict=True)),
        scores={
            name: Score(mean=float(np.mean(each)), per_seed=tuple(each), episodes=episodes)
            for name, each in returns.items()
        },
        world_model=measured,
        warnings=() if collapsed is None else (collapsed,),
    )


def _mean_return(player: Acts, lanes: LaneEnvs, seed: int, episodes: int) -> float:
    return float(np.mean([each.episode_return for each in rollout(player, lanes, seed, range(episodes))]))
