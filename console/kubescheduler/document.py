"""Strict decoding of a KubeSchedulerConfiguration, v1, with lines and columns.

`decode` mirrors kube-scheduler's first gate and never raises: it tells all problems at
once. The document stays beside problems that leave its values usable (unknown fields,
duplicate keys), so that the later gates can speak at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.kubescheduler import conformity, reader, schema, tree
from console.kubescheduler.problems import Path, Problem, did_you_mean, format_path

__all__ = ["Decoded", "Document", "Problem", "ProfileRow", "decode", "derive_rows"]

DEFAULT_SCHEDULER_NAME = "default-scheduler"
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Document:
    """A decoded document: `root` with marks, `data` as plain JSON values (read only).

    Offsets of marks count characters of the text without a byte order mark.
    """

    root: tree.Mapping
    data: Mapping[str, Any] = field(repr=False)

    def problem(
        self,
        path: Path,
        message: str,
        *,
        gate: str,
        hint: str = "",
        severity: str = "error",
    ) -> Problem:
        """A problem at `path`, marked at the deepest value of it that is written."""
        span = tree.nearest_span(self.root, path)
        where = format_path(path)
        return Problem(gate, severity, where, span.line, span.column, message, hint)

    @property
    def profiles(self) -> tuple[Mapping[str, Any], ...]:
        """The profiles as written; none written means kube-scheduler's one default."""
        written: list[Mapping[str, Any] | None] = self.data.get("profiles") or [None]
        return tuple(profile or {} for profile in written)

    def scheduler_name(self, index: int) -> str:
        """The name a profile serves: defaulted only when it is the only profile."""
        profiles = self.profiles
        name = profiles[index].get("schedulerName")
        if name is None and len(profiles) == 1:
            return DEFAULT_SCHEDULER_NAME
        return str(name or "")


@dataclass(frozen=True, slots=True)
class Decoded:
    """`document` is None when nothing usable was read; `problems` says why."""

    document: Document | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """A profile as rows hold it: plugin name -> arguments as JSON."""

    scheduler_name: str
    plugin_configs: Mapping[str, Any]


def decode(text: str | bytes) -> Decoded:
    """Read the first document of `text`; never raises."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as exc:
            message = f"this is not UTF-8 text (byte {exc.start})"
            return _refused(_at_start(message, "Save the file as UTF-8."))
    try:
        read = reader.read(text.removeprefix(BYTE_ORDER_MARK))
    except reader.ReadError as exc:
        return _refused(
            Problem("decode", "error", "", exc.line, exc.column, exc.message, exc.hint)
        )
    refusal = _wrong_document(read.root)
    if refusal is not None or not isinstance(read.root, tree.Mapping):
        return _refused(*([refusal] if refusal else []), *_more_documents(read))
    return _check_fields(read, read.root)


def derive_rows(document: Document) -> tuple[ProfileRow, ...]:
    """What the rows of profiles and plugin configs must equal, in document order."""
    return tuple(
        ProfileRow(
            document.scheduler_name(i),
            {
                str(config["name"]): config.get("args")
                if config.get("args") is not None
                else {}
                for config in profile.get("pluginConfig") or ()
                if config and config.get("name")
            },
        )
        for i, profile in enumerate(document.profiles)
    )


def _check_fields(read: reader.ReadDocument, root: tree.Mapping) -> Decoded:
    problems = list(_more_documents(read))
    for twice in read.duplicates:
        problems.append(
            _problem(
                twice.span,
                twice.key,
                f"the key {twice.key[:80]!r} stands twice, first in line "
                f"{twice.first.line}",
                "Keep one of them.",
            )
        )
    usable = True
    for mismatch in conformity.compare(root, schema.CONFIGURATION):
        usable = usable and not mismatch.fatal
        path = format_path(mismatch.path)
        problems.append(_problem(mismatch.span, path, mismatch.message, mismatch.hint))
    problems.sort(key=lambda problem: (problem.line, problem.column))
    document = Document(root, tree.to_plain(root)) if usable else None
    return Decoded(document, tuple(problems))


def _wrong_document(root: tree.Node) -> Problem | None:
    """Why this is no v1 document, in one sentence; its fields are then not judged."""
    if isinstance(root, tree.Scalar) and root.value is None:
        return _at_start(
            "the document is empty",
            f"Start with `apiVersion: {schema.API_VERSION}` and `kind: {schema.KIND}`.",
        )
    if not isinstance(root, tree.Mapping):
        return _problem(
            root.span,
            "",
            "the document must be a mapping of fields",
            f"Start with `apiVersion: {schema.API_VERSION}`.",
        )
    return _wrong_kind(root) or _wrong_version(root)


def _wrong_version(root: tree.Mapping) -> Problem | None:
    version, span = _text_field(root, "apiVersion")
    if version == schema.API_VERSION:
        return None
    hint = f"Write `apiVersion: {schema.API_VERSION}`."
    if version is None:
        return _problem(span, "apiVersion", "apiVersion is missing", hint)
    message = f"apiVersion {version[:80]!r} is not known"
    if version.startswith(f"{schema.API_GROUP}/"):
        message = f"apiVersion {version[:80]!r} is not read yet: only v1 is"
    return _problem(
        span, "apiVersion", message, did_you_mean(version, [schema.API_VERSION]) or hint
    )


def _wrong_kind(root: tree.Mapping) -> Problem | None:
    kind, span = _text_field(root, "kind")
    if kind == schema.KIND:
        return None
    hint = f"Write `kind: {schema.KIND}`."
    if kind is None:
        # a wrong apiVersion says more about such a document
        if _wrong_version(root) is not None:
            return None
        return _problem(span, "kind", "kind is missing", hint)
    if kind == "Policy":
        message = "kind Policy ended with Kubernetes 1.23 and is not read yet"
        return _problem(span, "kind", message, hint)
    return _problem(
        span, "kind", f"kind must be {schema.KIND}, not {kind[:80]!r}", hint
    )


def _text_field(root: tree.Mapping, key: str) -> tuple[str | None, tree.Span]:
    entry = root.entry(key)
    if entry is None:
        return None, root.span
    value = entry.value
    if isinstance(value, tree.Scalar) and isinstance(value.value, str):
        return value.value, value.span
    return None, entry.span


def _more_documents(read: reader.ReadDocument) -> Iterator[Problem]:
    if read.more_documents_at is not None:
        yield Problem(
            "decode",
            "warning",
            "",
            read.more_documents_at.line,
            read.more_documents_at.column,
            "kube-scheduler reads only the first document: the rest is ignored",
            "Move it to a file of its own.",
        )


def _problem(span: tree.Span, path: str, message: str, hint: str) -> Problem:
    return Problem("decode", "error", path, span.line, span.column, message, hint)


def _at_start(message: str, hint: str) -> Problem:
    return Problem("decode", "error", "", 1, 1, message, hint)


def _refused(*problems: Problem) -> Decoded:
    return Decoded(None, problems)
