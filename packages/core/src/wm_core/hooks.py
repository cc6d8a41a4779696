"""What cuts across agents and environments. A plugin in `wm.hooks` is a module or object with some of these."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pluggy

from wm_core import registry
from wm_core.errors import PluginError
from wm_core.specs import Cell, EpisodeRecord, FailureRecord, RunReport, RunSpec

spec = pluggy.HookspecMarker("wmbench")
hookimpl = pluggy.HookimplMarker("wmbench")
_log = logging.getLogger("wmbench")


class HookSpecs:
    """The hooks. All run in the process that runs the command, never in a cell's."""

    @spec
    def wm_run_started(self, run: RunSpec, directory: Path) -> None:
        """A run begins or goes on."""

    @spec
    def wm_cell_started(self, cell: Cell) -> None:
        """A cell is about to be measured."""

    @spec
    def wm_episode_finished(self, record: EpisodeRecord) -> None:
        """An episode was recorded."""

    @spec
    def wm_cell_finished(self, cell: Cell, failures: list[FailureRecord]) -> None:
        """A cell has ended, with what failed in it."""

    @spec
    def wm_run_finished(self, report: RunReport, directory: Path) -> None:
        """The report has been written; a reporter writes its own files here."""


class Hooks:
    """Calls every hook plugin; one that fails is named in the log, and the run goes on."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("wmbench")
        self._manager.add_hookspecs(HookSpecs)
        for name in registry.names("hooks"):
            try:
                self._manager.register(registry.load("hooks", name), name)
            except (PluginError, pluggy.PluginValidationError, ValueError) as error:
                _log.error("hook plugin '%s' is left out: %s", name, error)

    def call(self, hook: str, **arguments: Any) -> None:
        """Call `hook` on each plugin that has it."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            chosen = {name: arguments[name] for name in implementation.argnames}
            try:
                implementation.function(**chosen)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody's plugin must not cost a measurement
                _log.error("hook plugin '%s' failed in %s: %s", implementation.plugin_name, hook, error)
