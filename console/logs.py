"""Log lines: JSON, one object a line, for collectors; and requests as key=value."""

from __future__ import annotations

import json
import logging

import structlog


def send_requests_to_logging() -> None:
    """Let the standard logging decide on level, place and format of request lines."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.KeyValueRenderer(key_order=["event", "request"]),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


class Refusals(logging.Filter):
    """Takes the traceback off a refused request (4xx): its sentence says it all."""

    def filter(self, record: logging.LogRecord) -> bool:
        status: int = getattr(record, "status_code", 500)
        if status < 500 and record.name.startswith(
            ("django.request", "django.security")
        ):
            record.exc_info = record.exc_text = None
        return True


class JsonFormatter(logging.Formatter):
    """time, level, logger and message; a traceback becomes one string."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
