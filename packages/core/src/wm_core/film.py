"""`--video`: each cell's first episode as an MP4."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wm_core.errors import UsageError

if TYPE_CHECKING:
    from wm_core.envs.vector import LaneEnvs

_FPS = 15


def require_video() -> None:
    """`UsageError` when the library that writes videos is not installed."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise UsageError("--video needs PyAV: pip install 'wm-core[video]'") from error


class EpisodeFilm:
    """Films lane 0 until its first episode ends. A context manager; without a path it does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._container: Any = None
        self._stream: Any = None

    @classmethod
    def of(cls, wanted: bool, directory: Path, name: str) -> EpisodeFilm:
        """A film of that name, or one that does nothing."""
        if not wanted:
            return cls(None)
        require_video()
        directory.mkdir(exist_ok=True)
        return cls(directory / f"{name}.mp4")

    def __enter__(self) -> EpisodeFilm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def shoot(self, envs: LaneEnvs) -> None:
        """Add lane 0's present frame."""
        if self._path is None:
            return
        import av

        frame = av.VideoFrame.from_ndarray(_even(envs.render(0)), format="rgb24")
        if self._container is None:
            self._container = av.open(str(self._path), "w")
            self._stream = self._container.add_stream("libx264", rate=_FPS)
            self._stream.width, self._stream.height, self._stream.pix_fmt = (
                frame.width,
                frame.height,
                "yuv420p",
            )
        self._container.mux(self._stream.encode(frame))

    def episode_ended(self, episode: int) -> None:
        """Stop when it was the filmed one."""
        if episode == 0:
            self._close()
            self._path = None

    def _close(self) -> None:
        if self._container is not None:
            self._container.mux(self._stream.encode())
            self._container.close()
            self._container = None


def _even(frame: Any) -> Any:
    """H.264 wants even sides: repeat the last row or column where they are odd."""
    import numpy as np

    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
