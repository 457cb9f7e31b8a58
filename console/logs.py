"""Log lines as JSON, one object a line, for collectors."""

from __future__ import annotations

import json
import logging


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
