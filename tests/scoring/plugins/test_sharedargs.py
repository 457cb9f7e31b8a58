from __future__ import annotations

from typing import Any

import pytest

from scoring.framework.types import ExtensionPoint, PodInfo
from scoring.plugins.args import ArgsError, Reader
from scoring.plugins.sharedargs import SharedArgs, read_shared

FILTER, SCORE = ExtensionPoint.FILTER, ExtensionPoint.SCORE


def read(**raw: Any) -> SharedArgs:
    reader = Reader(raw)
    shared = read_shared(reader)
    reader.reject_unknown()
    reader.finish()
    return shared


@pytest.mark.parametrize(
    ("pod", "exempt"),
    [
        pytest.param(PodInfo(namespace="default"), False, id="an ordinary pod"),
        pytest.param(PodInfo(namespace="kube-system"), True, id="kube-system"),
        pytest.param(PodInfo(owner_kinds=("DaemonSet",)), True, id="DaemonSet"),
        pytest.param(PodInfo(owner_kinds=("ReplicaSet",)), False, id="ReplicaSet"),
        pytest.param(PodInfo(owner_kinds=("Node",)), True, id="mirror of a static pod"),
        pytest.param(
            PodInfo(annotations={"kubernetes.io/config.source": "file"}),
            True,
            id="static pod",
        ),
        pytest.param(
            PodInfo(annotations={"kubernetes.io/config.source": "api"}),
            False,
            id="from the API server",
        ),
        pytest.param(
            PodInfo(labels={"app.kubernetes.io/name": "bandmaster"}), True, id="our own"
        ),
        pytest.param(
            PodInfo(priority_class_name="system-node-critical"), True, id="critical"
        ),
        pytest.param(
            PodInfo(labels={"bandmaster.io/exempt": "true"}), True, id="labelled"
        ),
        pytest.param(
            PodInfo(labels={"bandmaster.io/exempt": "false"}), False, id="another value"
        ),
    ],
)
def test_exempt_by_default(pod: PodInfo, exempt: bool) -> None:
    shared = read()
    assert shared.exempt.matches(pod, FILTER) is exempt
    assert shared.exempt.matches(pod, SCORE) is exempt


@pytest.mark.parametrize(
    ("exempt", "pod", "expected"),
    [
        pytest.param(
            {"namespaces": ["a"]}, PodInfo(namespace="a"), (True, True), id="both"
        ),
        pytest.param(
            {"namespaces": []},
            PodInfo(namespace="kube-system"),
            (False, False),
            id="given ones replace the defaults",
        ),
        pytest.param(
            {"filter": {"namespaces": ["a"]}},
            PodInfo(namespace="a"),
            (True, False),
            id="filter alone",
        ),
        pytest.param(
            {"score": {"priorityClasses": ["low"]}},
            PodInfo(priority_class_name="low"),
            (False, True),
            id="score alone",
        ),
        pytest.param(
            {"score": {"labels": {"team": "x"}}},
            PodInfo(labels={"team": "x", "app": "y"}),
            (False, True),
            id="label",
        ),
        pytest.param(
            {"score": {"namespaces": ["a"]}},
            PodInfo(namespace="kube-system"),
            (True, True),
            id="a section leaves the defaults alone",
        ),
        pytest.param(
            {"builtIn": False},
            PodInfo(owner_kinds=("DaemonSet",)),
            (False, False),
            id="built-in rules off",
        ),
    ],
)
def test_exempt(
    exempt: dict[str, Any], pod: PodInfo, expected: tuple[bool, bool]
) -> None:
    shared = read(exempt=exempt)
    found = (shared.exempt.matches(pod, FILTER), shared.exempt.matches(pod, SCORE))
    assert found == expected


def test_no_pod_without_a_priority_class_is_exempt_by_an_empty_name() -> None:
    with pytest.raises(ArgsError):
        read(exempt={"priorityClasses": [""]})


def test_all_problems_of_all_sections_at_once() -> None:
    with pytest.raises(ArgsError) as caught:
        read(
            onMissing="lastknown",
            exempt={
                "namespaces": ["ok", 3],
                "score": {"nameSpaces": []},
                "filter": "all",
            },
        )
    assert [(p.path, p.hint) for p in caught.value.problems] == [
        ("onMissing", "Did you mean lastKnown?"),
        ("exempt.namespaces[1]", "Quote it."),
        ("exempt.filter", "Write keys."),
        ("exempt.score.nameSpaces", "Did you mean namespaces?"),
    ]
