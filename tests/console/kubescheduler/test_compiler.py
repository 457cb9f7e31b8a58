from __future__ import annotations

from typing import Any

import pytest
import yaml

from console.kubescheduler.compiler import KEY_PLACEHOLDER, Compiled, fill_key
from console.kubescheduler.problems import Problem
from scoring.framework.policy import PluginSpec
from tests.console.kubescheduler.documents import (
    HEAD,
    compiled,
    document,
    entry_of,
    problems,
    profile,
    text,
)

N = "NetworkTraffic"
QUIET = {"clientConnection": {"qps": 200, "burst": 400}}
SCORED = text(profiles=[profile(score={N: 5})], **QUIET)


def said(result: Compiled, words: str) -> list[Problem]:
    return [problem for problem in result.problems if words in problem.message]


def entry(source: str, **options: Any) -> dict[str, Any]:
    return entry_of(compiled(source, **options))


class TestStockDocument:
    def test_the_entry(self) -> None:
        assert entry(SCORED) == {
            "urlPrefix": f"http://bandmaster:{KEY_PLACEHOLDER}@10.0.0.5:8001"
            "/extender/default",
            "prioritizeVerb": "prioritize?configuration=main&revision=1&weight=5",
            "weight": 5,
            "httpTimeout": "200ms",
            "nodeCacheCapable": True,
            "ignorable": True,
        }

    def test_both_verbs(self) -> None:
        both = text(profiles=[profile(score={N: 2}, filters=["CPUUsage"])])
        found = entry(both, revision=17)
        query = "configuration=main&revision=17&weight=2"
        assert found["filterVerb"] == f"filter?{query}"
        assert found["prioritizeVerb"] == f"prioritize?{query}"

    def test_filter_only_has_no_weight(self) -> None:
        found = entry(text(profiles=[profile(filters=["CPUUsage"])]))
        assert found["filterVerb"] == "filter?configuration=main&revision=1"
        assert "prioritizeVerb" not in found
        assert "weight" not in found

    @pytest.mark.parametrize(
        "profiles",
        [
            pytest.param([profile(score={"ImageLocality": 2})], id="none of ours"),
            pytest.param([profile(args={N: {}})], id="only configured"),
            pytest.param(None, id="no profiles"),
        ],
    )
    def test_no_entry_without_ours(self, profiles: object) -> None:
        result = compiled(text(profiles=profiles))
        assert "extenders" not in document(result.stock).data
        assert result.policies == ()
        assert result.total_weight == 0

    def test_names_are_taken_out_and_empty_keys_dropped(self) -> None:
        source = HEAD + (
            "parallelism: 8\n"
            "profiles:\n"
            "- schedulerName: a\n"
            "  plugins:\n"
            "    multiPoint: {disabled: [{name: NetworkTraffic}, {name: NodePorts}]}\n"
            "    filter: {enabled: [{name: CPUUsage}]}\n"
            "    score:\n"
            "      enabled: [{name: CPUUsage}, {name: ImageLocality, weight: 3}]\n"
            '      disabled: [{name: "*"}]\n'
            "    reserve: {}\n"
            "  pluginConfig:\n"
            "  - {name: NetworkTraffic}\n"
            "  - {name: NodeResourcesFit, args: {ignoredResources: [a]}}\n"
        )
        assert document(compiled(source).stock).data["profiles"] == [
            {
                "schedulerName": "a",
                "plugins": {
                    "multiPoint": {"disabled": [{"name": "NodePorts"}]},
                    "score": {
                        "enabled": [{"name": "ImageLocality", "weight": 3}],
                        "disabled": [{"name": "*"}],
                    },
                },
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"ignoredResources": ["a"]}}
                ],
            }
        ]

    def test_ours_is_last_and_replaced_when_compiled_again(self) -> None:
        theirs = {"urlPrefix": "http://x/extender/other", "filterVerb": "f"}
        ours = {"urlPrefix": "https://old:1/extender/default/", "filterVerb": "f"}
        source = text(profiles=[profile(score={N: 5})], extenders=[ours, theirs])
        extenders = document(compiled(source).stock).data["extenders"]
        assert extenders[0] == theirs
        assert len(extenders) == 2
        assert "10.0.0.5:8001" in extenders[1]["urlPrefix"]

    def test_ours_is_removed_when_not_needed(self) -> None:
        ours = {"urlPrefix": "http://u:k@old:1/extender/default", "filterVerb": "f"}
        assert "extenders" not in compiled(text(extenders=[ours])).stock

    def test_https(self) -> None:
        secure = {"extender_url": "https://10.0.0.5:8001"}
        found = entry(SCORED, ca_data="Y2E=", **secure)
        assert found["enableHTTPS"] is True
        assert found["tlsConfig"] == {"caData": "Y2E="}
        # without a CA it would switch verification off
        assert "enableHTTPS" not in entry(SCORED, **secure)

    def test_the_same_input_gives_the_same_text(self) -> None:
        assert compiled(SCORED).stock == compiled(SCORED).stock

    @pytest.mark.parametrize(
        "value", ["yes", "y", "010", "1e1", "~", "null", "1.5", "a: b", "", "*", "é"]
    )
    def test_texts_stay_texts(self, value: str) -> None:
        source = text(profiles=[profile(value or "x", args={"X": {"k": value}})])
        configs = document(compiled(source).stock).data["profiles"][0]["pluginConfig"]
        assert configs == [{"name": "X", "args": {"k": value}}]

    def test_the_result_passes_our_own_gates(self) -> None:
        result = compiled(text(profiles=[profile(score={N: 5}), profile("b")]))
        assert problems(result.stock) == []


