"""The data plane's part of the API, read-only."""

from __future__ import annotations

from datetime import UTC, datetime

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from scoring.api.selection import SORTS, Query, select
from scoring.api.serializers import (
    ClusterSerializer,
    RankingSerializer,
    TickSerializer,
)
from scoring.explain.current import is_neutral, policies, rank
from scoring.explain.ranking import AGES, QUALITIES, STATES, Ranking
from scoring.framework.policy import Policy
from scoring.models import Cluster, Tick

MOST_TICKS = 100


class ClusterList(ListAPIView[Cluster]):
    """Every cluster."""

    queryset = Cluster.objects.order_by("pk")
    serializer_class = ClusterSerializer


class ClusterDetail(RetrieveAPIView[Cluster]):
    """One cluster."""

    queryset = Cluster.objects.all()
    serializer_class = ClusterSerializer
    lookup_field = "name"
    lookup_url_kwarg = "cluster"


class TickList(ListAPIView[Tick]):
    """The newest collections, newest first: what failed, and what to do about it."""

    serializer_class = TickSerializer
    queryset = Tick.objects.none()

    def list(self, request: Request, cluster: str) -> Response:
        row = get_object_or_404(Cluster, name=cluster)
        ticks = Tick.objects.filter(cluster=row).order_by("-pk")[:MOST_TICKS]
        return Response(self.get_serializer(ticks, many=True).data)


class NodeRanking(APIView):
    """A page of a cluster's nodes as a policy ranks them."""

    @extend_schema(
        responses=RankingSerializer,
        parameters=[
            OpenApiParameter("scheduler_name", str),
            OpenApiParameter("configuration", str),
            OpenApiParameter("q", str, description="words in the node's name"),
            OpenApiParameter("zone", str),
            OpenApiParameter("pool", str),
            OpenApiParameter("age", str, enum=AGES),
            OpenApiParameter("quality", str, enum=QUALITIES),
            OpenApiParameter("state", str, enum=STATES),
            OpenApiParameter(
                "sort",
                str,
                enum=[sign + name for name in SORTS for sign in ("", "-")],
            ),
            OpenApiParameter("page", int),
        ],
    )
    def get(self, request: Request, cluster: str) -> Response:
        row = get_object_or_404(Cluster, name=cluster)
        params = request.query_params.dict()
        policy = _policy(row, params)
        now = timezone.now().timestamp()
        ranking = rank(row, policy, now=now, neutral=is_neutral(row))
        if ranking is None:
            raise NotFound("Nothing has been collected yet: start the worker.")
        page = _page(ranking, Query.read(params))
        return Response(RankingSerializer(page).data)


def _policy(cluster: Cluster, params: dict[str, str]) -> Policy:
    for policy in policies(cluster):
        name = params.get("scheduler_name", policy.scheduler_name)
        configuration = params.get("configuration", policy.configuration)
        if (policy.scheduler_name, policy.configuration) == (name, configuration):
            return policy
    raise NotFound("No published policy matches: publish a configuration first.")


def _page(ranking: Ranking, query: Query) -> dict[str, object]:
    selection = select(ranking, query)
    at = ranking.snapshot.collected_at
    return {
        "configuration": ranking.policy.configuration,
        "scheduler_name": ranking.policy.scheduler_name,
        "revision": ranking.policy.revision,
        "collected_at": datetime.fromtimestamp(at, UTC),
        "age_seconds": round(max(0.0, ranking.now - at), 1),
        "neutral": ranking.neutral,
        "count": len(selection.numbers),
        "page": selection.page,
        "pages": selection.pages,
        "nodes": list(ranking.rows(selection.shown)),
    }
