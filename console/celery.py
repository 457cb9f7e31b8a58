from __future__ import annotations

from celery import Celery

app = Celery("bandmaster")
