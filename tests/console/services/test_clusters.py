from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from console.models import AuditEntry
from console.services import clusters
from scoring.models import Cluster, ExtenderKey, Version
from scoring.secrets import SecretError, digest


class TestDefaultCluster:
    def test_twice_is_once(self, cluster: Cluster) -> None:
        clusters.ensure_default_cluster()
        assert Cluster.objects.count() == ExtenderKey.objects.count() == 1

    def test_the_environment_wins(self, cluster: Cluster, settings: Settings) -> None:
        settings.WINDOW_SECONDS = 20
        settings.PROMETHEUS_URL = "http://127.0.0.1:9"
        assert clusters.ensure_default_cluster().window_seconds == 20
        assert cluster.prometheus_source.url == ""
        cluster.refresh_from_db()
        assert cluster.prometheus_source.url == "http://127.0.0.1:9"

    def test_the_key_is_stored_encrypted(self, cluster: Cluster) -> None:
        row = ExtenderKey.objects.get()
        assert b"a-key-of-the-tests" not in bytes(row.secret)
        assert clusters.extender_key(cluster) == "a-key-of-the-tests"

    @pytest.mark.parametrize(
        ("keys", "valid"),
        [
            pytest.param(["b"], ["a", "b"], id="two while rotating"),
            pytest.param(["b", "c"], ["b", "c"], id="the oldest is retired"),
            pytest.param(["b", "a"], ["b", "a"], id="back to the first"),
        ],
    )
    def test_keys_rotate(
        self, cluster: Cluster, settings: Settings, keys: list[str], valid: list[str]
    ) -> None:
        ExtenderKey.objects.all().delete()
        for key in ["a", *keys]:
            settings.EXTENDER_KEY = key
            clusters.ensure_default_cluster()
        digests = ExtenderKey.objects.order_by("pk").values_list("digest", flat=True)
        assert list(digests) == [digest(key) for key in valid]
        assert clusters.extender_key(cluster) == keys[-1]

    def test_an_encryption_key_rotates(
        self, cluster: Cluster, settings: Settings
    ) -> None:
        settings.ENCRYPTION_KEY = f"new,{settings.ENCRYPTION_KEY}"
        assert clusters.extender_key(cluster) == "a-key-of-the-tests"
        settings.EXTENDER_KEY = "later"
        clusters.ensure_default_cluster()
        settings.ENCRYPTION_KEY = "new"
        assert clusters.extender_key(cluster) == "later"

    def test_another_encryption_key(self, cluster: Cluster, settings: Settings) -> None:
        settings.ENCRYPTION_KEY = "lost"
        with pytest.raises(SecretError, match="BANDMASTER_ENCRYPTION_KEY"):
            clusters.extender_key(cluster)


class TestNeutral:
    def set(self, cluster: Cluster, *, on: bool, reason: str = "") -> Cluster:
        return clusters.set_neutral(
            cluster=cluster, on=on, reason=reason, author="ana", source="ui"
        )

    def test_on_and_off(self, cluster: Cluster) -> None:
        before = Version.objects.get().counter
        self.set(cluster, on=True, reason="numbers look wrong")
        cluster.refresh_from_db()
        assert (cluster.neutral, cluster.neutral_by) == (True, "ana")
        assert Version.objects.get().counter == before + 1
        self.set(cluster, on=False)
        cluster.refresh_from_db()
        assert (cluster.neutral, cluster.neutral_reason) == (False, "")
        actions = AuditEntry.objects.values_list("action", flat=True)
        assert {"neutral.on", "neutral.off"} <= set(actions)

    @pytest.mark.parametrize("reason", ["", "   ", "x" * 201])
    def test_needs_a_reason(self, cluster: Cluster, reason: str) -> None:
        with pytest.raises(ValidationError):
            self.set(cluster, on=True, reason=reason)
        cluster.refresh_from_db()
        assert not cluster.neutral
