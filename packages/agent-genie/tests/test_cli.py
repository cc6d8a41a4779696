"""`wmbench dataset`, and the controls beside a run's report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from genie_training import trainer

from wm_agent_genie.checkpoint import load
from wm_agent_genie.cli_dataset import dataset
from wm_agent_genie.data.reader import VideoDataset
from wm_agent_genie.measures import MEASURES
from wm_core import BenchmarkRunner
from wm_core.errors import UsageError
from wm_torchkit.checkpoint import write_checkpoint


def call(*arguments: object) -> str:
    result = CliRunner().invoke(dataset, [str(each) for each in arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_collected_video_is_valid_and_has_its_actions(tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = call("collect", "-g", "wm/Catch-v0", "--steps", 50, "--resize", "20x12", "--out", out)
    assert "56 frames of 20x12x3 in 6 episodes, 3 actions" in said
    assert call("validate", out) == said
    assert VideoDataset(out).manifest.game == "wm/Catch-v0"


def test_the_expert_catches_and_random_actions_among_its_own_are_recorded(tmp_path: Path) -> None:
    common = ("collect", "-g", "wm/Catch-v0", "--policy", "expert", "--steps", 180)
    call(*common, "--out", tmp_path / "expert")
    call(*common, "--random-share", 0.5, "--out", tmp_path / "mixed")
    pure, mixed = VideoDataset(tmp_path / "expert"), VideoDataset(tmp_path / "mixed")
    assert pure.manifest.mean_return == 1.0
    assert mixed.manifest.source == "scripted expert, 50% of its actions random"
    assert pure.actions is not None
    assert mixed.actions is not None
    assert (mixed.actions == 1).mean() < (pure.actions == 1).mean()


def test_an_agent_can_be_watched(tmp_path: Path) -> None:
    path = trainer(tmp_path / "training").train()
    out = tmp_path / "out"
    said = call("collect", "-g", "wm/Catch-v0", "--policy", "genie", "-c", path, "--steps", 18, "--out", out)
    assert "10x10x3 in 2 episodes" in said
    assert said.strip().endswith("genie")


def test_files_are_imported(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", obs=np.zeros((5, 8, 8, 3), np.uint8))
    said = call("import", tmp_path / "a.npz", "--key", "frames=obs", "--resize", "4x4", "--out", tmp_path / "out")
    assert "5 frames of 4x4x3 in 1 episodes, no actions" in said


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("--policy", "expert", "-c", "x"), "has no weights"),
        (("--resize", "20"), "not HEIGHTxWIDTH"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, arguments: tuple[str, ...], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        call("collect", "-g", "wm/Catch-v0", "--steps", 9, "--out", tmp_path / "out", *arguments)


def test_a_run_is_reported_with_its_controls(tmp_path: Path) -> None:
    path = trainer(tmp_path / "training").train()
    run = tmp_path / "run"
    report = BenchmarkRunner(agent="genie", out_dir=run).run(
        "wm/Catch-v0", seeds=[0, 2], num_episodes=15, checkpoint=path, device="cpu"
    )
    game = json.loads((run / "genie.json").read_text())["games"][0]
    assert game["dynamics_used"] is False
    assert game["labels"] == 40
    assert 0 <= game["fallback_rate"] <= 1
    assert set(game["scores"]) == {"genie", "true_actions", "shuffled", "random"}
    assert len(set(report.aggregate.per_seed_means)) == 2
    assert game["scores"]["genie"]["per_seed"] == list(report.aggregate.per_seed_means)
    assert {"psnr_persistence", "delta_4_psnr", "latent_action_perplexity"} <= set(game["world_model"])
    page = (run / "genie.md").read_text()
    assert "dynamics used: no" in page
    assert game["expert_return"] in page


def test_latent_actions_that_collapsed_are_warned_about_beside_the_report(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = trainer(tmp_path / "training").train()
    acting, header = load(path)
    acting.measured[MEASURES.index("latent_action_perplexity")] = 1.02
    collapsed = tmp_path / "collapsed.safetensors"
    write_checkpoint(collapsed, header, acting.state_dict())
    BenchmarkRunner(agent="genie", out_dir=tmp_path / "run").run(
        "wm/Catch-v0", seeds=[0], num_episodes=2, checkpoint=collapsed, device="cpu"
    )
    assert "latent actions have collapsed: perplexity 1.02 of at most 3" in (tmp_path / "run" / "genie.md").read_text()
    assert "warning: latent actions have collapsed" in capfd.readouterr().err


def test_the_share_of_actions_that_the_map_did_not_know_is_in_the_report(tmp_path: Path) -> None:
    acting, header = load(trainer(tmp_path / "training").train())
    acting.latent_map.fill(torch.tensor([0]), torch.tensor([1]))
    narrow, run = tmp_path / "narrow.safetensors", tmp_path / "run"
    write_checkpoint(narrow, header, acting.state_dict())
    BenchmarkRunner(agent="genie", out_dir=run).run(
        "wm/Catch-v0", seeds=[0], num_episodes=4, checkpoint=narrow, device="cpu"
    )
    (game,) = json.loads((run / "genie.json").read_text())["games"]
    assert 0 < game["fallback_rate"] < 1
    assert f"fallback rate of the map: {game['fallback_rate']:.2%}" in (run / "genie.md").read_text()


def test_a_run_of_another_agent_has_no_such_page(tmp_path: Path) -> None:
    BenchmarkRunner(agent="random", out_dir=tmp_path).run("wm/Catch-v0", seeds=[0], num_episodes=2)
    assert not (tmp_path / "genie.json").exists()
