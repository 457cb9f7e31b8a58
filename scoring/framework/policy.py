"""A ScoringPolicy as a frozen value: what publish compiles and the extender runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

POLICY_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """One own plugin of a profile, at the points where it is enabled.

    `weight` is the Score weight w_i (at least 1 when `score`, else 0); `args` are the
    operator's arguments, already validated, as plain JSON values.
    """

    name: str
    score: bool = False
    filter: bool = False
    weight: int = 0
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """The compiled rules for the pods of one schedulerName.

    `compiled_revision` is R of COMPILE: the last revision that changed the stock
    document. `revision` and `source_sha256` name the revision these rules come from.
    `total_weight` is W: what the answer is divided by when a call does not say.
    """

    configuration: str
    compiled_revision: int
    revision: int
    source_sha256: str
    scheduler_name: str
    total_weight: int
    plugins: tuple[PluginSpec, ...]
    extended_range: bool = False
    slot: str = "live"
    schema_version: int = POLICY_SCHEMA_VERSION

    @property
    def score_weight(self) -> int:
        """S_p: the sum of the Score weights of this profile's own plugins."""
        return sum(plugin.weight for plugin in self.plugins if plugin.score)


def encode_policy(policy: Policy) -> bytes:
    """The JSON text that is stored."""
    return msgspec.json.encode(policy)


def decode_policy(data: bytes) -> Policy | None:
    """The stored policy, or None when it has a schema version we do not know."""
    version = msgspec.json.decode(data).get("schema_version")
    if version != POLICY_SCHEMA_VERSION:
        return None
    return msgspec.json.decode(data, type=Policy)
