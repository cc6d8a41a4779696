"""Films that fail, and options that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.cli.options import parse_assignments
from wm_core.errors import EnvironmentFailure, StoreError, UsageError
from wm_core.film import EpisodeFilm


class Pictures:
    """Lanes that render what they are told to."""

    def __init__(self, *pictures: Any) -> None:
        self.pictures = list(pictures)

    def render(self, lane: int) -> Any:
        picture = self.pictures.pop(0)
        if isinstance(picture, Exception):
            raise picture
        return picture


SOUND = np.zeros((32, 32, 3), np.uint8)


def shoot(directory: Path, *pictures: Any) -> Path:
    """Film those pictures as episode 0; where the film should be."""
    envs: Any = Pictures(*pictures)
    with EpisodeFilm.of(True, directory, "a") as film:
        for _ in pictures:
            film.shoot(envs)
        film.episode_ended(0)
    return directory / "a.mp4"


def test_a_film_holds_the_pictures_of_the_first_episode(tmp_path: Path) -> None:
    import av

    with av.open(str(shoot(tmp_path, SOUND, SOUND, SOUND))) as film:
        assert sum(1 for _ in film.decode(video=0)) == 3


def test_a_file_in_the_place_of_the_videos_is_named(tmp_path: Path) -> None:
    (tmp_path / "videos").write_text("mine")
    with pytest.raises(StoreError, match=r"videos is a file.*move it away, or leave out --video"):
        EpisodeFilm.of(True, tmp_path / "videos", "a")
    assert (tmp_path / "videos").read_text() == "mine"


def test_a_directory_that_cannot_be_made_for_videos_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot make the directory .*videos for videos: No such file"):
        EpisodeFilm.of(True, tmp_path / "missing" / "videos", "a")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (EnvironmentFailure("lane 0 did not render", 0), "EnvironmentFailure: lane 0 did not render"),
        (np.zeros((32, 32, 3), np.float64), "ValueError: "),
    ],
    ids=["the environment", "the encoder"],
)
@pytest.mark.parametrize("before", [0, 1])
def test_a_film_that_fails_is_a_warning_and_leaves_no_half_film(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: Any, cause: str, before: int
) -> None:
    path = shoot(tmp_path, *[SOUND] * before, fault, SOUND)
    assert [record.name for record in caplog.records if record.levelname == "WARNING"] == ["wmbench"]
    assert f"no film {path}: {cause}" in caplog.text
    assert not path.exists()


def test_a_film_whose_place_is_taken_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.mp4").mkdir()
    assert shoot(tmp_path, SOUND, SOUND).is_dir()
    assert caplog.text.count("no film") == 1


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
@pytest.mark.parametrize("closed", [True, False])
def test_endless_nesting_is_refused(bracket: str, closed: bool) -> None:
    text = "options=" + bracket * 100_000 + ("1" + ("]" if bracket == "[" else "}") * 100_000 if closed else "")
    with pytest.raises(UsageError, match="nested too deeply; expected at most 32 levels") as error:
        parse_assignments([text], "--env")
    assert len(str(error.value)) < 200


def test_nesting_is_refused_above_32_levels_only() -> None:
    assert parse_assignments(["a=" + "[" * 32 + "]" * 32], "--env")
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_assignments(["a=" + "[" * 33 + "1" + "]" * 33], "--env")


@pytest.mark.parametrize(
    "text", [r'options={"a":"\ud800"}', r'options={"\udfff":1}', 'a="\\ud800"', "a=\udcff", "\udcff=1"], ids=ascii
)
def test_text_that_is_not_unicode_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not valid Unicode text") as error:
        parse_assignments([text], "--env")
    assert str(error.value).encode()


@pytest.mark.parametrize("text", ["a=NaN", 'options={"a":-Infinity}', "a=1e999"])
def test_numbers_that_json_cannot_write_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is NaN or infinite"):
        parse_assignments([text], "--env")


def test_an_integer_of_too_many_digits_is_refused() -> None:
    with pytest.raises(UsageError, match="an integer of too many digits"):
        parse_assignments(["a=" + "1" * 5000], "--env")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_any_value_is_read_as_json_or_as_text_or_refused(value: str) -> None:
    try:
        read = parse_assignments([f"a={value}"], "--env")
    except UsageError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either outcome is right
        return
    assert set(read) == {"a"}
