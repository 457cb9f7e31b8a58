"""Shapes of the API's answers. Units are part of the field names."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from scoring.explain.ranking import AGES, QUALITIES, STATES, RankedRow
from scoring.framework import units
from scoring.models import Cluster, Tick

Fields = serializers.Serializer[Any]


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    class Meta:
        model = Cluster
        fields = (
            "name",
            "window_seconds",
            "tick_seconds",
            "simulated",
            "neutral",
            "neutral_reason",
            "neutral_by",
            "neutral_since",
        )
        read_only_fields = fields


class TickSerializer(serializers.ModelSerializer[Tick]):
    class Meta:
        model = Tick
        fields = (
            "started_at",
            "finished_at",
            "outcome",
            "prometheus_error",
            "cluster_error",
            "warnings",
            "nodes",
            "nodes_with_data",
            "durations",
        )
        read_only_fields = fields


class NodeSerializer(Fields):
    """A ranked node; null is "unknown", never zero."""

    position = serializers.IntegerField(allow_null=True)
    name = serializers.CharField(source="node.name")
    zone = serializers.CharField(source="node.zone")
    pool = serializers.CharField(source="node.pool")
    score = serializers.IntegerField(allow_null=True, help_text="0..100")
    sent = serializers.IntegerField(
        source="priority", allow_null=True, help_text="0..10, as kube-scheduler gets it"
    )
    receive_megabits_per_second = serializers.SerializerMethodField()
    transmit_megabits_per_second = serializers.SerializerMethodField()
    capacity_megabits_per_second = serializers.SerializerMethodField()
    capacity_origin = serializers.CharField(source="node.capacity_origin")
    use_percent = serializers.SerializerMethodField()
    cpu_percent = serializers.SerializerMethodField()
    data_age_seconds = serializers.SerializerMethodField()
    age = serializers.ChoiceField(choices=AGES)
    quality = serializers.ChoiceField(choices=QUALITIES)
    state = serializers.ChoiceField(choices=STATES)
    reason = serializers.CharField(
        help_text="why it is refused, as kube-scheduler gets"
    )
    cause = serializers.CharField(source="node.cause", help_text="why data is missing")

    def get_receive_megabits_per_second(self, row: RankedRow) -> float | None:
        return units.megabits(row.receive)

    def get_transmit_megabits_per_second(self, row: RankedRow) -> float | None:
        return units.megabits(row.transmit)

    def get_capacity_megabits_per_second(self, row: RankedRow) -> float | None:
        return units.megabits(row.capacity)

    def get_use_percent(self, row: RankedRow) -> float | None:
        return units.percent(row.use)

    def get_cpu_percent(self, row: RankedRow) -> float | None:
        return units.percent(row.cpu)

    def get_data_age_seconds(self, row: RankedRow) -> float | None:
        return None if row.sample_at is None else round(row.sample_age, 1)


class RankingSerializer(Fields):
    """One page of a ranking."""

    configuration = serializers.CharField()
    scheduler_name = serializers.CharField()
    revision = serializers.IntegerField()
    collected_at = serializers.DateTimeField()
    age_seconds = serializers.FloatField()
    neutral = serializers.BooleanField()
    count = serializers.IntegerField(help_text="nodes that match")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    nodes = NodeSerializer(many=True)
