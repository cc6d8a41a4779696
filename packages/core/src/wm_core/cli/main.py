"""`wmbench`. Imports click and nothing else: each command is imported when it runs, or asked for help."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import click

COMMANDS = {
    "run": ("wm_core.cli.run:run", "Measure agents in environments."),
    "train": ("wm_core.cli.train:train", "Train an agent; the same command resumes."),
    "suite": ("wm_core.cli.suite:suite", "Measure an agent in a whole benchmark."),
    "compare": ("wm_core.cli.compare:compare", "Is A better than B? Runs or published results."),
    "baselines": ("wm_core.cli.baselines:baselines", "List and import results to compare with."),
    "report": ("wm_core.cli.report:report", "Write the reports of a run directory again."),
    "merge": ("wm_core.cli.merge:merge", "Join run directories of one measurement into one."),
    "agents": ("wm_core.cli.listing:agents", "List the installed agents."),
    "envs": ("wm_core.cli.listing:envs", "List the installed environment backends."),
    "suites": ("wm_core.cli.suites:suites", "List the installed suites."),
    "plugins": ("wm_core.cli.listing:plugins", "List all plugins, and check them."),
    "doctor": ("wm_core.cli.doctor:doctor", "Check Python, plugins, ROMs, devices, optional parts."),
    "new-agent": ("wm_core.cli.new:new_agent", "Write a small, complete agent distribution."),
    "new-env": ("wm_core.cli.new:new_env", "Write a small, complete environment distribution."),
    "schema": ("wm_core.cli.schema:schema", "Print the JSON schema of benchmark_results.json."),
}
HIDDEN = {"run-cell": "wm_core.cli.run_cell:run_cell"}


class LazyGroup(click.Group):
    """Knows its commands by name and one line; imports one when it is called.

    Distributions add commands through the entry-point group `wm.commands`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our commands in order, then those of plugins."""
        return [*COMMANDS, *sorted({e.name for e in entry_points(group="wm.commands")} - set(COMMANDS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name in COMMANDS or cmd_name in HIDDEN:
            reference = COMMANDS[cmd_name][0] if cmd_name in COMMANDS else HIDDEN[cmd_name]
            module, _, attribute = reference.partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        if cmd_name in {e.name for e in entry_points(group="wm.commands")}:
            from wm_core import registry

            plugin: click.Command = registry.load("commands", cmd_name)
            return plugin
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line a command, without importing any."""
        rows = [(name, line) for name, (_, line) in COMMANDS.items()]
        for name in self.list_commands(ctx)[len(COMMANDS) :]:
            owner = next(iter(entry_points(group="wm.commands", name=name))).dist
            rows.append((name, f"(from {owner.name})" if owner else ""))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"wmbench {version('wm-core')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, callback=_print_version, expose_value=False, is_eager=True)
@click.option("--debug", is_flag=True, help="Show tracebacks; may stand anywhere on the line.")
def cli(debug: bool) -> None:
    """Measure world-model agents in real environments.

    wmbench run --agent random            the built-in game\n
    wmbench run -a random -g ALE/Pong-v5  a real one

    Exit codes: 0 done; 1 measured, but not all of it; 2 the command line or an input was wrong.
    """


def main(arguments: list[str] | None = None) -> None:
    """The console script."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if "--debug" in arguments:
        arguments.remove("--debug")
        os.environ["WMBENCH_DEBUG"] = "1"
    sys.exit(_invoke(arguments))


def _invoke(arguments: list[str]) -> int:
    from wm_core.errors import WMBenchError

    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: Any = cli.main(arguments, prog_name="wmbench", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        where = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
        click.echo(f"error: {error.format_message().rstrip('.')}{where}", err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; the same command goes on from here", err=True)
        return 1
    except OSError as error:
        if os.environ.get("WMBENCH_DEBUG"):
            raise
        click.echo(f"error: {error}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except WMBenchError as error:
        if os.environ.get("WMBENCH_DEBUG"):
            raise
        click.echo(f"error: {' '.join(str(error).split())}", err=True)
        return error.exit_code


def _interrupt(number: int, frame: object) -> None:
    """SIGTERM, as batch systems send it, ends a command like Ctrl-C: with a report of what was measured."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
