from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"
    verbose_name = "Bandmaster"

    def ready(self) -> None:
        from console.logs import send_requests_to_logging

        send_requests_to_logging()
        # Tasks are declared with shared_task: they need the app before the first send.
        import console.celery  # noqa: F401
