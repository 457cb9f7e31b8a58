"""The kill switch."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.forms import NeutralForm
from console.services import clusters
from console.views.shell import ShellRequest, cluster_page

PERMISSION = "scoring.change_cluster"


@require_http_methods(["GET", "POST"])
@cluster_page
def neutral(request: ShellRequest) -> HttpResponse:
    """GET explains and asks for a reason, POST switches."""
    if request.method == "GET":
        return _page(request, NeutralForm())
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied("You need the permission to change the cluster.")
    form = NeutralForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    on = form.cleaned_data["on"]
    clusters.set_neutral(
        cluster=request.shell.cluster,
        on=on,
        reason=form.cleaned_data["reason"],
        author=request.user.get_username(),
        source="ui",
    )
    messages.success(request, f"Neutral answers are {'on' if on else 'off'}.")
    return redirect("overview", request.shell.cluster.name)


def _page(request: ShellRequest, form: NeutralForm, status: int = 200) -> HttpResponse:
    context = {
        "page": "overview",
        "form": form,
        "allowed": request.user.has_perm(PERMISSION),
        "others": [n for n in request.shell.neutral if n.source != "console"],
    }
    return render(request, "console/neutral.html", context, status=status)
