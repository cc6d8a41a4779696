"""An agent's manifest, and the adapter it names."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from wm_core.envs.resolve import resolve_env
from wm_core.errors import PluginError, UsageError
from wm_core.protocols import AgentAdapter, Imagines, Trainable
from wm_core.specs import EnvSpec
from wm_core.testing.agents import AgentUnderTest
from wm_core.testing.faults import ConformanceError, require
from wm_core.testing.manifests import require_api_version, require_light, require_name, require_summary


def check_manifest_is_light(agent: AgentUnderTest) -> None:
    """Importing the manifest imports no learning library."""
    require_light(agent.manifest)


def check_name(agent: AgentUnderTest) -> None:
    """The name is lower-case and plain."""
    require_name(agent.manifest)


def check_api_version(agent: AgentUnderTest) -> None:
    """The manifest speaks this core's contract."""
    require_api_version(agent.manifest)


def check_summary(agent: AgentUnderTest) -> None:
    """The manifest says in a line what the agent is."""
    require_summary(agent.manifest)


def check_presets_differ(agent: AgentUnderTest) -> None:
    """No preset is listed twice."""
    presets = agent.manifest.presets
    require(
        len(set(presets)) == len(presets),
        rule="each preset is listed once",
        seen=f"presets={presets}",
        mend="remove the repeated ones",
    )


def check_devices(agent: AgentUnderTest) -> None:
    """The manifest's devices are kinds, without an index."""
    wrong = [device for device in agent.manifest.devices if device not in ("cpu", "cuda", "mps")]
    require(
        not wrong and bool(agent.manifest.devices),
        rule="devices lists kinds: 'cpu', 'cuda', 'mps'",
        seen=f"devices={agent.manifest.devices}",
        mend="name the kinds the agent runs on",
    )


def check_env_defaults(agent: AgentUnderTest) -> None:
    """`env_defaults` sets fields that an `EnvSpec` has."""
    for backend, fields in agent.manifest.env_defaults.items():
        unknown = sorted(set(fields) - set(EnvSpec.model_fields))
        require(
            not unknown,
            rule="env_defaults maps a backend's name, or '*', to fields of EnvSpec",
            seen=f"env_defaults['{backend}'] sets {', '.join(unknown)}",
            mend="see wm_core.specs.EnvSpec for the fields there are",
        )


def check_demo(agent: AgentUnderTest) -> None:
    """The demo's game is there, and so is its checkpoint."""
    demo = agent.manifest.demo
    if demo is None:
        return
    try:
        resolve_env(demo.game)
    except UsageError as error:
        raise ConformanceError(
            "the demo's game can be played", f"demo.game='{demo.game}': {error}", "name one that is installed"
        ) from error
    if demo.checkpoint is not None:
        package = agent.manifest.adapter.partition(":")[0].partition(".")[0]
        path = Path(str(files(package))) / demo.checkpoint
        require(
            path.exists(),
            rule="the demo's checkpoint lies in the adapter's package",
            seen=f"there is no {path}",
            mend="ship the file as package data, and give its path relative to the package",
        )


def check_adapter(agent: AgentUnderTest) -> None:
    """The adapter imports, is built from a context, and has the methods every agent has."""
    try:
        adapter = agent.fresh()
    except PluginError as error:
        raise ConformanceError(
            "the adapter can be imported", str(error), "mend the import, or 'module:Class' in the manifest"
        ) from error
    require(
        isinstance(adapter, AgentAdapter),
        rule="an adapter has load_checkpoint(path) and evaluate(num_episodes, render=False)",
        seen=f"{type(adapter).__name__} lacks one of them",
        mend="derive it from wm_core.PolicyAdapter, or add what is missing",
    )


def check_capabilities(agent: AgentUnderTest) -> None:
    """The manifest offers what the adapter can do, no more and no less."""
    adapter = agent.fresh()
    able = {"train": isinstance(adapter, Trainable), "imagine": isinstance(adapter, Imagines)}
    for name, can in able.items():
        offered = name in agent.manifest.capabilities
        require(
            can == offered,
            rule=f"'{name}' is among the manifest's capabilities exactly when the adapter has {name}()",
            seen=f"capabilities={agent.manifest.capabilities}, and {name}() is {'there' if can else 'missing'}",
            mend=f"{'add' if can else 'remove'} '{name}'",
        )