class TestKey:
    def test_is_never_in_the_stock_text(self) -> None:
        assert KEY_PLACEHOLDER in compiled(SCORED).stock

    def test_is_filled_in_percent_encoded(self) -> None:
        filled = fill_key(compiled(SCORED).stock, "S3cr/et@:%")
        (found,) = yaml.safe_load(filled)["extenders"]
        assert found["urlPrefix"] == (
            "http://bandmaster:S3cr%2Fet%40%3A%25@10.0.0.5:8001/extender/default"
        )

    def test_is_not_given_to_other_extenders(self) -> None:
        theirs = {"urlPrefix": f"http://evil/{KEY_PLACEHOLDER}", "filterVerb": "f"}
        source = text(profiles=[profile(score={N: 1})], extenders=[theirs])
        assert fill_key(compiled(source).stock, "secret").count("secret") == 1


class TestRevision:
    def again(self, source: str, **options: Any) -> Compiled:
        first = compiled(SCORED, revision=3)
        return compiled(
            source,
            revision=4,
            previous_revision=3,
            previous_stock=first.stock,
            **options,
        )

    def test_an_argument_is_hot(self) -> None:
        source = text(
            profiles=[profile(score={N: 5}, args={N: {"deadBandPercent": 9}})], **QUIET
        )
        result = self.again(source)
        assert result.compiled_revision == 3
        assert result.stock == compiled(SCORED, revision=3).stock
        assert result.policies[0].compiled_revision == 3
        assert result.policies[0].revision == 4
        assert result.policies[0].plugins[0].args == {"deadBandPercent": 9}

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param(profile(score={N: 6}), id="W"),
            pytest.param(profile(score={N: 5}, filters=["CPUUsage"]), id="a verb"),
            pytest.param(profile("other", score={N: 5}), id="a name"),
            pytest.param(profile(score={N: 5, "ImageLocality": 2}), id="not ours"),
        ],
    )
    def test_the_rest_is_cold(self, changed: dict[str, Any]) -> None:
        result = self.again(text(profiles=[changed], **QUIET))
        assert result.compiled_revision == 4
        assert "revision=4" in result.stock

    def test_relative_weights_are_hot(self) -> None:
        source = text(profiles=[profile(score={N: 3, "CPUUsage": 2})], **QUIET)
        assert self.again(source).compiled_revision == 3


