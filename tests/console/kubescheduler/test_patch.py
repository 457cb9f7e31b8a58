from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.kubescheduler.document import decode
from console.kubescheduler.patch import PatchError, set_plugin_args
from tests.console.kubescheduler.documents import HEAD

N = "NetworkTraffic"
BLOCK = (
    HEAD
    + """\
profiles:
# the first
- schedulerName: a   # name
  pluginConfig:
    # before ours
    -   name: NetworkTraffic
        args:
          # noise
          deadBandPercent: 2   # percent
          exempt:
            score: {namespaces: [kube-system]}  # theirs
          onMissing: "neutral"
    - name: Other
      args: [1, 2]
- schedulerName: b
  plugins: {}   # none

# the end
"""
)
NO_ARGS = HEAD + "profiles:\n- schedulerName: a\n  pluginConfig:\n  - name: {}{}\n"
SHAPES = {
    "block": BLOCK,
    "block with CRLF": BLOCK.replace("\n", "\r\n"),
    "no line break at the end": BLOCK.rstrip().removesuffix("# the end").rstrip(),
    "byte order mark": "\ufeff" + BLOCK,
    "no args": NO_ARGS.format(N, ""),
    "null args": NO_ARGS.format(N, "\n    args:"),
    "null word": NO_ARGS.format(N, "\n    args: null # none"),
    "empty args": NO_ARGS.format(N, "\n    args: {} # none"),
    "args first": HEAD
    + "profiles:\n- schedulerName: a\n  pluginConfig:\n"
    + "  - args:\n      x: 1\n    name: NetworkTraffic\n",
    "other plugin only": NO_ARGS.format("Other", ""),
    "no pluginConfig": HEAD + "profiles:\n- schedulerName: a\n# end",
    "empty pluginConfig": HEAD + "profiles:\n- {schedulerName: a, pluginConfig: []}\n",
    "null pluginConfig": HEAD + "profiles:\n- schedulerName: a\n  pluginConfig:\n",
    "flow profile": HEAD + "profiles: [{schedulerName: a}] # one\n",
    "flow config": HEAD
    + "profiles:\n- schedulerName: a\n"
    + "  pluginConfig: [{name: NetworkTraffic, args: {a: 1 , b: x}} ] # c\n",
    "block scalar": NO_ARGS.format(
        N, "\n    args:\n      a: |\n        x\n\n      b: 2"
    ),
    "JSON": json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {
                    "schedulerName": "a",
                    "pluginConfig": [{"name": N, "args": {"a": 1, "b": [1]}}],
                }
            ],
        },
        indent="\t",
    ),
}
KEYS = st.one_of(
    st.sampled_from(["deadBandPercent", "exempt", "onMissing", "a", "b", "y", "null"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**12), 10**12),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.sampled_from(["yes", "010", "1e3", "~", "# x", "a: b", "*", "\n", "\u2028"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
ARGS = st.dictionaries(KEYS.filter(lambda key: key != "<<"), VALUES, max_size=4)


def data_of(source: str) -> Any:
    document = decode(source).document
    assert document is not None
    return dict(document.data)


def changed(source: str, args: dict[str, Any], name: str = "a", plugin: str = N) -> str:
    return set_plugin_args(source, scheduler_name=name, plugin=plugin, args=args)


def with_args(data: Any, args: dict[str, Any]) -> Any:
    (profile,) = [p for p in data["profiles"] if p["schedulerName"] == "a"]
    configs = profile.get("pluginConfig") or []
    profile["pluginConfig"] = configs
    ours = [config for config in configs if config["name"] == N]
    if not ours:
        configs.append({"name": N})
    (ours or configs[-1:])[0]["args"] = args
    return data


@pytest.mark.parametrize("source", SHAPES.values(), ids=SHAPES.keys())
@given(args=ARGS)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_patch_then_parse_is_parse_then_change(
    source: str, args: dict[str, Any]
) -> None:
    result = changed(source, args)
    expected = with_args(data_of(source), args)
    assert json.dumps(data_of(result), sort_keys=True) == json.dumps(
        expected, sort_keys=True
    )
    assert changed(result, args) == result


@given(args=ARGS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_bytes_outside_the_arguments_stay(args: dict[str, Any]) -> None:
    before, _, rest = BLOCK.partition("        args:")
    after = rest[rest.index("    - name: Other") :]
    result = changed(BLOCK, args)
    assert result.startswith(before)
    assert result.endswith(after)


@pytest.mark.parametrize(
    ("source", "args", "old", "new"),
    [
        pytest.param(
            BLOCK,
            {
                "deadBandPercent": 8,
                "exempt": {"score": {"namespaces": ["kube-system"]}},
                "onMissing": "neutral",
            },
            "deadBandPercent: 2   # percent",
            "deadBandPercent: 8   # percent",
            id="one value",
        ),
        pytest.param(
            BLOCK,
            {
                "deadBandPercent": 2,
                "exempt": {"score": {"namespaces": ["x", "y"]}},
                "onMissing": "neutral",
            },
            "[kube-system]}  # theirs",
            '["x", "y"]}  # theirs',
            id="deep in a flow mapping",
        ),
        pytest.param(
            BLOCK,
            {
                "deadBandPercent": 2,
                "exempt": {"score": {"namespaces": ["kube-system"]}},
            },
            '          onMissing: "neutral"\n',
            "",
            id="one removed",
        ),
        pytest.param(
            SHAPES["no args"],
            {"deadBandPercent": 3, "exempt": {"a": "b c"}},
            "name: NetworkTraffic\n",
            "name: NetworkTraffic\n    args:\n      deadBandPercent: 3\n"
            '      exempt:\n        a: "b c"\n',
            id="args added",
        ),
        pytest.param(
            SHAPES["other plugin only"],
            {"deadBandPercent": 3},
            "  - name: Other\n",
            "  - name: Other\n  - name: NetworkTraffic\n    args:\n"
            "      deadBandPercent: 3\n",
            id="entry added",
        ),
        pytest.param(
            SHAPES["no pluginConfig"],
            {"deadBandPercent": 3},
            "- schedulerName: a\n",
            "- schedulerName: a\n  pluginConfig:\n  - name: NetworkTraffic\n"
            "    args:\n      deadBandPercent: 3\n",
            id="pluginConfig added",
        ),
        pytest.param(
            SHAPES["flow config"],
            {"a": 1, "b": "x", "c": 2},
            "{a: 1 , b: x}",
            '{a: 1 , b: x, "c": 2}',
            id="key added in flow",
        ),
        pytest.param(SHAPES["JSON"], {"a": 5, "b": [1]}, '"a": 1', '"a": 5', id="JSON"),
    ],
)
def test_text(source: str, args: dict[str, Any], old: str, new: str) -> None:
    assert changed(source, args) == source.replace(old, new, 1)
    windows = source.replace("\n", "\r\n")
    assert changed(windows, args) == source.replace(old, new, 1).replace("\n", "\r\n")


def test_json_stays_json() -> None:
    result = changed(SHAPES["JSON"], {"a": "é\u2028", "c": {"d": None}})
    assert json.loads(result)["profiles"][0]["pluginConfig"][0]["args"] == {
        "a": "é\u2028",
        "c": {"d": None},
    }


def test_the_same_arguments_change_nothing() -> None:
    args = data_of(BLOCK)["profiles"][0]["pluginConfig"][0]["args"]
    assert changed(BLOCK, args) is BLOCK


@pytest.mark.parametrize(
    ("source", "name", "args", "words"),
    [
        pytest.param(BLOCK, "c", {}, "no profile 'c'", id="no such profile"),
        pytest.param(HEAD, "default-scheduler", {}, "no profile", id="no profiles"),
        pytest.param("a: [", "a", {}, "must decode before", id="does not decode"),
        pytest.param(BLOCK + "foo: 1", "a", {}, "line 21", id="unknown field"),
        pytest.param(BLOCK, "a", {"x": float("nan")}, "as JSON", id="not JSON"),
        pytest.param(BLOCK, "a", {"x": "\ud800"}, "as JSON", id="half a character"),
        pytest.param(
            HEAD
            + "profiles:\n- {schedulerName: a, pluginConfig: &p [{name: X}]}\n"
            + "- {schedulerName: b, pluginConfig: *p}\n",
            "b",
            {"x": 1},
            "edit the text itself",
            id="shared with another profile",
        ),
        pytest.param(
            NO_ARGS.format(N, "") + f"  - name: {N}\n", "a", {}, "twice", id="twice"
        ),
    ],
)
def test_refused(source: str, name: str, args: dict[str, Any], words: str) -> None:
    with pytest.raises(PatchError, match=words):
        changed(source, args, name)
