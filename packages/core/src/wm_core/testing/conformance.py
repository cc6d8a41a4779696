"""All checks at once, or each as a pytest test of its own. Neither needs pytest to be imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from wm_core.plan import DEFAULT_GAME
from wm_core.specs import AgentManifest, EnvManifest
from wm_core.testing.agent_checks import AgentCheck, checks_that_apply
from wm_core.testing.agents import AgentUnderTest
from wm_core.testing.env_checks import EnvCheck, env_checks_that_apply
from wm_core.testing.environments import EnvUnderTest


def check_agent(
    agent: AgentManifest | str,
    *,
    checkpoint: Path | str | None = None,
    game: str = DEFAULT_GAME,
    preset: str | None = None,
    train_steps: int = 100,
    train_overrides: Mapping[str, Any] | None = None,
) -> None:
    """Check an agent, by its manifest or its name; raise the first `ConformanceError`, or what the agent raised.

    Without a `checkpoint`, the one of the demo is used where it plays this game; else fresh weights, and, for an
    agent that trains, those of a training of `train_steps` environment steps. Without a `preset`, the first of
    the manifest is taken, so list the cheapest first.
    """
    with closing(
        AgentUnderTest(
            agent,
            checkpoint=checkpoint,
            game=game,
            preset=preset,
            train_steps=train_steps,
            train_overrides=train_overrides,
        )
    ) as subject:
        for check in checks_that_apply(subject):
            check(subject)


def check_env(env: EnvManifest | str, game: str | None = None, *, seeds_matter: bool = True) -> None:
    """Check a backend, by its manifest or its name, on one of its games; raise the first `ConformanceError`.

    Without a `game`, the first of its ids is taken. Say `seeds_matter=False` of a game without chance.
    """
    subject = EnvUnderTest(env, game=game, seeds_matter=seeds_matter)
    for check in env_checks_that_apply(subject):
        check(subject)


class AgentConformance:
    """Base of a test class. Its subclass sets `manifest` and has one test for each check that applies.

    `class TestConformance(AgentConformance): manifest = MY_MANIFEST`. The other attributes are the arguments of
    `check_agent`.
    """

    manifest: ClassVar[AgentManifest]
    checkpoint: ClassVar[Path | str | None] = None
    game: ClassVar[str] = DEFAULT_GAME
    preset: ClassVar[str | None] = None
    train_steps: ClassVar[int] = 100
    train_overrides: ClassVar[Mapping[str, Any]] = {}
    subject: ClassVar[AgentUnderTest]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "manifest"):
            cls.subject = AgentUnderTest(
                cls.manifest,
                checkpoint=cls.checkpoint,
                game=cls.game,
                preset=cls.preset,
                train_steps=cls.train_steps,
                train_overrides=cls.train_overrides,
            )
            _add_tests(cls, checks_that_apply(cls.subject))

    @classmethod
    def teardown_class(cls) -> None:
        """Delete what the checks wrote."""
        cls.subject.close()


class EnvConformance:
    """Base of a test class. Its subclass sets `manifest` and has one test for each check.

    The other attributes are the arguments of `check_env`.
    """

    manifest: ClassVar[EnvManifest]
    game: ClassVar[str | None] = None
    seeds_matter: ClassVar[bool] = True
    subject: ClassVar[EnvUnderTest]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "manifest"):
            cls.subject = EnvUnderTest(cls.manifest, game=cls.game, seeds_matter=cls.seeds_matter)
            _add_tests(cls, env_checks_that_apply(cls.subject))


def _add_tests(cls: type, checks: Any) -> None:
    for check in checks:
        name = check.__name__.replace("check_", "test_", 1)
        if name not in vars(cls):
            setattr(cls, name, _as_test(check))


def _as_test(check: AgentCheck | EnvCheck) -> Callable[[Any], None]:
    def test(self: Any) -> None:
        check(self.subject)

    test.__doc__ = check.__doc__
    return test
