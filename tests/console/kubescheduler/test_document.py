from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.kubescheduler.document import ProfileRow, decode, derive_rows
from console.kubescheduler.reader import MAX_BYTES, MAX_DEPTH
from console.kubescheduler.validation import validate
from tests.console.kubescheduler.documents import HEAD, document, problems, text

BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdef", "bcdefg", strict=True)
)


class TestRefused:
    @pytest.mark.parametrize(
        ("source", "words", "line"),
        [
            pytest.param("", "empty", 1, id="empty"),
            pytest.param("# only this\n", "empty", 1, id="comment"),
            pytest.param("[]", "must be a mapping", 1, id="list"),
            pytest.param("word", "must be a mapping", 1, id="scalar"),
            pytest.param("{}", "apiVersion is missing", 1, id="no version"),
            pytest.param(HEAD.splitlines()[0], "kind is missing", 1, id="no kind"),
            pytest.param(
                HEAD.replace("/v1", "/v1beta1"), "only v1 is", 1, id="old version"
            ),
            pytest.param("apiVersion: v1\nkind: Policy", "Policy", 2, id="policy"),
            pytest.param(HEAD.replace("r.c", "r.k"), "not known", 1, id="typo"),
            pytest.param(
                HEAD.replace("KubeSch", "Sch"), "kind must be", 2, id="other kind"
            ),
            pytest.param(HEAD + "profiles: [", "not YAML", 4, id="syntax"),
            pytest.param(HEAD + "\tx: 1", "not YAML", 3, id="tab"),
            pytest.param(b"kind: \xff", "not UTF-8", 1, id="not UTF-8"),
            pytest.param("a: \ud800", "half of a character", 1, id="surrogate"),
            pytest.param("a: \x07", "not YAML", 1, id="control character"),
            pytest.param("a: *b", "alias *b", 1, id="unknown alias"),
            pytest.param("a: &a [*a]", "alias *a", 1, id="alias of itself"),
            pytest.param(BOMB, "more than 50000 values", 5, id="alias bomb"),
            pytest.param(
                "a: " + "[" * (MAX_DEPTH + 1), f"than {MAX_DEPTH} deep", 1, id="deep"
            ),
            pytest.param("#" * (MAX_BYTES + 1), "256 KB", 1, id="large"),
            pytest.param("a: !ruby/object 1", "tag", 1, id="tag"),
            pytest.param("a: !x [1]", "tag", 1, id="tag of a list"),
            pytest.param("a: .inf", "JSON cannot hold", 1, id="infinite"),
            pytest.param("a: " + "9" * 5000, "JSON cannot hold", 1, id="huge number"),
            pytest.param("? [a]\n: 1", "a key must be a name", 1, id="odd key"),
        ],
    )
    def test_one_sentence(self, source: str | bytes, words: str, line: int) -> None:
        decoded = decode(source)
        assert decoded.document is None
        assert words in decoded.problems[0].message
        assert decoded.problems[0].line == line
        assert decoded.problems[0].gate == "decode"

    def test_a_tab_is_named(self) -> None:
        assert "tab" in decode(HEAD + "profiles:\n\t- {}").problems[0].hint


class TestFields:
    @pytest.mark.parametrize(
        ("line", "path", "words", "hint"),
        [
            pytest.param("foo: 1", "foo", "unknown field", "Known", id="unknown"),
            pytest.param(
                "Profiles: []", "Profiles", "unknown", "mean profiles?", id="case"
            ),
            pytest.param(
                'parallelism: "4"', "parallelism", "whole", "quotes", id="quoted"
            ),
            pytest.param("parallelism: 1.5", "parallelism", "whole", "", id="fraction"),
            pytest.param(
                "parallelism: 2147483648", "parallelism", "int32", "", id="too large"
            ),
            pytest.param("enableProfiling: 1", "enableProfiling", "or", "", id="bool"),
            pytest.param("profiles: {}", "profiles", "must be a list", "", id="list"),
            pytest.param("profiles: [1]", "profiles[0]", "a mapping", "", id="mapping"),
            pytest.param(
                "clientConnection: {kubeconfig: 5}",
                "clientConnection.kubeconfig",
                "a text, not 5",
                "quotes",
                id="text",
            ),
            pytest.param(
                'leaderElection: {leaseDuration: "5"}',
                "leaderElection.leaseDuration",
                "duration",
                '"5s"',
                id="duration",
            ),
            pytest.param(
                "extenders: [{tlsConfig: {caData: '?'}}]",
                "extenders[0].tlsConfig.caData",
                "base64",
                "",
                id="base64",
            ),
        ],
    )
    def test_problem(self, line: str, path: str, words: str, hint: str) -> None:
        (problem,) = decode(HEAD + line).problems
        assert (problem.path, problem.line) == (path, 3)
        assert words in problem.message
        assert hint in problem.hint

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param("parallelism: 010", id="octal"),
            pytest.param("parallelism: 1e1", id="exponent"),
            pytest.param("parallelism: 0x1F", id="hexadecimal"),
            pytest.param("enableProfiling: yes", id="YAML 1.1 bool"),
            pytest.param("enableProfiling: null", id="null"),
            pytest.param("clientConnection: {qps: 0.5}", id="float"),
            pytest.param("leaderElection: {leaseDuration: 1m30s}", id="duration"),
            pytest.param("parallelism: !!int '4'", id="tagged"),
        ],
    )
    def test_fits(self, line: str) -> None:
        assert decode(HEAD + line).problems == ()

    def test_octal_is_read_as_go_does(self) -> None:
        assert document(HEAD + "parallelism: 010").data["parallelism"] == 8

    def test_all_problems_at_once_with_their_columns(self) -> None:
        source = HEAD + "parallelism: x\nfoo: 1\nprofiles:\n- schedulerNam: a\n"
        found = [(p.path, p.line, p.column) for p in decode(source).problems]
        assert found == [
            ("parallelism", 3, 14),
            ("foo", 4, 1),
            ("profiles[0].schedulerNam", 6, 3),
        ]

    def test_duplicate_keys(self) -> None:
        (problem,) = decode(HEAD + "parallelism: 1\nparallelism: 2\n").problems
        assert "stands twice, first in line 3" in problem.message
        assert problem.line == 4

    def test_unknown_fields_do_not_silence_later_gates(self) -> None:
        source = text(foo=1, percentageOfNodesToScore=101)
        assert {p.gate for p in problems(source)} == {"decode", "validate"}


