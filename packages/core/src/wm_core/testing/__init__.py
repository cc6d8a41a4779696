"""The conformance kit: does a plugin keep the contract?

`check_agent` and `check_env` run every check that applies and raise the first `ConformanceError`. With pytest,
subclass `AgentConformance` or `EnvConformance`: each check is then a test of its own.
"""

from __future__ import annotations

from wm_core.testing.agents import AgentUnderTest
from wm_core.testing.conformance import AgentConformance, EnvConformance, check_agent, check_env
from wm_core.testing.faults import ConformanceError

__all__ = ["AgentConformance", "AgentUnderTest", "ConformanceError", "EnvConformance", "check_agent", "check_env"]
