"""Middleware: what is decided before any view."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.views import health

Next = Callable[[HttpRequest], HttpResponse]

# what somebody with a one-time password may still reach
_OPEN_NAMES = ("password", "logout", "theme")


def probes(get_response: Next) -> Next:
    """Answer probes before the host check, redirects and the session.

    A kubelet and Prometheus call by address, which is no allowed host.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        path = request.path_info.rstrip("/")
        if path == "/livez":
            return HttpResponse("ok\n", content_type="text/plain")
        if path == "/readyz":
            return health.readyz(detail=_logged_in(request))
        if path == "/metrics":
            return health.metrics()
        return get_response(request)

    return middleware


def _logged_in(request: HttpRequest) -> bool:
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return False
    request.session = SessionStore(key)
    try:
        return get_user(request).is_authenticated
    except DatabaseError:
        return False


def password_change(get_response: Next) -> Next:
    """Lead users with a one-time password to the page that replaces it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        user = request.user
        if not user.is_authenticated or not user.must_change_password:
            return get_response(request)
        path = request.path_info
        if path in {reverse(name) for name in _OPEN_NAMES}:
            return get_response(request)
        if path.startswith("/api/"):
            detail = "Change your one-time password on the web page first."
            return JsonResponse({"detail": detail}, status=403)
        there = reverse("password")
        if request.method == "GET" and path != "/":
            there += "?" + urlencode({"next": request.get_full_path()})
        return redirect(there)

    return middleware
