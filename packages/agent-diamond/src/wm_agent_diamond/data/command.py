"""`wmbench diamond-data PATH`: is this data fit to learn from?"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
def check(path: Path) -> int:
    """Check own episodes (npz, HDF5, video with a table of actions): what there is, and what is wrong."""
    from wm_agent_diamond.data.validation import validate

    found = validate(path)
    signs = ", ".join(f"{name} {found.rewards[sign]}" for name, sign in (("< 0", -1), ("0", 0), ("> 0", 1)))
    click.echo(f"{found.episodes} episodes, {found.steps} steps, {found.terminated} terminated")
    click.echo(f"frames: {', '.join(f'{h}x{w}' for h, w in found.sizes) or 'none'}; rewards: {signs}")
    click.echo(f"actions: {', '.join(f'{action}: {count}' for action, count in sorted(found.actions.items()))}")
    for warning in found.warnings():
        click.echo(f"look: {warning}")
    for fault in found.faults:
        click.echo(f"wrong: {fault}", err=True)
    return 2 if found.faults or not found.episodes else 0
