"""Forms of the pages; what they ask for is written by the services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm
from django.core.exceptions import ValidationError

from console.models import User
from console.services import passwords


class ChoosePasswordForm(PasswordChangeForm):
    """Replaces a password; the new one must be another one."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        new = cleaned.get("new_password1")
        if new and new == cleaned.get("old_password"):
            self.add_error(
                "new_password1",
                ValidationError("Choose a password that differs from the old one."),
            )
        return cleaned

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002
        chosen = self.cleaned_data["new_password1"]
        return passwords.choose_password(user=self.user, password=chosen, source="ui")


class NeutralForm(forms.Form):
    """Turns neutral answers on or off."""

    on = forms.TypedChoiceField(
        choices=(("1", "on"), ("0", "off")), coerce=lambda value: value == "1"
    )
    reason = forms.CharField(
        max_length=200,
        required=False,
        help_text="Everyone sees it in the banner, at most 200 characters.",
        error_messages={"max_length": "Use at most 200 characters."},
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("on") and not cleaned.get("reason"):
            self.add_error("reason", "Say why: everyone sees it in the banner.")
        return cleaned
