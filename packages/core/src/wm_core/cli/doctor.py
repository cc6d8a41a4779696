"""`wmbench doctor`: is everything here that a measurement needs?"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wm_core import registry
from wm_core.errors import PluginError
from wm_core.protocols import Diagnoses, Diagnosis

_OPTIONAL = {
    "av": ("--video", "pip install 'wm-core[video]'"),
    "matplotlib": ("plots", "pip install 'wm-core[plots]'"),
    "tensorboard": ("training curves in TensorBoard", "pip install tensorboard"),
}
_LEAST_FREE_GB = 1.0


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor(as_json: bool) -> int:
    """Check Python, plugins, ROMs, devices and optional parts; say how to mend what is missing."""
    required = [*_python(), *_disk(), *_plugins(), *_roms(), *_backends()]
    optional = [*_devices(), *_parts()]
    if as_json:
        rows = [d.model_dump() | {"required": d in required} for d in [*required, *optional]]
        click.echo(json.dumps(rows, indent=2))
    else:
        table = Table("", "what", "found", "to mend")
        for diagnosis in [*required, *optional]:
            bad = "[red]x[/red]" if diagnosis in required else "[yellow]-[/yellow]"
            mark = "[green]ok[/green]" if diagnosis.ok else bad
            remedy = "" if diagnosis.ok else diagnosis.remedy
            table.add_row(mark, *map(escape, (diagnosis.name, diagnosis.detail, remedy)))
        Console().print(table)
    return 0 if all(diagnosis.ok for diagnosis in required) else 1


def _python() -> Iterator[Diagnosis]:
    fits = sys.version_info >= (3, 11)
    yield Diagnosis(name="Python", ok=fits, detail=platform.python_version(), remedy="use Python 3.11 or newer")


def _disk() -> Iterator[Diagnosis]:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    yield Diagnosis(
        name="free disk space here",
        ok=free > _LEAST_FREE_GB,
        detail=f"{free:.1f} GB",
        remedy="free some space",
    )


def _plugins() -> Iterator[Diagnosis]:
    kinds: tuple[registry.Kind, ...] = ("agents", "envs", "executors", "hooks")
    for kind in kinds:
        for plugin in registry.plugins(kind):
            if isinstance(plugin, PluginError):
                yield Diagnosis(name=f"plugins: {kind}", ok=False, detail=str(plugin), remedy="see the message")
                continue
            try:
                registry.load(plugin.kind, plugin.name)
                if kind == "agents":
                    registry.load_adapter(plugin.name)
            except PluginError as error:
                yield Diagnosis(
                    name=f"{kind[:-1]} {plugin.name}",
                    ok=False,
                    detail=str(error),
                    remedy="reinstall the plugin",
                )
            else:
                yield Diagnosis(name=f"{kind[:-1]} {plugin.name}", ok=True, detail=plugin.source)


def _roms() -> Iterator[Diagnosis]:
    import ale_py
    from ale_py import roms

    found = len(roms.get_all_rom_ids())
    yield Diagnosis(
        name="Atari ROMs",
        ok=found > 0,
        detail=f"{found} (ale-py {ale_py.__version__})",
        remedy="pip install -U ale-py",
    )


def _backends() -> Iterator[Diagnosis]:
    for name in registry.names("envs"):
        try:
            backend = registry.load_backend(name)
        except PluginError as error:
            yield Diagnosis(name=f"backend {name}", ok=False, detail=str(error), remedy="reinstall the plugin")
            continue
        if isinstance(backend, Diagnoses):
            yield from backend.diagnose()


def _devices() -> Iterator[Diagnosis]:
    if find_spec("torch") is None:
        yield Diagnosis(name="torch", ok=False, detail="not installed", remedy="comes with the first torch agent")
        return
    import torch

    cuda = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    yield Diagnosis(name="torch", ok=True, detail=torch.__version__)
    yield Diagnosis(
        name="CUDA", ok=bool(cuda), detail=", ".join(cuda) or "no device", remedy="none needed: the CPU works"
    )
    if torch.backends.mps.is_available():
        yield Diagnosis(name="MPS", ok=True, detail="available")


def _parts() -> Iterator[Diagnosis]:
    for module, (purpose, remedy) in _OPTIONAL.items():
        there = find_spec(module) is not None
        yield Diagnosis(name=purpose, ok=there, detail=module if there else f"{module} is absent", remedy=remedy)
