from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from console.models import AuditEntry
from console.services import clusters
from scoring.models import Cluster, ExtenderKey, Version
from scoring.secrets import SecretError


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

    def test_two_keys_while_rotating(
        self, cluster: Cluster, settings: Settings
    ) -> None:
        settings.EXTENDER_KEY = "the-next-key"
        clusters.ensure_default_cluster()
        assert ExtenderKey.objects.count() == 2
        assert clusters.extender_key(cluster) == "the-next-key"

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
