"""The extender process: the WSGI callable that granian serves.

The settings are forced, not defaulted: with the console's own, this process would load
views, REST framework and admin, which have no business on the path of a pod.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from scoring.extender.wsgi import Extender


def _application() -> Extender:
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings_extender"
    django.setup()

    from django.conf import settings

    from scoring import lifeline
    from scoring.extender import serve, wsgi

    lifeline.watch()
    extender = wsgi.make(
        cluster=settings.CLUSTER, data_dir=settings.DATA_DIR, neutral=settings.NEUTRAL
    )
    if serve.end_with_parent():
        # this is the process that serves: no need to wait for the first request
        extender.refresher.ensure()
    return extender


application = _application()
