#!/usr/bin/env python
"""Bandmaster's command line: `python manage.py help` lists the commands."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    if sys.argv[1:2] == ["up"]:
        # The supervisor stays plain Python: it must outlive and restart everything
        # that imports Django, and costs a fifth of the memory without it.
        from console.supervisor.main import main as up

        sys.exit(up(sys.argv[2:]))
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
