from __future__ import annotations

import base64

import pytest

from scoring.simulator.stock import Stock, StockError, parse, seconds
from tests.scoring.simulator.documents import KEY, QUERY, document, entry

URL = "http://127.0.0.1:8081"


def test_the_entry_is_read_as_kube_scheduler_reads_it() -> None:
    found = parse(document(entry(URL, filterVerb=f"filter{QUERY}"))).entries[0]
    assert (found.host, found.port, found.path) == (
        "127.0.0.1",
        8081,
        "/extender/default",
    )
    assert found.filter_verb == f"filter{QUERY}"
    assert found.prioritize_verb == f"prioritize{QUERY}"
    assert (found.weight, found.timeout) == (5, 0.2)
    assert found.ignorable
    assert found.names_only
    encoded = base64.b64encode(f"bandmaster:{KEY}".encode()).decode()
    assert found.authorization == f"Basic {encoded}"


def test_nothing_that_is_shown_has_the_key() -> None:
    found = parse(document(entry(URL))).entries[0]
    assert found.address == f"{URL}/extender/default"
    shown = f"{found!r} {found.address}"
    assert KEY not in shown
    assert found.authorization not in shown


def test_missing_fields_have_kube_schedulers_defaults() -> None:
    bare = {"urlPrefix": f"{URL}/extender/default"}
    found = parse(document(bare)).entries[0]
    assert (found.filter_verb, found.prioritize_verb, found.weight) == ("", "", 0)
    assert found.timeout == 5.0
    assert found.authorization == ""
    assert not found.ignorable
    assert not found.names_only


def test_the_extender_url_replaces_what_the_document_says() -> None:
    text = document(entry("http://bandmaster.example:9999"))
    found = parse(text, extender_url=URL).entries[0]
    assert found.address == f"{URL}/extender/default"
    assert found.authorization


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"urlPrefix": "http://gpu.example:80/scheduler"}, id="path"),
        pytest.param({"urlPrefix": "https://x.example/extender/default"}, id="https"),
        pytest.param({}, id="no address"),
    ],
)
def test_extenders_of_others_are_left_out(other: dict[str, str]) -> None:
    found = parse(document(other, entry(URL)))
    assert [one.address for one in found.entries] == [f"{URL}/extender/default"]
    assert found.left_out == 1


def test_those_whose_failure_counts_are_asked_first() -> None:
    first, second = entry(URL, weight=1), entry(URL, weight=2, ignorable=False)
    assert [one.weight for one in parse(document(first, second)).entries] == [2, 1]


def test_profiles_name_the_schedulers() -> None:
    found = parse(document(schedulers=("a", "", "b", "a")))
    assert found.scheduler_names == ("a", "default-scheduler", "b")
    assert parse("kind: KubeSchedulerConfiguration") == Stock()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "is not YAML"),
        ("[]", "is no KubeSchedulerConfiguration"),
        ("kind: Policy", "is no KubeSchedulerConfiguration"),
        (document() + "x: 1\n", ""),
        ("kind: KubeSchedulerConfiguration\nextenders: 5", "extenders are not a list"),
        ("kind: KubeSchedulerConfiguration\nprofiles: [5]", "profiles are not a list"),
        (document(entry(URL, weight="many")), "urlPrefix or weight that is none"),
        (document(entry("http://h:99999")), "urlPrefix or weight that is none"),
        (document(entry(URL, httpTimeout="soon")), "httpTimeout 'soon' is not"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, sentence: str) -> None:
    if not sentence:
        assert parse(text) == Stock()
        return
    with pytest.raises(StockError, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    ("text", "value"), [("200ms", 0.2), ("1m30s", 90.0), ("1.5s", 1.5), ("0s", 0.0)]
)
def test_durations_of_go(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)
