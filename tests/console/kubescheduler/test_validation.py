from __future__ import annotations

from typing import Any

import pytest

from tests.console.kubescheduler.documents import HEAD, problems, profile, text


def score(*enabled: Any, point: str = "score") -> dict[str, Any]:
    return {"plugins": {point: {"enabled": list(enabled)}}}


def own(weight: int | None = None, name: str = "NetworkTraffic") -> dict[str, Any]:
    return {"name": name} if weight is None else {"name": name, "weight": weight}


def config(**args: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": "NetworkTraffic", "args": args}]}


EXTENDER = {"urlPrefix": "http://x", "filterVerb": "f"}


@pytest.mark.parametrize(
    ("fields", "gate", "path", "words"),
    [
        pytest.param(
            {"parallelism": 0}, "validate", "parallelism", "1 or more", id="parallelism"
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 0},
            "validate",
            "podInitialBackoffSeconds",
            "1 or more",
            id="backoff",
        ),
        pytest.param(
            {"clientConnection": {"burst": -1}},
            "validate",
            "clientConnection.burst",
            "0 or more",
            id="burst",
        ),
        pytest.param(
            {"leaderElection": {"retryPeriod": "-1s"}},
            "validate",
            "leaderElection.retryPeriod",
            "more than 0",
            id="retry period",
        ),
        pytest.param(
            {"leaderElection": {"resourceLock": "endpoints"}},
            "validate",
            "leaderElection.resourceLock",
            "leases",
            id="lock",
        ),
        pytest.param(
            {"profiles": [{"percentageOfNodesToScore": 101}]},
            "validate",
            "profiles[0].percentageOfNodesToScore",
            "0 to 100",
            id="percentage of a profile",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "a"}, {}]},
            "validate",
            "profiles[1].schedulerName",
            "missing",
            id="no name beside another",
        ),
        pytest.param(
            {
                "profiles": [
                    {"schedulerName": "a"},
                    {"schedulerName": "b"}
                    | score({"name": "PrioritySort"}, point="queueSort"),
                ]
            },
            "validate",
            "profiles[1].plugins.queueSort",
            "same in all profiles",
            id="queueSort differs",
        ),
        pytest.param(
            {"extenders": [EXTENDER | {"managedResources": [{"name": "cpu"}]}]},
            "validate",
            "extenders[0].managedResources[0].name",
            "extended resource",
            id="native resource",
        ),
        pytest.param(
            {"profiles": [score(own(3), own(2))]},
            "validate",
            "profiles[0].plugins.score.enabled[1]",
            "NetworkTraffic is enabled twice at score",
            id="own plugin twice",
        ),
        pytest.param(
            {"profiles": [score(own(), point="reserve")]},
            "validate",
            "profiles[0].plugins.reserve.enabled[0].name",
            "nothing to do at reserve",
            id="own plugin at a point it lacks",
        ),
        pytest.param(
            {"profiles": [score(own(name="HelloWorldPlugin"), point="filter")]},
            "validate",
            "profiles[0].plugins.filter.enabled[0].name",
            "HelloWorldPlugin has nothing to do at filter",
            id="scorer at filter",
        ),
        pytest.param(
            {"profiles": [score(own(-1))]},
            "validate",
            "profiles[0].plugins.score.enabled[0].weight",
            "must not be negative",
            id="negative weight of ours",
        ),
        pytest.param(
            {"profiles": [score(own(-1), point="multiPoint")]},
            "validate",
            "profiles[0].plugins.multiPoint.enabled[0].weight",
            "must not be negative",
            id="negative weight at multiPoint",
        ),
        pytest.param(
            {"profiles": [config(deadBandPercnt=2)]},
            "validate",
            "profiles[0].pluginConfig[0].args.deadBandPercnt",
            "NetworkTraffic: there is no argument",
            id="unknown argument of ours",
        ),
        pytest.param(
            {"profiles": [config(exempt={"filter": 3})]},
            "validate",
            "profiles[0].pluginConfig[0].args.exempt.filter",
            "mapping",
            id="nested argument of ours",
        ),
        pytest.param(
            {"profiles": [{"pluginConfig": [{"name": "CPUUsage", "args": "x"}]}]},
            "validate",
            "profiles[0].pluginConfig[0].args",
            "must be a mapping",
            id="arguments that are a text",
        ),
        pytest.param(
            {"profiles": [score(own(name="NetworkTrafic"))]},
            "start",
            "profiles[0].plugins.score.enabled[0].name",
            "a stock kube-scheduler has no plugin 'NetworkTrafic'",
            id="unknown plugin",
        ),
        pytest.param(
            {"profiles": [score({"name": "ImageLocality", "weight": -1})]},
            "start",
            "profiles[0].plugins.score.enabled[0].name",
            "must not be negative",
            id="negative weight of a stock plugin",
        ),
        pytest.param(
            {"profiles": [score({"name": "DynamicResources"}, point="preScore")]},
            "start",
            "profiles[0].plugins.preScore.enabled[0].name",
            "nothing to do at preScore",
            id="stock plugin at a point it lacks",
        ),
        pytest.param(
            {"profiles": [{"plugins": {"bind": {"disabled": [{"name": "*"}]}}}]},
            "start",
            "profiles[0].plugins.bind",
            "no plugin is left at bind",
            id="no binder",
        ),
    ],
)
def test_refused(fields: dict[str, Any], gate: str, path: str, words: str) -> None:
    found = problems(text(**fields))
    assert [(p.gate, p.path, p.severity) for p in found] == [(gate, path, "error")]
    assert words in found[0].message


def test_near_names_are_hinted() -> None:
    (problem,) = problems(text(profiles=[score(own(name="NetworkTrafic"))]))
    assert problem.hint == "Did you mean NetworkTraffic?"


def test_all_argument_problems_at_once_at_their_lines() -> None:
    source = HEAD + (
        "profiles:\n"
        "- pluginConfig:\n"
        "  - name: NetworkTraffic\n"
        "    args:\n"
        "      deadBandPercent: much\n"
        "      wrong: 1\n"
    )
    assert [(p.line, p.column) for p in problems(source)] == [(7, 7), (8, 7)]


def test_weight_at_filter_is_advice() -> None:
    fields = score({"name": "CPUUsage", "weight": 3}, point="filter")
    (problem,) = problems(text(profiles=[fields]))
    assert (problem.gate, problem.severity) == ("advice", "warning")
    assert "no meaning at filter" in problem.message


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"profiles": [score(own(0))]}, id="weight 0"),
        pytest.param(
            {"profiles": [score(own(2), point="multiPoint")]}, id="multiPoint"
        ),
        pytest.param(
            {"profiles": [{"plugins": {"permit": {"disabled": [own()]}}}]},
            id="disabled where it cannot be",
        ),
        pytest.param(
            {
                "profiles": [
                    {
                        "pluginConfig": [
                            {"name": "HelloWorldPlugin", "args": {"xxx": "x", "z": 3}}
                        ]
                    }
                ]
            },
            id="free arguments",
        ),
        pytest.param({"profiles": [profile(filters=["CPUUsage"])]}, id="no threshold"),
        pytest.param({}, id="nothing"),
        pytest.param({"leaderElection": {"leaseDuration": "0s"}}, id="0 is default"),
        pytest.param(
            {
                "profiles": [
                    score({"name": "ImageLocality", "weight": -1}, point="multiPoint")
                ]
            },
            id="negative where nobody looks",
        ),
    ],
)
def test_accepted(fields: dict[str, Any]) -> None:
    assert problems(text(**fields)) == []
