"""Writes to scheduler configurations: drafts and revisions.

The text and options of a revision are the only truth: profiles, plugin configs and
scoring policies are derived from the head in the transaction that makes it the head.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from console.kubescheduler.compiler import Compiled, CompileOptions, compile_document
from console.kubescheduler.document import (
    Document,
    Problem,
    decode,
    derive_rows,
)
from console.kubescheduler.patch import PatchError, set_plugin_args
from console.kubescheduler.validation import validate
from console.models import (
    Draft,
    PluginConfig,
    Revision,
    SchedulerConfiguration,
    SchedulerProfile,
    User,
)
from console.services import audit, targets
from scoring.framework.policy import encode_policy
from scoring.models import Cluster, ScoringPolicy, Version

logger = logging.getLogger(__name__)


class PublishRefused(Exception):
    """The text cannot be published; `problems` says where and why."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{p.path}: {p.message}" for p in problems))
        self.problems = problems


class RevisionConflict(Exception):
    """Somebody else published first; nothing was written."""

    def __init__(self, head: Revision | None) -> None:
        who = f"r{head.number} by {head.author}" if head else "nothing"
        super().__init__(
            f"The configuration changed meanwhile: the newest revision is {who}. "
            "Nothing was saved. Load it, then make your change again."
        )
        self.head = head


class NothingChanged(Exception):
    """The text and options equal those of the head."""


@dataclass(frozen=True, slots=True)
class RevisionOptions:
    """What the compiler needs beside the text; stored with it."""

    extended_range: bool = False
    target: str = "static-pod"
    run_by_bandmaster: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_row(cls, revision: Revision | None) -> RevisionOptions:
        if revision is None:
            return cls()
        stored = dict(revision.options)
        pairs = tuple((a, b) for a, b in stored.pop("run_by_bandmaster", ()))
        return cls(run_by_bandmaster=pairs, **stored)


@dataclass(frozen=True, slots=True)
class Publication:
    """Who publishes, why and by which way."""

    author: str
    message: str
    source: str  # ui, admin, api, cli
    kind: str = Revision.Kind.PUBLISH
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A text that passed every gate, compiled."""

    document: Document
    compiled: Compiled
    sha256: str
    warnings: tuple[Problem, ...] = field(default=())


def create_configuration(*, cluster: Cluster, name: str) -> SchedulerConfiguration:
    """An empty configuration; it has no head until the first publish."""
    configuration = SchedulerConfiguration(cluster=cluster, name=name)
    configuration.full_clean()
    configuration.save()
    return configuration


def save_draft(
    *, configuration: SchedulerConfiguration, author: User, text: str
) -> Draft:
    """Keep what a user typed, valid or not; a user has one draft a configuration."""
    draft, _ = Draft.objects.update_or_create(
        configuration=configuration,
        author=author,
        defaults={"text": text},
        create_defaults={"text": text, "base": configuration.head},
    )
    return draft


def check(
    *,
    configuration: SchedulerConfiguration,
    text: str,
    options: RevisionOptions,
) -> Checked:
    """Decode, validate and compile; raises PublishRefused with every problem."""
    decoded = decode(text)
    problems = decoded.problems
    if decoded.document is not None:
        problems += validate(decoded.document)
    if decoded.document is None or _errors(problems):
        raise PublishRefused(_errors(problems) or problems)
    sha256 = _sha256(text, options)
    compiled = compile_document(
        decoded.document, options=_compile_options(configuration, sha256, options)
    )
    problems += compiled.problems
    if _errors(problems):
        raise PublishRefused(_errors(problems))
    return Checked(decoded.document, compiled, sha256, problems)


@transaction.atomic
def publish_revision(
    *,
    configuration: SchedulerConfiguration,
    text: str,
    options: RevisionOptions,
    base: Revision | None,
    publication: Publication,
) -> Revision:
    """Make `text` the head: revision, derived rows, policies and audit in one step.

    `base` is the revision that the author started from. Raises ValidationError (no
    message), RevisionConflict, NothingChanged or PublishRefused; then nothing is
    written.
    """
    if not publication.message.strip():
        raise ValidationError({"message": "Say in a few words what changes and why."})
    configuration = SchedulerConfiguration.objects.select_for_update().get(
        pk=configuration.pk
    )
    head = configuration.head
    if (head and head.pk) != (base and base.pk):
        raise RevisionConflict(head)
    checked = check(configuration=configuration, text=text, options=options)
    if head is not None and _same(head, checked):
        raise NothingChanged("The text and options are those of the newest revision.")
    revision = _add_revision(configuration, text, options, checked, publication)
    _write_derived(configuration, revision, checked)
    Draft.objects.filter(
        configuration=configuration, author__username=publication.author
    ).delete()
    audit.record(
        audit.Actor(publication.author, publication.source),
        action=f"configuration.{publication.kind}",
        target=f"configuration {configuration}",
        summary=publication.summary or f"published r{revision.number}",
        reason=publication.message,
    )
    transaction.on_commit(lambda: targets.write_simulator_target(revision))
    return revision


def publish_plugin_args(
    *,
    plugin_config: PluginConfig,
    args: Mapping[str, Any],
    base: Revision | None,
    publication: Publication,
) -> Revision:
    """Change one plugin's arguments in the text of the head, comments kept, publish."""
    configuration = plugin_config.profile.configuration
    head = configuration.head
    if head is None or (base and base.pk) != head.pk:
        raise RevisionConflict(head)
    try:
        text = set_plugin_args(
            head.text,
            scheduler_name=plugin_config.profile.scheduler_name,
            plugin=plugin_config.plugin,
            args=dict(args),
        )
    except PatchError as exc:
        raise ValidationError({"args": str(exc)}) from exc
    return publish_revision(
        configuration=configuration,
        text=text,
        options=RevisionOptions.from_row(head),
        base=base,
        publication=publication,
    )


