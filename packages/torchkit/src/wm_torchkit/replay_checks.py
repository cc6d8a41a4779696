"""What a replay refuses to store, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm_core.errors import UsageError


class RowChecks:
    """Observations and actions of one replay as they are stored, or a `UsageError`."""

    def __init__(
        self,
        frame_shape: tuple[int, int, int] | None,
        vector_dim: int | None,
        num_actions: int | None,
        action_dim: int | None,
    ) -> None:
        if (num_actions is None) == (action_dim is None):
            raise UsageError("give a replay either num_actions (discrete) or action_dim (continuous)")
        if frame_shape is None and vector_dim is None:
            raise UsageError("a replay stores frames (frame_shape), vectors (vector_dim), or both; give one of them")
        self._frame_shape = frame_shape
        self._vector_dim = vector_dim
        self._num_actions = num_actions
        self.action_shape = () if action_dim is None else (action_dim,)

    def observation(
        self, frame: NDArray[np.uint8] | None, vector: NDArray[np.floating] | None
    ) -> dict[str, NDArray[Any]]:
        """Its fields in a row."""
        row: dict[str, NDArray[Any]] = {}
        for name, given, stored in (("frame", frame, self._frame_shape), ("vector", vector, self._vector_dim)):
            if (given is None) != (stored is None):
                this, that = ("without", "one") if given is None else ("with", "none")
                raise UsageError(f"an observation {this} a {name}; this replay stores {that}")
        if frame is not None:
            row["frame"] = self._frame(frame)
        if vector is not None:
            row["vector"] = self._vector(vector)
        return row

    def action(self, action: ArrayLike) -> NDArray[Any]:
        """An action, int64 or float32."""
        given = np.asarray(action)
        if given.shape != self.action_shape:
            raise UsageError(f"an action of shape {given.shape}; this replay holds {self.action_shape}")
        if self._num_actions is None:
            if not (np.issubdtype(given.dtype, np.floating) and np.isfinite(given).all()):
                raise UsageError(f"an action of {given.dtype}, {given.tolist()}; expected finite floats")
            return given.astype(np.float32)
        if not np.issubdtype(given.dtype, np.integer) or not 0 <= int(given) < self._num_actions:
            raise UsageError(f"the action {given.tolist()}; expected an integer in 0..{self._num_actions - 1}")
        return given.astype(np.int64)

    def _vector(self, vector: NDArray[np.floating]) -> NDArray[np.float32]:
        if not isinstance(vector, np.ndarray) or vector.shape != (self._vector_dim,):
            shape = vector.shape if isinstance(vector, np.ndarray) else type(vector).__name__
            raise UsageError(f"a vector of shape {shape}; this replay holds ({self._vector_dim},)")
        if not np.issubdtype(vector.dtype, np.floating) or not np.isfinite(vector).all():
            raise UsageError(f"a vector of {vector.dtype} with {vector.tolist()[:8]}; expected finite floats")
        return vector.astype(np.float32)

    def _frame(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8:
            kind = frame.dtype if isinstance(frame, np.ndarray) else type(frame).__name__
            raise UsageError(
                f"a frame of {kind}; the replay stores uint8 in 0..255. Frames scaled to [0, 1] would become "
                "black: store them before scaling"
            )
        if frame.shape != self._frame_shape:
            raise UsageError(f"a frame of shape {frame.shape}; this replay holds (H, W, C) = {self._frame_shape}")
        return frame
