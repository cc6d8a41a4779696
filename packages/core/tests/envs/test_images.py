"""Resizing."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from wm_core.envs.images import resize, to_gray

FRAME = np.random.default_rng(0).integers(0, 256, (210, 160, 3), dtype=np.uint8)


def test_each_filter_is_the_library_s() -> None:
    assert np.array_equal(
        resize(FRAME, (64, 48), "cv2-area"), cv2.resize(FRAME, (48, 64), interpolation=cv2.INTER_AREA)
    )
    assert np.array_equal(
        resize(FRAME, (64, 48), "cv2-bilinear"), cv2.resize(FRAME, (48, 64), interpolation=cv2.INTER_LINEAR)
    )
    pillow = np.array(Image.fromarray(FRAME).resize((48, 64), Image.Resampling.BILINEAR))
    assert np.array_equal(resize(FRAME, (64, 48), "pil-bilinear"), pillow)


@settings(max_examples=30, deadline=None)
@given(height=st.integers(1, 40), width=st.integers(1, 40))
def test_nearest_takes_the_pixel_it_says(height: int, width: int) -> None:
    small = FRAME[:20, :15]
    shown = resize(small, (height, width), "nearest")
    expected = [[small[y * 20 // height, x * 15 // width] for x in range(width)] for y in range(height)]
    assert np.array_equal(shown, np.array(expected))


@pytest.mark.parametrize("filter_", ["cv2-area", "cv2-bilinear", "pil-bilinear", "nearest"])
def test_every_filter_resizes_gray_images_and_gives_writable_arrays(filter_: str) -> None:
    shown = resize(FRAME[:, :, 0], (84, 84), filter_)  # type: ignore[arg-type]
    assert shown.shape == (84, 84)
    assert shown.dtype == np.uint8
    assert shown.flags.writeable


def test_an_image_that_has_the_size_is_left_alone() -> None:
    assert resize(FRAME, (210, 160), "pil-bilinear") is FRAME
    assert resize(FRAME, None, "pil-bilinear") is FRAME


def test_gray_is_luma() -> None:
    luma = (FRAME @ [0.299, 0.587, 0.114]).round()
    assert np.abs(to_gray(FRAME).astype(float) - luma).max() <= 1
