"""The PromQL that a tick asks: one query per metric for the whole cluster.

No query joins, so none can fail with "many-to-many": series are matched to nodes in
`scoring.bandwidth.identity`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from scoring.bandwidth.devices import DENIED_DEVICES

# by() drops every other label; all that can name a node must be kept
IDENTITY_LABELS = (
    *("cluster", "instance", "node", "nodename"),
    *("kubernetes_node", "node_name", "k8s_node_name"),
)

_MATCHER = re.compile(
    r"\s*(?P<label>[a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)\s*"
    r"(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')\s*"
)


class SelectorError(ValueError):
    """The selector is not a list of label matchers; the text says what to write."""


def check_selector(text: str) -> str:
    """`text` without surrounding space, when it is a comma-separated list of matchers.

    Anything else could end the braces of our queries early and run another query.
    Raises SelectorError.
    """
    text = text.strip()
    position = 0
    while position < len(text):
        found = _MATCHER.match(text, position)
        if found is None:
            raise SelectorError(
                f"the selector is not understood at character {position + 1}: write "
                'label matchers such as cluster="prod", separated by commas'
            )
        if found["label"] == "__name__":
            raise SelectorError("the selector may not choose the metric by __name__")
        position = found.end()
        if position < len(text) and text[position] != ",":
            raise SelectorError(
                f"the selector needs a comma at character {position + 1}"
            )
        position += 1
    return text.rstrip(", ")


def tick_queries(selector: str, window: int) -> Mapping[str, str]:
    """Name -> PromQL of what every tick needs; `window` in seconds."""
    keys = ", ".join(IDENTITY_LABELS)
    network = _braces(selector, f'device!~"{_DENY}"')
    idle = _braces(selector, 'mode=~"idle|iowait|steal"')
    received = f"node_network_receive_bytes_total{network}"
    sent = f"node_network_transmit_bytes_total{network}"
    cpu = f"node_cpu_seconds_total{idle}"
    return {
        "receive": f"max by ({keys}, device) (rate({received}[{window}s]))",
        "transmit": f"max by ({keys}, device) (rate({sent}[{window}s]))",
        "age": f"time() - max by ({keys}) (timestamp({received}))",
        "cpu": f"1 - avg by ({keys}) (sum without (mode) (rate({cpu}[{window}s])))",
    }


def speed_query(selector: str) -> str:
    """Link speeds in bytes per second; unknown ones (0, -125000) are left out."""
    keys = ", ".join(IDENTITY_LABELS)
    network = _braces(selector, f'device!~"{_DENY}"')
    return f"max by ({keys}, device) (node_network_speed_bytes{network} > 1e6)"


def interval_query(selector: str) -> str:
    """Seconds between two scrapes, per exporter.

    The exporter's clock is the value of its own series: the span of the values over
    their number minus one, so that a source that is minutes old is judged rightly.
    """
    keys = ", ".join(IDENTITY_LABELS)
    clock = f"node_time_seconds{_braces(selector)}[10m]"
    span = f"(max_over_time({clock}) - min_over_time({clock}))"
    return f"max by ({keys}) ({span} / (count_over_time({clock}) - 1))"


def uname_query(selector: str) -> str:
    """The host name that each exporter reports: the fifth rule of identity."""
    return f"max by (cluster, instance, nodename) (node_uname_info{_braces(selector)})"


def _braces(*matchers: str) -> str:
    return "{" + ", ".join(matcher for matcher in matchers if matcher) + "}"


_DENY = DENIED_DEVICES.replace("\\", "\\\\")
