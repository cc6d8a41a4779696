"""`wmbench dream`."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from click.testing import CliRunner
from genie_training import trainer
from PIL import Image

from wm_agent_genie.checkpoint import load
from wm_agent_genie.cli_dream import dream
from wm_core.errors import UsageError


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trainer(tmp_path_factory.mktemp("training")).train()


def call(*arguments: object) -> str:
    result = CliRunner().invoke(dream, [str(each) for each in arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_a_gif_holds_the_start_frame_and_one_for_each_action(checkpoint: Path, tmp_path: Path) -> None:
    said = call("-c", checkpoint, "--actions", "0,2,1", "--out", tmp_path / "dream.gif")
    assert "4 frames" in said
    with Image.open(tmp_path / "dream.gif") as film:
        assert getattr(film, "n_frames", 1) <= 4
        assert film.size == (250, 250)


def test_an_mp4_holds_as_many_frames(checkpoint: Path, tmp_path: Path) -> None:
    call("-c", checkpoint, "--actions", "1,1,0,2", "--out", tmp_path / "dream.mp4")
    with av.open(str(tmp_path / "dream.mp4")) as film:
        assert sum(1 for _ in film.decode(video=0)) == 5


def test_it_goes_on_from_a_given_picture_as_imagine_does(checkpoint: Path, tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (10, 10, 3)).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "start.png")
    call("-c", checkpoint, "--actions", "0,2", "--frame", tmp_path / "start.png", "--out", tmp_path / "row.png")
    with Image.open(tmp_path / "row.png") as image:
        row = np.asarray(image)
    acting, _ = load(checkpoint)
    frames = [picture, *acting.agent.imagine(picture, [0, 2], seed=0)]
    assert row.shape == (250, 3 * 250 + 2, 3)
    for index, frame in enumerate(frames):
        np.testing.assert_array_equal(row[::25, index * 251 : index * 251 + 250 : 25], frame)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("--actions", "0,3", "--out", "a.gif"), r"expected numbers in 0\.\.2"),
        (("--actions", "", "--out", "a.gif"), "no latent actions"),
        (("--actions", "0", "--out", "a.webp"), "no known kind"),
        (("--actions", "0", "--out", "a.gif", "--frame", "nowhere.png"), "cannot be read as a picture"),
    ],
)
def test_wrong_options_are_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], match: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=match):
        call("-c", checkpoint, *arguments)


@pytest.mark.parametrize(("option", "value"), [("--seed", 2**63), ("--fps", 101), ("--actions", "9" * 5000)])
def test_a_number_out_of_range_is_refused(checkpoint: Path, tmp_path: Path, option: str, value: object) -> None:
    result = CliRunner().invoke(
        dream, ["-c", str(checkpoint), "--actions", "0", "--out", str(tmp_path / "a.gif"), option, str(value)]
    )
    assert isinstance(result.exception, UsageError | SystemExit)
    assert not (tmp_path / "a.gif").exists()
