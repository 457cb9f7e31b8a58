"""What the data plane holds, to look at; the console's services write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from scoring.models import Cluster, ScoringPolicy, Snapshot, Tick

if TYPE_CHECKING:  # the class takes a parameter in its stubs only
    AnyModelAdmin = admin.ModelAdmin[Model]
else:
    AnyModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(AnyModelAdmin):
    """Rows to look at; nobody adds, changes or deletes them, superusers included."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False


@admin.register(Cluster)
class ClusterAdmin(ReadOnlyAdmin):
    list_display = ("name", "extender_url", "window_seconds", "tick_seconds", "neutral")


@admin.register(ScoringPolicy)
class ScoringPolicyAdmin(ReadOnlyAdmin):
    list_display = (
        "configuration",
        "compiled_revision",
        "scheduler_name",
        "revision",
        "slot",
        "created_at",
    )
    exclude = ("document",)


@admin.register(Tick)
class TickAdmin(ReadOnlyAdmin):
    list_display = ("cluster", "fence", "started_at", "outcome", "nodes_with_data")
    list_filter = ("outcome",)


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("id", "cluster", "collected_at")
    exclude = ("blob",)
