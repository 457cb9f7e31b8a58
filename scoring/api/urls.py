from __future__ import annotations

from django.urls import path

from scoring.api import views

urlpatterns = [
    path("clusters", views.ClusterList.as_view(), name="api-clusters"),
    path("clusters/<slug:cluster>", views.ClusterDetail.as_view(), name="api-cluster"),
    path("clusters/<slug:cluster>/ticks", views.TickList.as_view(), name="api-ticks"),
    path(
        "clusters/<slug:cluster>/nodes", views.NodeRanking.as_view(), name="api-nodes"
    ),
]
