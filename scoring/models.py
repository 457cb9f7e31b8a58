"""Tables of the data plane. No foreign key leads to the console."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

# Django's URLField refuses names without a dot, such as those of Services
http_url_validator = RegexValidator(
    r"\Ahttps?://[^\s/@]+(/[^\s]*)?\Z",
    "Write an http or https URL without user name, "
    "for example http://prometheus.monitoring:9090",
)
slug_validator = RegexValidator(
    r"\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z",
    "Use 1 to 63 lower-case letters, digits and dashes; start and end with a letter "
    "or digit.",
)


class Cluster(models.Model):
    """One Kubernetes cluster: how it is measured and how its scheduler reaches us."""

    name = models.CharField(max_length=63, unique=True, validators=[slug_validator])
    extender_url = models.CharField(
        max_length=500,
        validators=[http_url_validator],
        help_text="Where the cluster's kube-scheduler reaches the extender, "
        "for example http://10.0.0.5:8001",
    )
    window_seconds = models.PositiveIntegerField(
        default=60, help_text="Seconds that a rate looks back."
    )
    tick_seconds = models.PositiveIntegerField(
        default=15, help_text="Seconds between two collections."
    )
    simulated = models.BooleanField(default=False)
    neutral = models.BooleanField(default=False)
    neutral_reason = models.CharField(max_length=200, blank=True)
    neutral_by = models.CharField(max_length=150, blank=True)
    neutral_since = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(window_seconds__gte=5, window_seconds__lte=3600),
                name="scoring_cluster_window_in_range",
            ),
            models.CheckConstraint(
                condition=Q(tick_seconds__gte=1, tick_seconds__lte=3600),
                name="scoring_cluster_tick_in_range",
            ),
            models.CheckConstraint(
                condition=Q(neutral=False) | ~Q(neutral_reason=""),
                name="scoring_cluster_neutral_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PrometheusSource(models.Model):
    """Where a cluster's metrics come from."""

    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, related_name="prometheus_source"
    )
    url = models.CharField(max_length=500, blank=True, validators=[http_url_validator])
    selector = models.CharField(
        max_length=500,
        blank=True,
        help_text='Label matchers that choose this cluster, such as cluster="prod".',
    )

    def __str__(self) -> str:
        return self.url or "none"


class ExtenderKey(models.Model):
    """A password that kube-scheduler may present; two may be valid while rotating."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="extender_keys"
    )
    digest = models.CharField(max_length=64, unique=True)  # sha256, hexadecimal
    secret = models.BinaryField()  # encrypted with scoring.secrets
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"key {self.digest[:8]} of {self.cluster}"


class ScoringPolicyQuerySet(models.QuerySet["ScoringPolicy"]):
    def for_extender(self, cluster: Cluster) -> ScoringPolicyQuerySet:
        """Live policies, newest revision first within each (configuration, R)."""
        return self.filter(cluster=cluster, slot=ScoringPolicy.Slot.LIVE).order_by(
            "configuration", "-compiled_revision", "-revision"
        )


class ScoringPolicy(models.Model):
    """Compiled rules for one schedulerName; immutable, written by publish alone."""

    class Slot(models.TextChoices):
        LIVE = "live"
        SHADOW = "shadow"
        CANARY = "canary"

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="scoring_policies"
    )
    configuration = models.CharField(max_length=63)
    compiled_revision = models.PositiveIntegerField()
    scheduler_name = models.CharField(max_length=253)
    slot = models.CharField(max_length=6, choices=Slot.choices, default=Slot.LIVE)
    revision = models.PositiveIntegerField()
    source_sha256 = models.CharField(max_length=64)
    document = models.BinaryField()  # scoring.framework.policy.encode_policy
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ScoringPolicyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "scoring policies"
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "cluster",
                    "configuration",
                    "compiled_revision",
                    "scheduler_name",
                    "slot",
                    "revision",
                ],
                name="scoring_policy_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.configuration} r{self.revision} {self.scheduler_name}"


class Lease(models.Model):
    """Who may do a singleton job, until when; `fence` grows with each new holder."""

    name = models.CharField(max_length=100, primary_key=True)
    owner = models.CharField(max_length=100, blank=True)
    until = models.DateTimeField()
    fence = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name} #{self.fence}"


class NodeTable(models.Model):
    """Names, zones and capacities of a cluster's nodes; a new row only on a change."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64)
    blob = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "digest"], name="scoring_nodetable_unique"
            )
        ]

    def __str__(self) -> str:
        return self.digest[:12]


class Snapshot(models.Model):
    """The facts of one tick as one compressed blob; its primary key is its version."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="snapshots"
    )
    node_table = models.ForeignKey(NodeTable, on_delete=models.PROTECT)
    schema_version = models.PositiveSmallIntegerField()
    collected_at = models.DateTimeField(db_index=True)
    blob = models.BinaryField()

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "-id"], name="scoring_snapshot_newest")
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {self.pk}"


class Tick(models.Model):
    """One collection cycle with its outcome; kept longer than its snapshot."""

    class Outcome(models.TextChoices):
        RUNNING = "running"
        OK = "ok"
        PARTIAL = "partial"
        FAILED = "failed"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="ticks")
    fence = models.PositiveBigIntegerField()
    started_at = models.DateTimeField(db_index=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(
        max_length=7, choices=Outcome.choices, default=Outcome.RUNNING
    )
    # sentences for the operator: what failed and what to do; no secrets
    prometheus_error = models.CharField(max_length=500, blank=True)
    cluster_error = models.CharField(max_length=500, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    nodes = models.PositiveIntegerField(default=0)
    nodes_with_data = models.PositiveIntegerField(default=0)
    durations = models.JSONField(default=dict, blank=True)  # step -> seconds
    snapshot = models.ForeignKey(
        Snapshot, on_delete=models.SET_NULL, null=True, blank=True
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "fence"], name="scoring_tick_one_per_fence"
            )
        ]
        indexes = [models.Index(fields=["cluster", "-id"], name="scoring_tick_newest")]

    def __str__(self) -> str:
        return f"{self.cluster} #{self.fence} {self.outcome}"


class Version(models.Model):
    """One counter per cluster, raised by everything that the extender must reload."""

    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, primary_key=True, related_name="version"
    )
    counter = models.PositiveBigIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.cluster} v{self.counter}"

    @classmethod
    def bump(cls, cluster: Cluster) -> None:
        """Call inside the transaction whose rows the extender must see."""
        cls.objects.get_or_create(cluster=cluster)
        cls.objects.filter(cluster=cluster).update(counter=models.F("counter") + 1)
