"""`wmbench minecraft --minecraft-python PYTHON COMMAND ...`: any command of wmbench, given the game's interpreter."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from wm_env_minecraft.interpreter import VARIABLE, game_python


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--minecraft-python", metavar="PYTHON", help=f"Interpreter that has the game.  [default: ${VARIABLE}]")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def minecraft(minecraft_python: str | None, command: Sequence[str]) -> int:
    """Run a wmbench COMMAND whose Minecraft lives in another Python.

    wmbench minecraft --minecraft-python venv/bin/python run -a random -g MineRLTreechop-v0 -n 2
    """
    from wm_core.cli.main import cli

    os.environ[VARIABLE] = str(game_python(minecraft_python))
    code = cli.main(list(command), prog_name="wmbench", standalone_mode=False)
    return code if isinstance(code, int) else 0
