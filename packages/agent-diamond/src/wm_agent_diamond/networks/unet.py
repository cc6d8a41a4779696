"""The U-Net of the denoiser (Ronneberger et al. 2015), conditioned through AdaGN. Section 3.1, Figure 2."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from wm_agent_diamond.networks.blocks import ResBlocks
from wm_agent_diamond.networks.convolutions import Downsample, Upsample


class UNet(nn.Module):
    """Levels of residual blocks down, blocks in the middle, and the levels up again; the last level in goes first."""

    def __init__(
        self,
        channels: Sequence[int],
        residual_blocks: Sequence[int],
        middle_blocks: int,
        condition_dim: int,
        group_size: int,
        *,
        middle_attention: bool,
        fold_upsampling: bool,
    ) -> None:
        super().__init__()
        before = [channels[0], *channels[:-1]]
        down: list[nn.Module] = []
        up: list[nn.Module] = []
        for c1, c2, n in zip(before, channels, residual_blocks, strict=True):
            down.append(ResBlocks([c1, *[c2] * (n - 1)], [c2] * n, condition_dim, group_size))
            up.append(ResBlocks([*[2 * c2] * n, c1 + c2], [*[c2] * n, c1], condition_dim, group_size))
        middle = [channels[-1]] * middle_blocks
        self.d_blocks = nn.ModuleList(down)
        self.mid_blocks = ResBlocks(middle, middle, condition_dim, group_size, attention=middle_attention)
        self.u_blocks = nn.ModuleList(reversed(up))
        self.downsamples = nn.ModuleList([nn.Identity(), *[Downsample(c) for c in channels[:-1]]])
        upsamples = [Upsample(c, folded=fold_upsampling) for c in reversed(channels[:-1])]
        self.upsamples = nn.ModuleList([nn.Identity(), *upsamples])

    def forward(self, x: Tensor, modulations: Sequence[Tensor]) -> Tensor:
        """(B, C_0, H, W) to the same, H and W multiples of 2 ** (levels - 1).

        `modulations` are those of `adaptive_norms(self)`.
        """
        each = iter(modulations)
        skips = []
        for block, downsample in zip(self.d_blocks, self.downsamples, strict=True):
            entering = downsample(x)
            x, outputs = block(entering, each)
            skips.append([entering, *outputs])
        x, _ = self.mid_blocks(x, each)
        for block, upsample, skip in zip(self.u_blocks, self.upsamples, reversed(skips), strict=True):
            x, _ = block(upsample(x), each, skip[::-1])
        return x
