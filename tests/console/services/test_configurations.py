from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from pytest_django import DjangoAssertNumQueries

from console.kubescheduler.document import decode, derive_rows
from console.models import (
    AuditEntry,
    Draft,
    PluginConfig,
    Revision,
    SchedulerConfiguration,
    User,
)
from console.services import configurations
from console.services.configurations import (
    NothingChanged,
    Publication,
    PublishRefused,
    RevisionConflict,
    RevisionOptions,
)
from scoring.framework.policy import decode_policy
from scoring.models import Cluster, ScoringPolicy, Version
from tests.console.documents import DOCUMENT

PUBLICATION = Publication("ana", "because", "ui")


def publish(
    configuration: SchedulerConfiguration, text: str, **changes: Any
) -> Revision:
    arguments: dict[str, Any] = {
        "configuration": configuration,
        "text": text,
        "options": RevisionOptions(),
        "base": configuration.head,
        "publication": PUBLICATION,
    }
    revision = configurations.publish_revision(**(arguments | changes))
    configuration.refresh_from_db()
    return revision


def derived(configuration: SchedulerConfiguration) -> list[tuple[str, dict[str, Any]]]:
    return [
        (
            profile.scheduler_name,
            {row.plugin: row.args for row in profile.plugin_configs.all()},
        )
        for profile in configuration.profiles.order_by("position")
    ]


def rows_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    document = decode(text).document
    assert document is not None
    return [
        (row.scheduler_name, dict(row.plugin_configs)) for row in derive_rows(document)
    ]


def everything_stored() -> list[int]:
    return [
        model.objects.count()
        for model in (Revision, PluginConfig, ScoringPolicy, AuditEntry)
    ] + [Version.objects.get().counter]


class TestPublish:
    def test_writes_revision_rows_policies_and_audit(
        self, configuration: SchedulerConfiguration
    ) -> None:
        head = configuration.head
        assert head is not None
        assert head.number == head.compiled_revision == 1
        assert head.text == DOCUMENT
        assert "NetworkTraffic" not in head.stock_document
        assert "a-key-of-the-tests" not in head.stock_document
        assert derived(configuration) == rows_of(DOCUMENT)
        policy = decode_policy(bytes(ScoringPolicy.objects.get().document))
        assert policy is not None
        assert policy.scheduler_name == "default-scheduler"
        assert policy.plugins[0].weight == 5
        entry = AuditEntry.objects.filter(action="configuration.publish").get()
        assert (entry.actor, entry.reason) == ("ana", "first")

    def test_an_argument_is_hot(self, configuration: SchedulerConfiguration) -> None:
        before = configuration.head
        assert before is not None
        text = DOCUMENT.replace("deadBandPercent: 2", "deadBandPercent: 3")
        revision = publish(configuration, text)
        assert revision.number == 2
        assert revision.compiled_revision == 1
        assert revision.stock_document == before.stock_document
        newest = ScoringPolicy.objects.latest("pk")
        assert (newest.compiled_revision, newest.revision) == (1, 2)

    def test_a_weight_is_cold(self, configuration: SchedulerConfiguration) -> None:
        revision = publish(configuration, DOCUMENT.replace("weight: 5", "weight: 7"))
        assert revision.compiled_revision == revision.number == 2

    def test_rows_that_stay_keep_their_identity(
        self, configuration: SchedulerConfiguration
    ) -> None:
        before = PluginConfig.objects.get().pk
        text = DOCUMENT.replace("Percent: 2", "Percent: 4").replace("plain", "other")
        publish(configuration, text)
        assert PluginConfig.objects.get().pk == before
        assert derived(configuration) == rows_of(text)

    def test_the_draft_of_the_author_is_done(
        self, configuration: SchedulerConfiguration, author: User
    ) -> None:
        other = User.objects.create_user("ben")
        for user in (author, other):
            configurations.save_draft(
                configuration=configuration, author=user, text="half"
            )
        publish(configuration, DOCUMENT.replace("weight: 5", "weight: 6"))
        assert [draft.author for draft in Draft.objects.all()] == [other]

    def test_the_extender_is_told(self, configuration: SchedulerConfiguration) -> None:
        before = Version.objects.get().counter
        publish(configuration, DOCUMENT.replace("weight: 5", "weight: 6"))
        assert Version.objects.get().counter > before


