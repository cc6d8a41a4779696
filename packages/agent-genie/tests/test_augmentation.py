"""What the encoder of latent actions is shown."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_genie.augmentation import hide_places


@settings(deadline=None, max_examples=30)
@given(height=st.integers(1, 9), width=st.integers(1, 9), seed=st.integers(0, 2**32))
def test_each_clip_is_rolled_by_one_distance_and_lacks_at_most_one_band(height: int, width: int, seed: int) -> None:
    clips = 0.1 + torch.rand(4, 3, 2, height, width, generator=torch.Generator().manual_seed(0))
    shown = hide_places(clips, np.random.default_rng(seed))
    for clip, seen in zip(clips, shown, strict=True):
        lit = seen.amin(dim=(0, 1, 3)) > 0
        dark = torch.nonzero(seen.amax(dim=(0, 1, 3)) == 0).flatten().tolist()
        assert len(dark) <= height * 3 / 4
        assert not dark or dark == list(range(dark[0], dark[-1] + 1))
        assert int(lit.sum()) + len(dark) == height
        assert any(torch.equal(clip.roll(by, -1)[:, :, lit], seen[:, :, lit]) for by in range(width))


def test_distances_and_bands_differ_between_clips() -> None:
    clips = torch.arange(1.0, 65).reshape(1, 1, 1, 8, 8).expand(32, -1, -1, -1, -1)
    shown = hide_places(clips, np.random.default_rng(0))
    assert len({tuple(each.flatten().tolist()) for each in shown}) > 20


def test_what_is_given_stays_as_it_is() -> None:
    clips = torch.rand(2, 3, 1, 6, 6)
    before = clips.clone()
    hide_places(clips, np.random.default_rng(0))
    assert torch.equal(clips, before)
