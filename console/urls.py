from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView

from console.views import accounts, neutral, nodes, overview

handler400 = "console.views.faults.bad_request"
handler403 = "console.views.faults.forbidden"
handler404 = "console.views.faults.not_found"
handler500 = "console.views.faults.failed"

urlpatterns = [
    path("", overview.home, name="home"),
    path("login", accounts.Login.as_view(), name="login"),
    path("logout", accounts.Logout.as_view(), name="logout"),
    path("password", accounts.Password.as_view(), name="password"),
    path("theme", accounts.theme, name="theme"),
    path("c/<slug:cluster>/", overview.overview, name="overview"),
    path("c/<slug:cluster>/version", overview.version, name="version"),
    path("c/<slug:cluster>/neutral", neutral.neutral, name="neutral"),
    path("c/<slug:cluster>/nodes", nodes.nodes, name="nodes"),
    path("c/<slug:cluster>/nodes.csv", nodes.nodes_csv, name="nodes-csv"),
    path("api/v1/", include("scoring.api.urls")),
    path("api/v1/schema", SpectacularAPIView.as_view(), name="api-schema"),
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("admin/", admin.site.urls),
]
