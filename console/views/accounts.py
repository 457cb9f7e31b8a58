"""Login, logout, the own password and the theme."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from console.forms import ChoosePasswordForm
from console.views.shell import THEME_COOKIE, THEMES

_YEAR = 365 * 86_400


class Login(LoginView):
    template_name = "console/login.html"
    redirect_authenticated_user = True


class Logout(LogoutView):
    """POST only, so that no link on another site can log somebody out."""


class Password(PasswordChangeView):
    """Changes the own password; somebody with a one-time password ends here."""

    template_name = "console/password.html"
    form_class = ChoosePasswordForm

    def form_valid(self, form: Form) -> HttpResponse:
        assert isinstance(form, ChoosePasswordForm)  # noqa: S101 - set above
        user = form.save()
        update_session_auth_hash(self.request, user)
        messages.success(self.request, "Your password is changed.")
        return redirect(_safe_next(self.request, reverse("home")))


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the choice in a cookie: the server renders it, so nothing flashes."""
    chosen = request.POST.get("theme", "")
    response = HttpResponseRedirect(_safe_next(request, reverse("home")))
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE,
            chosen,
            max_age=_YEAR,
            httponly=True,
            secure=request.is_secure(),
            samesite="Lax",
        )
    return response


def _safe_next(request: HttpRequest, fallback: str) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    here = {request.get_host()}
    if url_has_allowed_host_and_scheme(wanted, here, require_https=request.is_secure()):
        return wanted
    return fallback
