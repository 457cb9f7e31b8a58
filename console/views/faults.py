"""Pages for what went wrong, each with a sentence that says what to do."""

from __future__ import annotations

import sys

from django.core.exceptions import (
    DisallowedHost,
    RequestDataTooBig,
    TooManyFieldsSent,
)
from django.db import Error as DatabaseFault
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Needs neither user nor session: most of these come before both."""
    if isinstance(exception, DisallowedHost):
        sentence = (
            "This server does not answer to the name in the address. Open it by one of "
            "its own names, or add this one to BANDMASTER_ALLOWED_HOSTS and restart."
        )
    elif isinstance(exception, RequestDataTooBig | TooManyFieldsSent):
        sentence = "What was sent is too large, so nothing was changed. Send less."
    else:
        sentence = (
            "The request could not be read, so nothing was changed. Go back, reload "
            "the page and try again."
        )
    return _bare(request, "Not understood", sentence, 400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    said = exception.args[0] if exception.args else ""
    sentence = said if isinstance(said, str) and said else "There is no such page."
    return _answer(request, "Not found", sentence, 404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    sentence = str(exception) or "Your account may not do this."
    return _answer(request, "Not allowed", sentence, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    sentence = (
        "The form was too old or came from another site, so nothing was changed. "
        "Go back, reload the page and try again."
    )
    return _answer(request, "Not sent", sentence, 403)


def failed(request: HttpRequest) -> HttpResponse:
    """500, or 503 when it is the database; needs neither user nor session."""
    if isinstance(sys.exc_info()[1], DatabaseFault):
        heading, status = "The database does not answer", 503
        sentence = (
            "Pods are still placed: the extender goes on from its own last state. "
            "Check the database, then reload this page."
        )
    else:
        heading, status = "This page failed", 500
        sentence = "The cause is in the web process' log. Placements are not affected."
    return _bare(request, heading, sentence, status)


def _bare(
    request: HttpRequest, heading: str, sentence: str, status: int
) -> HttpResponse:
    """A page without a request's context, which may be what failed."""
    if _wants_json(request):
        return JsonResponse({"detail": sentence}, status=status)
    context = {"heading": heading, "sentence": sentence, "theme": "system"}
    return HttpResponse(render_to_string("sentence.html", context), status=status)


def _wants_json(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def _answer(
    request: HttpRequest, heading: str, sentence: str, status: int
) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"detail": sentence}, status=status)
    context = {"heading": heading, "sentence": sentence}
    return render(request, "sentence.html", context, status=status)
