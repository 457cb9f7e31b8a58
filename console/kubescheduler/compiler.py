"""From an operator's document to a stock document and policies.

Sums, levels and rounding: a node's num is the sum of w_i * s_i over the profile's own
Score plugins (s_i in 0..100), W the largest sum of weights of any profile, the answer
(num + 5*W) // (10*W).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from console.kubescheduler import advice, ownrules
from console.kubescheduler.document import Document
from console.kubescheduler.effective import (
    OwnPlugin,
    Owns,
    is_own,
    own_plugins,
    stock_score_weights,
)
from console.kubescheduler.emit import emit
from console.kubescheduler.entry import (
    KEY_PLACEHOLDER,
    build_entry,
    fill_key,
    is_ours,
    wrong_url,
)
from console.kubescheduler.options import (
    SECOND_SCHEDULER,
    STATIC_POD,
    Compiled,
    CompileOptions,
    ProfileReport,
)
from console.kubescheduler.problems import Problem, did_you_mean
from console.kubescheduler.stripping import strip_profile
from console.kubescheduler.targeting import for_second_scheduler
from scoring.framework.policy import PluginSpec, Policy
from scoring.framework.types import MAX_NODE_SCORE
from scoring.plugins.registry import PLUGINS

__all__ = [
    "KEY_PLACEHOLDER",
    "CompileOptions",
    "Compiled",
    "ProfileReport",
    "compile_document",
    "fill_key",
]


@dataclass(frozen=True, slots=True)
class _Profile:
    """A profile with what is ours in it; `stock_weight` is what all others weigh."""

    scheduler_name: str
    owns: Owns
    specs: tuple[PluginSpec, ...]
    stock_weight: int

    @property
    def score_weight(self) -> int:
        return sum(spec.weight for spec in self.specs if spec.score)

    @property
    def filters(self) -> bool:
        return any(spec.filter for spec in self.specs)


def compile_document(document: Document, *, options: CompileOptions) -> Compiled:
    """Compile a document that passed `decode` and `validate`.

    Errors among `problems` mean that the result must not be used.
    """
    profiles = [
        _read_profile(document, i, options) for i in range(len(document.profiles))
    ]
    largest = max(profile.score_weight for profile in profiles)
    total = 1 if options.extended_range and largest > 0 else max(largest, 0)
    data, rewrites = _stock_data(document, profiles, options)
    stock, revision = _stock_text(data, profiles, total, options)
    reports = tuple(_report(profile, total) for profile in profiles)
    return Compiled(
        stock=stock,
        compiled_revision=revision,
        total_weight=total,
        policies=tuple(
            _policy(profile, total, revision, options)
            for profile in profiles
            if profile.specs
        ),
        problems=(
            *_option_problems(document, options),
            *_advice(document, profiles, reports, total),
            *advice.on_connection(document, data),
            *advice.on_target(document, options),
        ),
        rewrites=rewrites,
        profiles=reports,
    )


def _read_profile(document: Document, index: int, options: CompileOptions) -> _Profile:
    profile = document.profiles[index]
    name = document.scheduler_name(index)

    def owns(plugin: str) -> bool:
        asked = (name, plugin) in options.run_by_bandmaster and plugin in PLUGINS
        return asked or is_own(plugin)

    args = {
        str(config.get("name") or ""): config.get("args") or {}
        for config in profile.get("pluginConfig") or ()
        if config
    }
    specs = tuple(
        _spec(plugin, args.get(plugin.name, {}))
        for plugin in own_plugins(profile, owns)
    )
    stock_weight = sum(stock_score_weights(profile, owns).values())
    return _Profile(name, owns, specs, stock_weight)


def _spec(plugin: OwnPlugin, args: Any) -> PluginSpec:
    return PluginSpec(
        name=plugin.name,
        score=plugin.score,
        filter=plugin.filter,
        weight=plugin.weight,
        args=args,
    )


def _stock_data(
    document: Document, profiles: list[_Profile], options: CompileOptions
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document without ours, for its target; nothing of ours added yet."""
    data = dict(document.data)
    if data.get("profiles"):
        data["profiles"] = [
            strip_profile(written, profile.owns)
            for written, profile in zip(document.profiles, profiles, strict=True)
        ]
    kept = [e for e in data.get("extenders") or () if not is_ours(e, options.cluster)]
    if kept:
        data["extenders"] = kept
    elif data.get("extenders"):
        del data["extenders"]
    if options.target == SECOND_SCHEDULER:
        return for_second_scheduler(data, options.configuration)
    return data, ()


