"""Field selectors of pods, as far as a scheduler and the product use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scoring.simulation.objects import phase
from scoring.simulation.pods import Pod

_FIELDS: dict[str, Callable[[Pod], str]] = {
    "metadata.name": lambda pod: pod.name,
    "metadata.namespace": lambda pod: pod.namespace,
    "spec.nodeName": lambda pod: pod.node,
    "spec.schedulerName": lambda pod: pod.scheduler_name,
    "status.phase": phase,
}


class FieldSelectorError(ValueError):
    """The selector cannot be used; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class _Term:
    field: str
    value: str
    equal: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """Which pods are asked for."""

    terms: tuple[_Term, ...] = ()

    def holds(self, pod: Pod) -> bool:
        """Whether the pod is one of them."""
        return all(
            (_FIELDS[term.field](pod) == term.value) is term.equal
            for term in self.terms
        )


def parse(text: str, *, namespace: str = "") -> Selection:
    """A comma-separated list such as `spec.nodeName=,status.phase!=Failed`.

    Raises FieldSelectorError.
    """
    terms = [_term(part) for part in text.split(",") if part.strip()]
    if namespace:
        terms.append(_Term("metadata.namespace", namespace, equal=True))
    return Selection(tuple(terms))


def seen_as(kind: str, pod: Pod, selection: Selection) -> str:
    """How a watch with `selection` tells a change; empty when it does not.

    A pod changes only by its binding: one that comes into the selection by it is
    added, one that leaves it is deleted.
    """
    after = selection.holds(pod)
    if kind != "MODIFIED":
        return kind if after else ""
    before = selection.holds(replace(pod, node=""))
    if before and after:
        return kind
    if after:
        return "ADDED"
    return "DELETED" if before else ""


def _term(part: str) -> _Term:
    field, operator, value = part.partition("=")
    if not operator:
        raise FieldSelectorError(f"the field selector {part!r} needs = or !=")
    equal = not field.endswith("!")
    field = field.removesuffix("!").strip()
    if field not in _FIELDS:
        raise FieldSelectorError(
            f"{field!r} is not a field that can be selected: use one of "
            f"{', '.join(sorted(_FIELDS))}"
        )
    return _Term(field, value.removeprefix("=").strip(), equal)
