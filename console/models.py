"""Tables of the control plane: what operators see and edit."""

from __future__ import annotations

from typing import Any, NoReturn

from django.contrib.auth.models import AbstractUser
from django.db import models

from scoring.models import Cluster, slug_validator

IMMUTABLE = "a revision is immutable: publish a new one instead"


class User(AbstractUser):
    """A person. Roles are groups."""

    must_change_password = models.BooleanField(
        default=False, help_text="Ask for a new password at the next login."
    )


class SchedulerConfiguration(models.Model):
    """One KubeSchedulerConfiguration document of a cluster."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="configurations"
    )
    name = models.CharField(max_length=63, validators=[slug_validator])
    head = models.ForeignKey(
        "Revision", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"], name="console_configuration_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.name}"


class Draft(models.Model):
    """The unpublished text of one user; saved as typed, valid or not."""

    configuration = models.ForeignKey(
        SchedulerConfiguration, on_delete=models.CASCADE, related_name="drafts"
    )
    author = models.ForeignKey(User, on_delete=models.CASCADE)
    base = models.ForeignKey("Revision", on_delete=models.PROTECT, null=True)
    text = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["configuration", "author"], name="console_draft_one_per_user"
            )
        ]

    def __str__(self) -> str:
        return f"draft of {self.configuration} by {self.author}"


class Revision(models.Model):
    """A published text with its options; never changed afterwards."""

    class Kind(models.TextChoices):
        IMPORT = "import"
        CONVERT = "convert"
        PUBLISH = "publish"
        ROLLBACK = "rollback"

    configuration = models.ForeignKey(
        SchedulerConfiguration, on_delete=models.CASCADE, related_name="revisions"
    )
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.PUBLISH)
    text = models.TextField()
    options = models.JSONField(default=dict, blank=True)
    sha256 = models.CharField(max_length=64)
    author = models.CharField(max_length=150)
    message = models.CharField(max_length=500)
    created_at = models.DateTimeField(auto_now_add=True)
    # the result of compiling: R, and the stock document with a key placeholder
    compiled_revision = models.PositiveIntegerField()
    stock_document = models.TextField()
    warnings = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["configuration", "number"], name="console_revision_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.configuration} r{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError(IMMUTABLE)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(IMMUTABLE)


class SchedulerProfile(models.Model):
    """A profile of the head revision; derived, so that it can be searched."""

    configuration = models.ForeignKey(
        SchedulerConfiguration, on_delete=models.CASCADE, related_name="profiles"
    )
    scheduler_name = models.CharField(max_length=253)
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["configuration", "scheduler_name"],
                name="console_profile_unique",
            )
        ]

    def __str__(self) -> str:
        return self.scheduler_name


class PluginConfig(models.Model):
    """Arguments of one plugin in a profile of the head revision; derived."""

    profile = models.ForeignKey(
        SchedulerProfile, on_delete=models.CASCADE, related_name="plugin_configs"
    )
    plugin = models.CharField(max_length=253)
    args = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = "plugin config"
        constraints = [
            models.UniqueConstraint(
                fields=["profile", "plugin"], name="console_pluginconfig_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.plugin} in {self.profile}"


class AuditEntry(models.Model):
    """Who did what, when and why; rows are only ever added."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=150)
    source = models.CharField(max_length=10)  # ui, admin, api, cli
    action = models.CharField(max_length=40)
    target = models.CharField(max_length=200)
    summary = models.CharField(max_length=300)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return self.summary
