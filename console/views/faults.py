"""Pages for what went wrong, each with a sentence that says what to do."""

from __future__ import annotations

import sys

from django.db import Error as DatabaseFault
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string


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
    context = {"heading": heading, "sentence": sentence, "theme": "system"}
    return HttpResponse(render_to_string("sentence.html", context), status=status)


def _answer(
    request: HttpRequest, heading: str, sentence: str, status: int
) -> HttpResponse:
    context = {"heading": heading, "sentence": sentence}
    return render(request, "sentence.html", context, status=status)