class TestRefusedPublishWritesNothing:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            pytest.param("profiles: [", "", id="not YAML"),
            pytest.param("{}", "apiVersion", id="no apiVersion"),
            pytest.param(
                DOCUMENT.replace("weight: 5", "wieght: 5"), "wieght", id="unknown field"
            ),
            pytest.param(
                DOCUMENT.replace("weight: 5", "weight: -5"), "weight", id="negative"
            ),
            pytest.param(
                DOCUMENT.replace("deadBandPercent: 2", "deadBandPercent: much"),
                "deadBandPercent",
                id="wrong argument",
            ),
            pytest.param(
                DOCUMENT.replace("name: NetworkTraffic  #", "name: NetworkTrafic  #"),
                "NetworkTrafic",
                id="unknown plugin",
            ),
        ],
    )
    def test_bad_text(
        self, configuration: SchedulerConfiguration, text: str, words: str
    ) -> None:
        before = everything_stored()
        with pytest.raises(PublishRefused) as refused:
            publish(configuration, text)
        assert everything_stored() == before
        problems = refused.value.problems
        assert any(words in problem.message + problem.path for problem in problems)
        assert all(problem.line >= 1 for problem in problems)

    def test_no_message(self, configuration: SchedulerConfiguration) -> None:
        before = everything_stored()
        silent = dataclasses.replace(PUBLICATION, message="  ")
        with pytest.raises(ValidationError, match="what changes"):
            publish(configuration, DOCUMENT + "\n", publication=silent)
        assert everything_stored() == before

    def test_somebody_was_first(self, configuration: SchedulerConfiguration) -> None:
        old = configuration.head
        publish(configuration, DOCUMENT.replace("weight: 5", "weight: 6"))
        before = everything_stored()
        with pytest.raises(RevisionConflict, match="r2 by ana"):
            publish(configuration, DOCUMENT.replace("weight: 5", "weight: 9"), base=old)
        assert everything_stored() == before

    def test_the_same_text(self, configuration: SchedulerConfiguration) -> None:
        before = everything_stored()
        with pytest.raises(NothingChanged):
            publish(configuration, DOCUMENT)
        assert everything_stored() == before

    def test_a_failure_at_the_last_step(
        self, configuration: SchedulerConfiguration, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = everything_stored()

        def fail(*args: object, **kwargs: object) -> None:
            raise RuntimeError("power cut")

        monkeypatch.setattr("console.services.audit.record", fail)
        with pytest.raises(RuntimeError):
            publish(configuration, DOCUMENT.replace("weight: 5", "weight: 6"))
        assert everything_stored() == before


class TestPluginArgs:
    def test_comments_stay(self, configuration: SchedulerConfiguration) -> None:
        revision = configurations.publish_plugin_args(
            plugin_config=PluginConfig.objects.get(),
            args={"deadBandPercent": 8},
            base=configuration.head,
            publication=PUBLICATION,
        )
        assert "# noise" in revision.text or "# ours" in revision.text
        assert "# the cluster's only scheduler" in revision.text
        assert PluginConfig.objects.get().args == {"deadBandPercent": 8}

    def test_wrong_argument(self, configuration: SchedulerConfiguration) -> None:
        with pytest.raises(PublishRefused, match="deadBandPercent"):
            configurations.publish_plugin_args(
                plugin_config=PluginConfig.objects.get(),
                args={"deadBandPercent": -8},
                base=configuration.head,
                publication=PUBLICATION,
            )
        assert PluginConfig.objects.get().args == {"deadBandPercent": 2}


def test_import_makes_all_or_nothing(cluster: Cluster) -> None:
    with pytest.raises(PublishRefused):
        configurations.import_revision(
            cluster=cluster, name="second", text="[]", publication=PUBLICATION
        )
    assert not SchedulerConfiguration.objects.exists()


def test_recompile_when_the_extender_moves(
    configuration: SchedulerConfiguration,
) -> None:
    assert configurations.recompile(configuration) is None
    Cluster.objects.update(extender_url="http://10.0.0.9:8001")
    fresh = SchedulerConfiguration.objects.get(pk=configuration.pk)
    revision = configurations.recompile(fresh)
    assert revision is not None
    assert "10.0.0.9:8001" in revision.stock_document


class TestImmutable:
    def test_a_revision_cannot_be_saved_again(
        self, configuration: SchedulerConfiguration
    ) -> None:
        head = configuration.head
        assert head is not None
        with pytest.raises(TypeError, match="immutable"):
            head.save()
        with pytest.raises(TypeError, match="immutable"):
            head.delete()

    @pytest.mark.parametrize("verb", ["UPDATE", "DELETE"])
    def test_the_database_keeps_the_audit(
        self, configuration: SchedulerConfiguration, verb: str
    ) -> None:
        statement = {
            "UPDATE": "UPDATE console_auditentry SET actor = 'nobody'",
            "DELETE": "DELETE FROM console_auditentry",
        }[verb]
        with (
            pytest.raises(IntegrityError, match="cannot be changed or deleted"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_publish_asks_the_database_little(
    configuration: SchedulerConfiguration,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(45):
        publish(configuration, DOCUMENT.replace("weight: 5", "weight: 6"))