@transaction.atomic
def import_revision(
    *, cluster: Cluster, name: str, text: str, publication: Publication
) -> Revision:
    """Make a configuration whose first revision is `text`; all or nothing."""
    found = cluster.configurations.filter(name=name, head__isnull=True).first()
    return publish_revision(
        configuration=found or create_configuration(cluster=cluster, name=name),
        text=text,
        options=RevisionOptions(),
        base=None,
        publication=publication,
    )


def recompile(configuration: SchedulerConfiguration) -> Revision | None:
    """Publish the head's text again where it now compiles to something else.

    That happens when the extender's address changes. None when nothing did.
    """
    head = configuration.head
    if head is None:
        return None
    try:
        return publish_revision(
            configuration=configuration,
            text=head.text,
            options=RevisionOptions.from_row(head),
            base=head,
            publication=Publication(
                author="system",
                message="The address of the extender changed",
                source="cli",
            ),
        )
    except NothingChanged:
        return None
    except PublishRefused as exc:
        # what was published stays in force: starting must not depend on it
        logger.warning("configuration=%s is not compiled again: %s", head, exc)
        return None


def _same(head: Revision, checked: Checked) -> bool:
    return (
        head.sha256 == checked.sha256 and head.stock_document == checked.compiled.stock
    )


def _errors(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(problem for problem in problems if problem.severity == "error")


def _sha256(text: str, options: RevisionOptions) -> str:
    packed = json.dumps(asdict(options), sort_keys=True) + "\n" + text
    return hashlib.sha256(packed.encode()).hexdigest()


def _compile_options(
    configuration: SchedulerConfiguration, sha256: str, options: RevisionOptions
) -> CompileOptions:
    head = configuration.head
    return CompileOptions(
        configuration=configuration.name,
        revision=head.number + 1 if head else 1,
        source_sha256=sha256,
        extender_url=configuration.cluster.extender_url,
        cluster=configuration.cluster.name,
        target=options.target,
        extended_range=options.extended_range,
        run_by_bandmaster=frozenset(options.run_by_bandmaster),
        previous_revision=head.compiled_revision if head else None,
        previous_stock=head.stock_document if head else None,
    )


def _add_revision(
    configuration: SchedulerConfiguration,
    text: str,
    options: RevisionOptions,
    checked: Checked,
    publication: Publication,
) -> Revision:
    head = configuration.head
    revision = Revision(
        configuration=configuration,
        number=head.number + 1 if head else 1,
        kind=publication.kind,
        text=text,
        options=asdict(options),
        sha256=checked.sha256,
        author=publication.author,
        message=publication.message.strip(),
        compiled_revision=checked.compiled.compiled_revision,
        stock_document=checked.compiled.stock,
        warnings=[asdict(problem) for problem in checked.warnings],
    )
    revision.full_clean()
    revision.save()
    configuration.head = revision
    configuration.save(update_fields=["head"])
    return revision


def _write_derived(
    configuration: SchedulerConfiguration, revision: Revision, checked: Checked
) -> None:
    _write_profiles(configuration, checked.document)
    ScoringPolicy.objects.bulk_create(
        ScoringPolicy(
            cluster=configuration.cluster,
            configuration=policy.configuration,
            compiled_revision=policy.compiled_revision,
            scheduler_name=policy.scheduler_name,
            slot=policy.slot,
            revision=policy.revision,
            source_sha256=policy.source_sha256,
            document=encode_policy(policy),
        )
        for policy in checked.compiled.policies
    )
    Version.bump(configuration.cluster)


def _write_profiles(configuration: SchedulerConfiguration, document: Document) -> None:
    """Bring the derived rows to parse(head); rows that stay keep their identity."""
    rows = derive_rows(document)
    names = [row.scheduler_name for row in rows]
    configuration.profiles.exclude(scheduler_name__in=names).delete()
    for position, row in enumerate(rows):
        profile, _ = SchedulerProfile.objects.update_or_create(
            configuration=configuration,
            scheduler_name=row.scheduler_name,
            defaults={"position": position},
        )
        profile.plugin_configs.exclude(plugin__in=list(row.plugin_configs)).delete()
        for plugin, args in row.plugin_configs.items():
            PluginConfig.objects.update_or_create(
                profile=profile, plugin=plugin, defaults={"args": args}
            )