class TestTheNumber:
    EXAMPLE = text(
        profiles=[
            profile("a", score={N: 3, "CPUUsage": 1}),
            profile("b", score={N: 2}),
            profile("c", score={N: 1}),
            profile("plain"),
        ]
    )

    def test_worked_example(self) -> None:
        result = compiled(self.EXAMPLE)
        assert result.total_weight == 4
        assert entry_of(result)["weight"] == 4
        reports = [(p.score_weight, p.levels, p.error) for p in result.profiles]
        assert reports == [(4, 11, 20), (2, 6, 20), (1, 4, 20), (0, 0, 0)]

    def test_share_of_the_total(self) -> None:
        shares = [report.share for report in compiled(self.EXAMPLE).profiles]
        assert shares == [100 * 4 / 19, 100 * 2 / 17, 100 / 16, 0]

    def test_coarse_profiles_are_warned_of(self) -> None:
        (coarse,) = said(compiled(self.EXAMPLE), "levels")
        assert coarse.path == "profiles[2]"
        assert "4 levels" in coarse.message
        assert "20 points" in coarse.message
        assert "extendedRange" in coarse.hint

    def test_uneven_sums_are_warned_of(self) -> None:
        uneven = [profile("a", score={N: 7}), profile("b", score={N: 6})]
        (problem,) = said(compiled(text(profiles=uneven)), "levels")
        assert problem.path == "profiles[1]"

    def test_five_levels_are_few_and_six_are_not(self) -> None:
        def warned(*weights: int) -> list[str]:
            profiles = [profile(f"p{w}", score={N: w}) for w in weights]
            found = said(compiled(text(profiles=profiles)), "levels")
            return [problem.path for problem in found]

        assert warned(5, 2) == ["profiles[1]"]
        assert warned(2, 1) == []

    def test_extended_range_without_a_score(self) -> None:
        only = profile(filters=[N], args={N: {"maxUtilizationPercent": 80}})
        entry = entry_of(compiled(text(profiles=[only]), extended_range=True))
        assert "filterVerb" in entry
        assert not {"prioritizeVerb", "weight"} & set(entry)

    def test_foreign_extenders_keep_their_order(self) -> None:
        others = [{"urlPrefix": f"http://{name}/"} for name in ("b", "a")]
        source = text(profiles=[profile(score={N: 1})], extenders=others)
        found = document(compiled(source).stock).data["extenders"]
        assert found[:2] == others

    def test_extended_range(self) -> None:
        result = compiled(self.EXAMPLE, extended_range=True)
        assert result.total_weight == entry_of(result)["weight"] == 1
        assert [p.levels for p in result.profiles] == [41, 21, 11, 0]
        assert all(policy.extended_range for policy in result.policies)
        assert said(result, "levels") == []


class TestPolicies:
    def test_one_per_profile_with_ours(self) -> None:
        args = {N: {"deadBandPercent": 3}, "HelloWorldPlugin": {"xxx": "x"}}
        both = profile("a", multiPoint={"enabled": [{"name": N}]}, args=args)
        result = compiled(
            text(profiles=[both, profile("b"), profile("c", score={N: 2})]),
            revision=9,
        )
        first, second = result.policies
        assert first.plugins == (PluginSpec(N, True, True, 1, {"deadBandPercent": 3}),)
        assert (first.scheduler_name, first.total_weight) == ("a", 2)
        assert (first.configuration, first.compiled_revision) == ("main", 9)
        assert first.source_sha256 == "0" * 64
        assert second.scheduler_name == "c"
        assert second.plugins[0].args == {}


class TestAdvice:
    def test_only_scorer(self) -> None:
        alone = profile(score={N: 1})
        alone["plugins"]["score"]["disabled"] = [{"name": "*"}]
        result = compiled(text(profiles=[alone]))
        (problem,) = said(result, "nobody else scores")
        assert (problem.gate, problem.severity) == ("advice", "warning")
        assert result.profiles[0].share == 100

    def test_inert_filter(self) -> None:
        inert = compiled(text(profiles=[profile(filters=[N])]))
        (problem,) = said(inert, "has no threshold")
        assert problem.path == "profiles[0].plugins"
        args = {N: {"maxUtilizationPercent": 80}}
        able = compiled(text(profiles=[profile(filters=[N], args=args)]))
        assert said(able, "has no threshold") == []

    @pytest.mark.parametrize(
        ("connection", "paths"),
        [
            pytest.param({}, ["qps", "burst"], id="defaults"),
            pytest.param({"qps": 200, "burst": 399}, ["burst"], id="burst low"),
            pytest.param({"qps": 200, "burst": 400}, [], id="enough"),
            pytest.param({"qps": -1, "burst": 400}, [], id="no limit"),
        ],
    )
    def test_client_limits(self, connection: dict[str, int], paths: list[str]) -> None:
        result = compiled(text(clientConnection=connection))
        assert [p.path.split(".")[-1] for p in said(result, "waits")] == paths


