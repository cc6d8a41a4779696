"""`--video`: each cell's first episode as an MP4."""

from __future__ import annotations

import logging
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wm_core.errors import StoreError, UsageError

if TYPE_CHECKING:
    from wm_core.envs.vector import LaneEnvs

_log = logging.getLogger("wmbench")

_FPS = 15


def require_video() -> None:
    """`UsageError` when the library that writes videos is not installed."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise UsageError("--video needs PyAV: pip install 'wm-core[video]'") from error


class EpisodeFilm:
    """Films lane 0 until its first episode ends. A context manager; without a path it does nothing.

    A film that fails costs no measurement: it is given up with a logged warning, and what there is of it is removed.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._container: Any = None
        self._stream: Any = None

    @classmethod
    def of(cls, wanted: bool, directory: Path, name: str) -> EpisodeFilm:
        """A film of that name, or one that does nothing. `StoreError` where there can be no such directory."""
        if not wanted:
            return cls(None)
        require_video()
        try:
            directory.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise StoreError(
                f"{directory} is a file, and videos need a directory of that name; move it away, or leave out --video"
            ) from error
        except OSError as error:
            raise StoreError(
                f"cannot make the directory {directory} for videos: {error.strerror}; mend that, or leave out --video"
            ) from error
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
        try:
            self._add(self._path, envs.render(0))
        except Exception as error:  # noqa: BLE001 - a film must not cost a measurement
            self._give_up(error)

    def episode_ended(self, episode: int) -> None:
        """Stop when it was the filmed one."""
        if episode == 0:
            self._close()

    def _add(self, path: Path, picture: Any) -> None:
        import av

        frame = av.VideoFrame.from_ndarray(_even(picture), format="rgb24")
        if self._container is None:
            self._container = av.open(str(path), "w")
            self._stream = self._container.add_stream("libx264", rate=_FPS)
            self._stream.width, self._stream.height, self._stream.pix_fmt = (
                frame.width,
                frame.height,
                "yuv420p",
            )
        self._container.mux(self._stream.encode(frame))

    def _close(self) -> None:
        if self._container is not None:
            try:
                self._container.mux(self._stream.encode())
                self._container.close()
            except Exception as error:  # noqa: BLE001 - a film must not cost a measurement
                self._give_up(error)
        self._path = self._container = None

    def _give_up(self, error: Exception) -> None:
        """Say so, and leave no half film behind that could be taken for a whole one."""
        path, container = self._path, self._container
        self._path = self._container = None
        _log.warning("no film %s: %s: %s", path, type(error).__name__, " ".join(str(error).split()))
        if path is None or container is None:
            return
        try:
            container.close()
        except Exception as failure:  # noqa: BLE001 - the same fault once more
            _log.debug("the film's file did not close: %s", failure)
        try:
            path.unlink(missing_ok=True)
        except OSError as failure:
            _log.warning("%s is not whole, and cannot be removed: %s", path, failure.strerror)


def _even(frame: Any) -> Any:
    """H.264 wants even sides: repeat the last row or column where they are odd."""
    import numpy as np

    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
