"""What every page shows around its content: cluster, freshness, banners, theme."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from scoring import neutral
from scoring.framework.units import write_seconds
from scoring.models import Cluster, Snapshot, Tick

THEMES = ("system", "light", "dark")
THEME_COOKIE = "bandmaster_theme"
MISSED_TICKS = 3  # scores older than this many intervals are called stale


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the scores of a cluster are; times are aware, lengths in seconds."""

    now: datetime
    collected_at: datetime | None
    interval: int

    @property
    def age(self) -> float:
        """Seconds since the collection; 0 when there is none."""
        if self.collected_at is None:
            return 0.0
        return max(0.0, (self.now - self.collected_at).total_seconds())

    @property
    def stale_after(self) -> int:
        return MISSED_TICKS * self.interval

    @property
    def stale(self) -> bool:
        return self.age > self.stale_after

    @property
    def next_in(self) -> int:
        """Seconds until the next collection is due."""
        return max(0, int(self.interval - self.age))

    @property
    def words(self) -> str:
        return write_seconds(self.age)


@dataclass(frozen=True, slots=True)
class NeutralNotice:
    """One source that holds the kill switch, and how it is undone."""

    source: str  # console, environment or file
    reason: str
    by: str = ""
    since: datetime | None = None
    undo: str = ""


@dataclass(frozen=True, slots=True)
class Shell:
    """The state around a cluster's pages."""

    clusters: tuple[Cluster, ...]
    cluster: Cluster
    freshness: Freshness
    version: str
    neutral: tuple[NeutralNotice, ...]
    faults: tuple[str, ...] = ()  # sentences of the newest finished tick


class ShellRequest(HttpRequest):
    """A request that passed `cluster_page`."""

    shell: Shell


def cluster_page(
    view: Callable[[ShellRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Require a login and put the cluster named in the URL on the request."""

    @login_required
    @functools.wraps(view)
    def inner(request: HttpRequest, cluster: str) -> HttpResponse:
        request.shell = load_shell(cluster)  # type: ignore[attr-defined] # ShellRequest
        return view(cast(ShellRequest, request))

    return inner


def load_shell(name: str) -> Shell:
    """One query; raises Http404 when there is no such cluster."""
    clusters = tuple(_heads())
    cluster = next((row for row in clusters if row.name == name), None)
    if cluster is None:
        raise Http404(f"There is no cluster {name!r}.")
    notices = neutral_notices(cluster)
    fresh = freshness(cluster)
    return Shell(
        clusters=clusters,
        cluster=cluster,
        freshness=fresh,
        version=version_tag(cluster, notices, stale=fresh.stale),
        neutral=notices,
        faults=tick_faults(cluster),
    )


def tick_faults(cluster: Cluster) -> tuple[str, ...]:
    """What the newest finished tick complains of; `cluster` comes from `_heads`."""
    found = (
        ("Prometheus", getattr(cluster, "tick_prometheus_error", "")),
        ("API server", getattr(cluster, "tick_cluster_error", "")),
    )
    return tuple(
        f"{part}: {sentence.rstrip('.')}" for part, sentence in found if sentence
    )


def freshness(cluster: Cluster) -> Freshness:
    """`cluster` comes from `_heads`."""
    collected_at: datetime | None = getattr(cluster, "collected_at", None)
    return Freshness(timezone.now(), collected_at, cluster.tick_seconds)


def version_tag(
    cluster: Cluster, notices: tuple[NeutralNotice, ...], *, stale: bool
) -> str:
    """Changes whenever a page of this cluster would look different.

    Holds what the extender must reload, the newest tick with its outcome, the sources
    of the kill switch, which may change without a row, and that nothing came for long:
    a page that stays open must not go on calling a dead worker well.
    """
    facts = (
        getattr(getattr(cluster, "version", None), "counter", 0),
        getattr(cluster, "tick_id", None),
        getattr(cluster, "tick_outcome", None),
        tuple((notice.source, notice.reason) for notice in notices),
        stale,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _heads() -> Any:
    ticks = Tick.objects.filter(cluster=OuterRef("pk")).order_by("-pk")
    # a tick that still runs has nothing to show: it must not make pages reload
    done = ticks.exclude(outcome=Tick.Outcome.RUNNING)
    snapshots = Snapshot.objects.filter(cluster=OuterRef("pk")).order_by("-pk")
    return (
        Cluster.objects.select_related("version")
        .annotate(
            collected_at=Subquery(snapshots.values("collected_at")[:1]),
            tick_id=Subquery(done.values("pk")[:1]),
            tick_outcome=Subquery(done.values("outcome")[:1]),
            tick_prometheus_error=Subquery(done.values("prometheus_error")[:1]),
            tick_cluster_error=Subquery(done.values("cluster_error")[:1]),
        )
        .order_by("pk")
    )


def neutral_notices(cluster: Cluster) -> tuple[NeutralNotice, ...]:
    """Every source that turns neutral answers on, the cluster's own row first."""
    found = []
    if cluster.neutral:
        found.append(
            NeutralNotice(
                "console",
                cluster.neutral_reason,
                cluster.neutral_by,
                cluster.neutral_since,
                "Turn it off on this page or with `manage.py neutral off`.",
            )
        )
    reason = neutral.environment_reason(settings.NEUTRAL)
    if reason is not None:
        undo = "Unset BANDMASTER_NEUTRAL and restart the processes."
        found.append(NeutralNotice("environment", reason, undo=undo))
    reason = neutral.file_reason(settings.DATA_DIR)
    if reason is not None:
        undo = f"Remove the file {neutral.FILE_NAME} from the data directory."
        found.append(NeutralNotice("file", reason, undo=undo))
    return tuple(found)


def theme_of(request: HttpRequest) -> str:
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else THEMES[0]


def shell(request: HttpRequest) -> dict[str, object]:
    """Context processor: the shell of a cluster's page, else only the theme."""
    return {
        "shell": getattr(request, "shell", None),
        "theme": theme_of(request),
        "themes": THEMES,
        "assets": _assets(),
    }


@functools.cache
def _assets() -> str:
    """Names the content of our static files, so that an upgrade is seen at once."""
    digest = hashlib.sha256()
    for name in ("app.css", "live.js"):
        digest.update((Path(settings.BASE_DIR) / "static" / name).read_bytes())
    return digest.hexdigest()[:10]
