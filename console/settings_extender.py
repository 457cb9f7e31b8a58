"""Settings of the extender process: scoring only.

With the console installed, admin autodiscovery would import views, DRF and the admin
into the process that answers kube-scheduler.
"""

from __future__ import annotations

from console.settings import *  # noqa: F403 - the one place that extends the settings

INSTALLED_APPS = ["scoring.apps.ScoringConfig"]
MIDDLEWARE.clear()  # noqa: F405 - of the module above
TEMPLATES.clear()  # noqa: F405
AUTHENTICATION_BACKENDS.clear()  # noqa: F405
ROOT_URLCONF = "console.extender"
