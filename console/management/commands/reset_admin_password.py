"""Gives an administrator a one-time password."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from console.management import reading
from console.services import people
from scoring.management.sentences import OperatorCommand


class Command(OperatorCommand):
    help = "Print a one-time password; it must be changed at the next login."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", nargs="?", default=people.FIRST_ADMIN)

    def handle(self, *args: Any, **options: Any) -> None:
        with reading.fail_on_problems():
            user = reading.user_named(options["username"])
            password = people.reset_password(user=user)
        self.stdout.write(password)
