"""The number that is sent, and what its coarseness costs a profile."""

from __future__ import annotations

from tests.console.kubescheduler.documents import (
    compiled,
    document,
    entry_of,
    profile,
    said,
    text,
)

N = "NetworkTraffic"


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
