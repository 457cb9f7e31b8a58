"""The newest snapshot and the newest policies of a cluster, as a ranking."""

from __future__ import annotations

from django.conf import settings

from scoring import neutral as switch
from scoring import snapshot as snapshots
from scoring.explain.ranking import Ranking
from scoring.framework.policy import Policy, decode_policy
from scoring.framework.runtime import PreparedPolicy, prepare
from scoring.models import Cluster, ScoringPolicy
from scoring.plugins import registry


def policies(cluster: Cluster) -> tuple[Policy, ...]:
    """The newest live policy of each (configuration, schedulerName); one query."""
    found: dict[tuple[str, str], Policy] = {}
    for row in ScoringPolicy.objects.for_extender(cluster):
        key = (row.configuration, row.scheduler_name)
        if key in found:
            continue
        policy = decode_policy(bytes(row.document))
        if policy is not None:
            found[key] = policy
    return tuple(found.values())


def rank(
    cluster: Cluster, policy: Policy, *, now: float, neutral: bool = False
) -> Ranking | None:
    """None while nothing has been collected. At most two queries."""
    snapshot = snapshots.latest(cluster)
    if snapshot is None:
        return None
    plugins = tuple((spec, registry.build(spec)) for spec in policy.plugins)
    key = (cluster.pk, policy.configuration, policy.scheduler_name)
    prepared = prepare(
        policy, plugins, snapshot, None, now=now, previous=_previous.get(key)
    )
    _previous[key] = prepared
    return Ranking(policy, prepared, snapshot, now, neutral)


def is_neutral(cluster: Cluster) -> bool:
    """Whether any source of the kill switch that this process sees is on."""
    return (
        cluster.neutral
        or switch.environment_reason(settings.NEUTRAL) is not None
        or switch.file_reason(settings.DATA_DIR) is not None
    )


# what was refused before stays refused until it has cooled down: as in the extender
_previous: dict[tuple[int, str, str], PreparedPolicy] = {}
