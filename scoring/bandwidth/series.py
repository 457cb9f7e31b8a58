"""One element of an instant vector, as all parts behind the Prometheus door see it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Series(msgspec.Struct, frozen=True, gc=False):
    """A label set with its value; `value` is NaN when it cannot be used.

    `timestamp` is the moment of evaluation in Unix seconds, not that of the sample.
    """

    labels: Mapping[str, str]
    value: float
    timestamp: float
