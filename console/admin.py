"""The Django admin: users, and plugin arguments through the publish service.

Everything else is shown read-only: revisions, policies and audit are facts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from console.kubescheduler.arguments import ArgumentsError, read_arguments
from console.models import (
    AuditEntry,
    PluginConfig,
    Revision,
    SchedulerConfiguration,
    SchedulerProfile,
    User,
)
from console.services import configurations
from console.services.configurations import (
    NothingChanged,
    Publication,
    PublishRefused,
    RevisionConflict,
)
from scoring.admin import ReadOnlyAdmin

if TYPE_CHECKING:  # these classes take a parameter in their stubs only
    PluginConfigModelForm = forms.ModelForm[PluginConfig]
    PluginConfigModelAdmin = admin.ModelAdmin[PluginConfig]
    AnyUserAdmin = UserAdmin[User]
else:
    PluginConfigModelForm = forms.ModelForm
    PluginConfigModelAdmin = admin.ModelAdmin
    AnyUserAdmin = UserAdmin

admin.site.site_header = "Bandmaster administration"
admin.site.site_title = "Bandmaster"
admin.site.index_title = "Administration"


@admin.register(User)
class BandmasterUserAdmin(AnyUserAdmin):
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        ("Bandmaster", {"fields": ("must_change_password",)}),
    )


@admin.register(SchedulerConfiguration)
class SchedulerConfigurationAdmin(ReadOnlyAdmin):
    list_display = ("name", "cluster", "head", "created_at")


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    list_display = (
        "configuration",
        "number",
        "kind",
        "author",
        "message",
        "created_at",
    )
    list_filter = ("kind", "configuration")


@admin.register(SchedulerProfile)
class SchedulerProfileAdmin(ReadOnlyAdmin):
    list_display = ("scheduler_name", "configuration")
    search_fields = ("scheduler_name",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "source", "action", "target", "summary", "reason")
    list_filter = ("action", "source")
    search_fields = ("actor", "target", "summary", "reason")


class PluginConfigForm(PluginConfigModelForm):
    """Arguments as YAML or JSON; saving publishes a new revision of the document."""

    args_text = forms.CharField(
        label="Arguments",
        widget=forms.Textarea(attrs={"rows": 14, "cols": 80, "spellcheck": "false"}),
        required=False,
        help_text="YAML or JSON. Comments elsewhere in the document are kept.",
    )
    message = forms.CharField(
        max_length=500,
        help_text="What changes, and why. It is kept with the revision.",
        widget=forms.TextInput(attrs={"size": 80}),
    )
    base = forms.IntegerField(widget=forms.HiddenInput)

    class Meta:
        model = PluginConfig
        fields: list[str] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        head = self.instance.profile.configuration.head
        self.fields["base"].initial = head.pk if head else None
        self.fields["args_text"].initial = json.dumps(self.instance.args, indent=2)
        self.author = ""
        self.conflict = False
        self.published: Revision | None = None

    def clean_args_text(self) -> dict[str, Any]:
        try:
            return read_arguments(self.cleaned_data["args_text"])
        except ArgumentsError as exc:
            raise ValidationError(str(exc)) from exc

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            self._publish(cleaned)
        return cleaned

    def _publish(self, cleaned: dict[str, Any]) -> None:
        """Publishing is what finds out whether the arguments are right."""
        base = Revision.objects.filter(pk=cleaned["base"]).first()
        try:
            self.published = configurations.publish_plugin_args(
                plugin_config=self.instance,
                args=cleaned["args_text"],
                base=base,
                publication=Publication(
                    author=self.author,
                    message=cleaned["message"],
                    source="admin",
                    summary=f"changed the arguments of {self.instance.plugin} "
                    f"in {self.instance.profile}",
                ),
            )
        except PublishRefused as exc:
            for problem in exc.problems:
                hint = f". {problem.hint}" if problem.hint else "."
                self.add_error("args_text", f"{problem.path}: {problem.message}{hint}")
        except ValidationError as exc:
            self.add_error("args_text", exc.messages)
        except RevisionConflict as exc:
            self.conflict = True
            self.add_error(None, str(exc))
        except NothingChanged:
            self.add_error("args_text", "These are the arguments in force already.")


@admin.register(PluginConfig)
class PluginConfigAdmin(PluginConfigModelAdmin):
    form = PluginConfigForm
    list_display = ("plugin", "profile", "configuration", "args")
    list_filter = ("plugin",)
    search_fields = ("plugin", "profile__scheduler_name")
    list_select_related = ("profile__configuration__cluster",)
    fields = ("args_text", "message", "base")

    @admin.display(description="configuration")
    def configuration(self, row: PluginConfig) -> SchedulerConfiguration:
        return row.profile.configuration

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: PluginConfig | None = None
    ) -> bool:
        return False

    def get_form(
        self,
        request: HttpRequest,
        obj: PluginConfig | None = None,
        change: bool = False,  # noqa: FBT001, FBT002 - Django's signature
        **kwargs: Any,
    ) -> type[PluginConfigForm]:
        made = super().get_form(request, obj, change, **kwargs)
        author = request.user.get_username()

        class AuthoredForm(made):  # type: ignore[misc, valid-type] # made at run time
            def __init__(self, *args: Any, **kw: Any) -> None:
                super().__init__(*args, **kw)
                self.author = author

        return AuthoredForm

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponse:
        """409 when somebody published first, 422 for other refusals."""
        response = super().render_change_form(request, context, *args, **kwargs)
        form = context["adminform"].form
        if form.errors:
            response.status_code = 409 if form.conflict else 422
        return response

    def save_model(
        self,
        request: HttpRequest,
        obj: PluginConfig,
        form: PluginConfigModelForm,
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        """Nothing is left to save: the form published, and that wrote the row."""

    def response_change(self, request: HttpRequest, obj: PluginConfig) -> HttpResponse:
        head = SchedulerProfile.objects.get(pk=obj.profile_id).configuration.head
        hot = head is not None and head.compiled_revision != head.number
        effect = (
            "It takes effect within a second."
            if hot
            else "It waits for a restart of the scheduler: its document changed."
        )
        messages.success(request, f"Published {head}. {effect}")
        return HttpResponseRedirect("../..")
