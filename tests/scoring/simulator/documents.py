"""Stock documents as they come out of a publish, with the key filled in."""

from __future__ import annotations

from typing import Any

import yaml

KEY = "s3cret-key"
QUERY = "?configuration=main&revision=3&weight=5"


def entry(url: str, **changes: Any) -> dict[str, Any]:
    """The extender entry of the document; None takes a key away."""
    host = url.removeprefix("http://")
    made: dict[str, Any] = {
        "urlPrefix": f"http://bandmaster:{KEY}@{host}/extender/default",
        "prioritizeVerb": f"prioritize{QUERY}",
        "weight": 5,
        "httpTimeout": "200ms",
        "nodeCacheCapable": True,
        "ignorable": True,
        **changes,
    }
    return {key: value for key, value in made.items() if value is not None}


def document(
    *entries: dict[str, Any], schedulers: tuple[str, ...] = ("default-scheduler",)
) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": name} for name in schedulers],
            "extenders": list(entries),
        }
    )
