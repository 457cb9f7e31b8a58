"""The first page of a cluster, and the poll that tells when it has changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.models import SchedulerConfiguration
from console.views.components import components
from console.views.shell import ShellRequest, cluster_page, load_shell
from scoring.api.ranking import REFUSED, RankedRow, Ranking, policies, rank
from scoring.framework.types import Age
from scoring.models import Cluster, Tick

_EXTREMES = 5
_BUCKETS = 10


@dataclass(frozen=True, slots=True)
class Bucket:
    """Nodes with a score in low..high; `x`, `y`, `height` draw it in a 100 x 40 box."""

    low: int
    high: int
    count: int
    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """Figures of a whole ranking."""

    nodes: int
    eligible: int
    refused: int
    without_data: int
    ageing: int
    spread: tuple[Bucket, ...]
    hottest: tuple[RankedRow, ...]
    quietest: tuple[RankedRow, ...]


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """`/` leads to the first cluster."""
    first = Cluster.objects.order_by("pk").first()
    if first is not None:
        return redirect("overview", first.name)
    sentence = "Run `python manage.py bootstrap`: it makes the first cluster."
    context = {"heading": "There is no cluster yet", "sentence": sentence}
    return render(request, "sentence.html", context)


@require_safe
@cluster_page
def overview(request: ShellRequest) -> HttpResponse:
    """State of every part with its effect, and the fleet at a glance."""
    cluster = request.shell.cluster
    found = policies(cluster)
    now = request.shell.freshness.now.timestamp()
    ranking = rank(cluster, found[0], now=now) if found else None
    context = {
        "page": "overview",
        "components": components(cluster, neutral=bool(request.shell.neutral)),
        "configurations": _heads(cluster),
        "policies": found,
        "ranking": ranking,
        "warnings": _warnings(cluster),
        "fleet": None if ranking is None else fleet(ranking),
    }
    return render(request, "console/overview.html", context)


def _heads(cluster: Cluster) -> list[SchedulerConfiguration]:
    rows = SchedulerConfiguration.objects.filter(cluster=cluster, head__isnull=False)
    return list(rows.select_related("head").order_by("name"))


def _warnings(cluster: Cluster) -> list[str]:
    done = Tick.objects.filter(cluster=cluster).exclude(outcome=Tick.Outcome.RUNNING)
    newest: list[str] | None = (
        done.order_by("-pk").values_list("warnings", flat=True).first()
    )
    return newest or []


def fleet(ranking: Ranking) -> Fleet:
    """Hottest and quietest are judged by use, among eligible nodes with fresh data."""
    rows = ranking.eligible
    ages = Counter(ranking.ages[row] for row in rows)
    known = [
        int(row)
        for row in rows
        if ranking.ages[row] in {Age.FRESH, Age.AGEING}
        and not np.isnan(ranking.use[row])
    ]
    known.sort(key=lambda row: float(ranking.use[row]))
    states = Counter(ranking.state(int(row)) for row in rows)
    return Fleet(
        nodes=len(ranking),
        eligible=len(rows),
        refused=states[REFUSED],
        without_data=ages[Age.MISSING] + ages[Age.EXPIRED],
        ageing=ages[Age.AGEING],
        spread=_spread(ranking),
        hottest=tuple(ranking.rows(reversed(known[-_EXTREMES:]))),
        quietest=tuple(ranking.rows(known[:_EXTREMES])),
    )


def _spread(ranking: Ranking) -> tuple[Bucket, ...]:
    scores = ranking.scores[~np.isnan(ranking.scores)]
    if not scores.size:
        return ()
    counts, _ = np.histogram(scores, bins=_BUCKETS, range=(0, 100))
    most = max(1, int(counts.max()))
    step = 100 // _BUCKETS
    return tuple(
        Bucket(
            low=i * step,
            high=100 if i == _BUCKETS - 1 else (i + 1) * step - 1,
            count=int(count),
            x=i * step + 0.5,
            y=round(40 - 40 * int(count) / most, 2),
            height=round(40 * int(count) / most, 2),
        )
        for i, count in enumerate(counts)
    )


@never_cache
@require_safe
def version(request: HttpRequest, cluster: str) -> HttpResponse:
    """204 while the tag `v` is current, else the new tag; 401 logged out."""
    if not request.user.is_authenticated:
        return JsonResponse({"detail": "You are logged out."}, status=401)
    tag = load_shell(cluster).version
    if request.GET.get("v") == tag:
        return HttpResponse(status=204)
    return JsonResponse({"version": tag})
