"""What the commands share: reading input, naming objects, and saying what is wrong.

Exit status: 0 fine, 1 the input has problems, 2 usage, or input that cannot be read.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.management.base import CommandError
from django.db import DatabaseError

from console.kubescheduler.document import Problem
from console.models import SchedulerConfiguration, User
from console.services import configurations
from scoring.management.sentences import database_sentence
from scoring.models import Cluster
from scoring.secrets import SecretError


def read_document(name: str) -> str:
    """The text of a file, or of standard input for `-`."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8")
    except OSError as exc:
        raise CommandError(
            f"{name} cannot be read: {exc.strerror}", returncode=2
        ) from exc
    except UnicodeDecodeError as exc:
        raise CommandError(
            f"{name} is not UTF-8 text (byte {exc.start}): save it as UTF-8",
            returncode=2,
        ) from exc


def cluster_named(name: str) -> Cluster:
    try:
        return Cluster.objects.get(name=name)
    except Cluster.DoesNotExist as exc:
        raise CommandError(
            f"there is no cluster {name!r}: `manage.py bootstrap` makes the first one",
            returncode=2,
        ) from exc


def configuration_named(cluster: Cluster, name: str) -> SchedulerConfiguration:
    try:
        return cluster.configurations.get(name=name)
    except SchedulerConfiguration.DoesNotExist as exc:
        known = ", ".join(cluster.configurations.values_list("name", flat=True))
        raise CommandError(
            f"cluster {cluster} has no configuration {name!r} (it has: "
            f"{known or 'none'})",
            returncode=2,
        ) from exc


def user_named(name: str) -> User:
    try:
        return User.objects.get(username=name, is_active=True)
    except User.DoesNotExist as exc:
        raise CommandError(
            f"there is no active user {name!r}: name in --as who answers for this",
            returncode=2,
        ) from exc


def describe(problems: Iterable[Problem]) -> str:
    """One line a problem: where, what, and what to do."""
    return "\n".join(
        f"line {p.line}, column {p.column}: {p.severity}: "
        + (f"{p.path}: " if p.path else "")
        + p.message
        + (f" ({p.hint})" if p.hint else "")
        for p in problems
    )


def profile_and_plugin(text: str) -> tuple[str, str]:
    """Reads PROFILE/PLUGIN; a profile's name may hold slashes, a plugin's does not."""
    profile, slash, plugin = text.rpartition("/")
    if not (profile and slash and plugin):
        raise ArgumentTypeError(
            f"{text[:80]!r} is not PROFILE/PLUGIN, for example "
            "default-scheduler/NetworkTraffic"
        )
    return profile, plugin


def named_messages(exc: ValidationError) -> str:
    """The sentences of a model's or a service's check, each with its field."""
    if not hasattr(exc, "error_dict"):
        return " ".join(exc.messages)
    return " ".join(
        message if name == NON_FIELD_ERRORS else f"{name}: {message}"
        for name, messages in exc.message_dict.items()
        for message in messages
    )


@contextmanager
def fail_on_problems() -> Iterator[None]:
    """Turn every expected refusal into one sentence and the right exit status."""
    try:
        yield
    except configurations.PublishRefused as exc:
        raise CommandError(
            "not published:\n" + describe(exc.problems), returncode=1
        ) from exc
    except (configurations.RevisionConflict, configurations.NothingChanged) as exc:
        raise CommandError(str(exc), returncode=1) from exc
    except ValidationError as exc:
        raise CommandError(named_messages(exc), returncode=1) from exc
    except SecretError as exc:
        raise CommandError(str(exc), returncode=2) from exc
    except DatabaseError as exc:
        raise CommandError(database_sentence(exc), returncode=2) from exc