class TestDocuments:
    def test_only_the_first_counts(self) -> None:
        decoded = decode(HEAD + "---\nanything: [\n")
        assert decoded.document is not None
        (warning,) = decoded.problems
        assert (warning.severity, warning.line) == ("warning", 3)
        assert "only the first document" in warning.message

    @pytest.mark.parametrize(
        "source",
        [
            pytest.param("\ufeff" + HEAD, id="byte order mark"),
            pytest.param(HEAD.replace("\n", "\r\n"), id="CRLF"),
            pytest.param(HEAD.encode(), id="bytes"),
            pytest.param(
                '{\t"apiVersion": "kubescheduler.config.k8s.io/v1",\n'
                '\t"kind": "KubeSchedulerConfiguration"}',
                id="JSON with tabs",
            ),
        ],
    )
    def test_reads(self, source: str | bytes) -> None:
        assert decode(source).problems == ()

    def test_merge_keys(self) -> None:
        source = HEAD + (
            "leaderElection: &e {leaderElect: false}\n"
            "clientConnection: {qps: 5}\n"
            "profiles:\n- &p {percentageOfNodesToScore: 7, schedulerName: a}\n"
            "- {<<: *p}\n"
        )
        assert [p["schedulerName"] for p in document(source).profiles] == ["a", "a"]

    def test_a_merged_key_cannot_be_overridden(self) -> None:
        source = (
            HEAD + "profiles:\n- &p {schedulerName: a}\n- {<<: *p, schedulerName: b}"
        )
        (problem,) = decode(source).problems
        assert "'schedulerName' stands twice" in problem.message


class TestRows:
    @pytest.mark.parametrize(
        ("profiles", "rows"),
        [
            pytest.param(None, [("default-scheduler", {})], id="none written"),
            pytest.param([{}], [("default-scheduler", {})], id="no name"),
            pytest.param(
                [
                    {"schedulerName": "a", "pluginConfig": [{"name": "X"}]},
                    {
                        "schedulerName": "b",
                        "pluginConfig": [{"name": "Y", "args": {"z": [1]}}],
                    },
                ],
                [("a", {"X": {}}), ("b", {"Y": {"z": [1]}})],
                id="two",
            ),
        ],
    )
    def test_rows(self, profiles: object, rows: list[tuple[str, object]]) -> None:
        found = derive_rows(document(text(profiles=profiles)))
        assert found == tuple(ProfileRow(name, configs) for name, configs in rows)  # type: ignore[arg-type]


PIECES = st.sampled_from(
    [
        HEAD, "profiles:\n", "- ", "  ", "\n", "\t", "&a ", "*a", "<<: ", "{", "}", "[",
        "]", ": ", ", ", "plugins:", "score:", "enabled:", "name: ", "NetworkTraffic",
        "weight: ", "-1", "0o9", "1e999", "pluginConfig:", "args:", "|\n", '"', "'",
        "---\n", "!!int ", "\ud800", "\x00", "\u2028", "null", "true", "extenders:",
        "? ", "%YAML 1.1\n", "leaderElection: ", "5s", "schedulerName: ", "queueSort:",
    ]
)  # fmt: skip


@given(st.one_of(st.text(), st.binary(), st.lists(PIECES).map("".join)))
@settings(max_examples=2000, deadline=None, derandomize=True)
def test_never_raises(source: str | bytes) -> None:
    decoded = decode(source)
    assert decoded.document is not None or decoded.problems
    assert all(p.line >= 1 and p.column >= 1 and p.message for p in decoded.problems)
    if decoded.document is not None:
        validate(decoded.document)


FIELDS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("plugins", "score", "filter", "enabled", "disabled", "name"),
                    *("weight", "pluginConfig", "args", "schedulerName"),
                    *("queueSort", "multiPoint"),
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(FIELDS, FIELDS, FIELDS)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_value_breaks_a_gate(profiles: object, extenders: object, x: object) -> None:
    source = text(profiles=[profiles], extenders=[extenders], leaderElection=x)
    assert isinstance(problems(source), list)