class TestSecondScheduler:
    def test_rewrites_are_listed(self) -> None:
        source = text(
            profiles=[profile("bandwidth", score={N: 5})],
            clientConnection={"kubeconfig": "/etc/kubernetes/scheduler.conf"},
        )
        result = compiled(source, target="second-scheduler")
        data = document(result.stock).data
        assert data["clientConnection"] == {"qps": 200, "burst": 400}
        assert data["leaderElection"] == {
            "leaseDuration": "5s",
            "renewDeadline": "3s",
            "retryPeriod": "500ms",
            "resourceName": "bandmaster-main",
            "resourceNamespace": "kube-system",
        }
        assert len(result.rewrites) == 8
        assert "kubeconfig is removed" in result.rewrites[0]
        assert result.problems == ()

    def test_own_lease_and_limits_stay(self) -> None:
        source = text(
            clientConnection={"qps": 500, "burst": 900},
            leaderElection={"resourceName": "mine", "resourceNamespace": "here"},
        )
        data = document(compiled(source, target="second-scheduler").stock).data
        assert data["clientConnection"] == {"qps": 500, "burst": 900}
        assert data["leaderElection"]["resourceName"] == "mine"
        assert data["leaderElection"]["resourceNamespace"] == "here"

    def test_asks_for_another_name(self) -> None:
        result = compiled(SCORED, target="second-scheduler")
        (problem,) = said(result, "same pods")
        assert problem.path == "profiles[0].schedulerName"

    def test_static_pod_is_not_rewritten(self) -> None:
        source = text(clientConnection={"kubeconfig": "/x"})
        result = compiled(source)
        assert result.rewrites == ()
        assert document(result.stock).data == document(source).data


class TestRunByBandmaster:
    SOURCE = text(profiles=[profile("a", score={N: 2}), profile("b", score={N: 2})])
    IN_TREE = [
        {
            "schedulerName": name,
            "plugins": {"score": {"enabled": [{"name": N, "weight": 2}]}},
        }
        for name in ("a", "b")
    ]

    @pytest.fixture(autouse=True)
    def in_tree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A binary that has a plugin of our name too."""
        stock = {N: frozenset(["score"]), "PrioritySort": frozenset(["queueSort"])}
        for module in ("effective", "stripping"):
            monkeypatch.setattr(f"console.kubescheduler.{module}.STOCK_PLUGINS", stock)

    def test_is_left_in_tree_unless_asked(self) -> None:
        result = compiled(self.SOURCE)
        assert result.policies == ()
        assert document(result.stock).data["profiles"] == self.IN_TREE

    def test_is_stripped_where_asked_and_disabled(self) -> None:
        result = compiled(self.SOURCE, run_by_bandmaster=frozenset([("a", N)]))
        first, second = document(result.stock).data["profiles"]
        assert first["plugins"] == {"multiPoint": {"disabled": [{"name": N}]}}
        assert second == self.IN_TREE[1]
        assert [policy.scheduler_name for policy in result.policies] == ["a"]

    def test_its_arguments_are_checked(self) -> None:
        source = text(profiles=[profile("a", score={N: 2}, args={N: {"wrong": 1}})])
        result = compiled(source, run_by_bandmaster=frozenset([("a", N)]))
        (problem,) = said(result, "no argument 'wrong'")
        assert problem.severity == "error"

    @pytest.mark.parametrize(
        ("pair", "words"),
        [
            pytest.param(("x", N), "no such profile", id="profile"),
            pytest.param(("a", "NodeName"), "does not have that plugin", id="plugin"),
        ],
    )
    def test_what_cannot_be(self, pair: tuple[str, str], words: str) -> None:
        result = compiled(self.SOURCE, run_by_bandmaster=frozenset([pair]))
        (problem,) = said(result, words)
        assert problem.severity == "error"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        pytest.param("", "is not http(s)://HOST:PORT", id="empty"),
        pytest.param("10.0.0.5:8001", "is not http", id="no scheme"),
        pytest.param("http://h:99999", "is not http", id="port"),
        pytest.param("http://[", "is not http", id="not a URL"),
        pytest.param("http://h:1/path", "end after the port", id="path"),
        pytest.param("http://u:p@h:1", "must not hold a user name", id="user"),
    ],
)
def test_extender_url(url: str, words: str) -> None:
    result = compiled(SCORED, extender_url=url)
    (problem,) = said(result, "extender URL")
    assert problem.severity == "error"
    assert words in problem.message
