"""`wmbench new-agent` and `new-env`: write a small, complete distribution to start from."""

from __future__ import annotations

import keyword
import re
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Literal

import click

from wm_core import registry
from wm_core.errors import PluginError, UsageError

_LONGEST_NAME = 40
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATES = Path(__file__).parent.parent / "templates"
_directory = click.option(
    "--directory",
    type=click.Path(path_type=Path),
    default=None,
    help="Where to write it.  [default: named like the distribution]",
)


@click.command()
@click.argument("name")
@_directory
def new_agent(name: str, directory: Path | None) -> None:
    """Write a small, complete distribution with the agent NAME: it learns, and its tests pass."""
    _write("agent", name, directory, f"wmbench run -a {name} --untrained -n 20")


@click.command()
@click.argument("name")
@_directory
def new_env(name: str, directory: Path | None) -> None:
    """Write a small, complete distribution with the environments NAME/*: one to play, and its tests pass."""
    _write("env", name, directory, f"wmbench run -a random -g {name}/Reach-v0 -n 20")


def _write(kind: Literal["agent", "env"], name: str, directory: Path | None, first_run: str) -> None:
    distribution = f"wm-{kind}-{name}"
    target = directory or Path(distribution)
    _check_name(name)
    if target.exists():
        raise UsageError(f"{target} is there already and is not overwritten; choose another --directory")
    _warn_if_taken("agents" if kind == "agent" else "envs", name)
    values = {
        "name": name,
        "distribution": distribution,
        "package": distribution.replace("-", "_"),
        "class_name": "".join(part.capitalize() for part in name.split("-")),
        "core_version": version("wm-core"),
    }
    try:
        written = _render(_TEMPLATES / kind, target, values)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}; choose another --directory") from error
    for file in written:
        click.echo(file)
    click.echo(f"next: cd {target} && pip install -e '.[test]' && pytest && {first_run}")


def _check_name(name: str) -> None:
    if keyword.iskeyword(name):
        raise UsageError(f"'{name}' is a word of Python's own; choose another name")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise UsageError(
            f"'{name}' is no plugin name: expected up to {_LONGEST_NAME} lower-case letters and digits, joined by "
            "single hyphens, with a letter first, e.g. my-agent"
        )


def _warn_if_taken(kind: Literal["agents", "envs"], name: str) -> None:
    if name not in registry.names(kind):
        return
    try:
        owner = registry.find(kind, name).source
    except PluginError as error:
        owner = str(error)
    click.echo(
        f"warning: '{name}' is taken by {owner}; with both installed, neither can be used by that name", err=True
    )


def _render(template: Path, target: Path, values: dict[str, str]) -> list[Path]:
    """Write every file of a template, with the values put in; the files written."""
    written = []
    for source in sorted(template.rglob("*.tmpl")):
        relative = str(source.relative_to(template)).removesuffix(".tmpl").replace("__package__", values["package"])
        path = target / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(source.read_text(encoding="utf-8")).substitute(values), encoding="utf-8")
        written.append(path)
    return written