def _stock_text(
    data: dict[str, Any],
    profiles: list[_Profile],
    total: int,
    options: CompileOptions,
) -> tuple[str, int]:
    """The text and its R: the previous R when only R would differ."""
    filters = any(profile.filters for profile in profiles)

    def text(revision: int) -> str:
        if not filters and not total:
            return emit(data)
        entry = build_entry(options, revision=revision, filters=filters, weight=total)
        return emit(data | {"extenders": [*(data.get("extenders") or ()), entry]})

    previous = options.previous_revision
    if previous is not None and text(previous) == options.previous_stock:
        return text(previous), previous
    return text(options.revision), options.revision


def _policy(
    profile: _Profile, total: int, revision: int, options: CompileOptions
) -> Policy:
    return Policy(
        configuration=options.configuration,
        compiled_revision=revision,
        revision=options.revision,
        source_sha256=options.source_sha256,
        scheduler_name=profile.scheduler_name,
        total_weight=total,
        plugins=profile.specs,
        extended_range=options.extended_range,
    )


def _report(profile: _Profile, total: int) -> ProfileReport:
    own = profile.score_weight
    best = (MAX_NODE_SCORE * own + 5 * total) // (10 * total) if total else 0
    everything = profile.stock_weight + own
    return ProfileReport(
        scheduler_name=profile.scheduler_name,
        score_weight=own,
        share=100 * own / everything if everything else 0.0,
        levels=best + 1 if own else 0,
        error=5 * total if own else 0,
        scores=own > 0,
        filters=profile.filters,
    )


def _advice(
    document: Document,
    profiles: list[_Profile],
    reports: tuple[ProfileReport, ...],
    total: int,
) -> Iterator[Problem]:
    for i, (profile, report) in enumerate(zip(profiles, reports, strict=True)):
        yield from advice.on_profile(document, i, report, total)
        yield from advice.on_filters(document, i, profile.specs)


def _option_problems(document: Document, options: CompileOptions) -> Iterator[Problem]:
    reason = wrong_url(options.extender_url)
    if reason:
        hint = "Set the cluster's extender URL, for example http://10.0.0.5:8001."
        yield document.problem(("extenders",), reason, gate="start", hint=hint)
    if options.target not in (STATIC_POD, SECOND_SCHEDULER):
        yield document.problem(
            (),
            f"the target {options.target[:60]!r} is not known",
            gate="validate",
            hint=f"Use {STATIC_POD} or {SECOND_SCHEDULER}.",
        )
    served = {document.scheduler_name(i): i for i in range(len(document.profiles))}
    for name, plugin in sorted(options.run_by_bandmaster):
        yield from _run_by_problems(document, served, name, plugin)


def _run_by_problems(
    document: Document, served: dict[str, int], name: str, plugin: str
) -> Iterator[Problem]:
    asked = f"{name[:80]}/{plugin[:80]} cannot be run by Bandmaster"
    if name not in served:
        hint = did_you_mean(name, served) or f"Profiles here: {', '.join(served)}."
        message = f"{asked}: there is no such profile"
        yield document.problem(("profiles",), message, gate="validate", hint=hint)
    elif plugin not in PLUGINS:
        hint = did_you_mean(plugin, PLUGINS) or f"It runs {', '.join(PLUGINS)}."
        message = f"{asked}: it does not have that plugin"
        path = ("profiles", served[name])
        yield document.problem(path, message, gate="validate", hint=hint)
    elif not is_own(plugin):
        # for the others validation has done it
        yield from _args_of(document, served[name], plugin)


def _args_of(document: Document, index: int, plugin: str) -> Iterator[Problem]:
    configs = document.profiles[index].get("pluginConfig") or ()
    for i, config in enumerate(configs):
        if config and config.get("name") == plugin:
            path = ("profiles", index, "pluginConfig", i, "args")
            yield from ownrules.check_args(document, path, plugin, config.get("args"))
