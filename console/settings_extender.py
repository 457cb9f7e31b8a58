"""Settings of the extender process: scoring only.

With the console installed, admin autodiscovery would import views, DRF and the admin
into the process that answers kube-scheduler.
"""

from __future__ import annotations

from console.settings import *  # noqa: F403 - the one place that extends the settings

INSTALLED_APPS = ["scoring.apps.ScoringConfig"]
MIDDLEWARE: list[str] = []
TEMPLATES: list[dict[str, object]] = []
ROOT_URLCONF = "console.extender"
AUTHENTICATION_BACKENDS: list[str] = []
