"""Edits a document's text where it must change, and leaves all other bytes alone.

Whatever an edit did, its result is decoded and compared with the wanted values before
it is handed out: a text that cannot be edited safely is refused, never damaged.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from console.kubescheduler import rendering
from console.kubescheduler.document import BYTE_ORDER_MARK, Document, decode
from console.kubescheduler.edits import Edit, Editor, apply, changes_by_key
from console.kubescheduler.tree import Entry, Mapping, Node, Sequence


class PatchError(Exception):
    """The text cannot be edited; the sentence says why and what to do instead."""


def set_plugin_args(
    text: str, *, scheduler_name: str, plugin: str, args: dict[str, Any]
) -> str:
    """`text` with the arguments of one plugin of one profile replaced by `args`.

    Keys that stay keep their place and comments; pluginConfig and the plugin's entry
    are added when absent. Raises PatchError; then nothing was changed.
    """
    body = text.removeprefix(BYTE_ORDER_MARK)
    document = _decoded(body)
    index = _profile_index(document, scheduler_name)
    wanted = _wanted(document, index, plugin, args)
    if _equal(document.data, wanted):
        return text
    place = _find(body, document, index, plugin)
    for strategy in (_change_keys, _change_whole):
        changed = apply(body, strategy(place, args))
        result = decode(changed).document
        if result is not None and _equal(result.data, wanted):
            return text[: len(text) - len(body)] + changed
    raise PatchError(
        f"The arguments of {plugin} are written in a way (aliases, merged or unusual "
        "keys) that cannot be edited safely: edit the text itself."
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the arguments are, or where they belong."""

    editor: Editor
    plugin: str
    profile: Mapping
    configs: Entry | None
    item: Mapping | None
    args: Entry | None


def _decoded(text: str) -> Document:
    decoded = decode(text)
    errors = [p for p in decoded.problems if p.severity == "error"]
    if decoded.document is None or errors:
        first = errors[0]
        raise PatchError(
            f"The document must decode before it can be edited: line {first.line}: "
            f"{first.message}."
        )
    return decoded.document


def _profile_index(document: Document, scheduler_name: str) -> int:
    written = document.data.get("profiles") or ()
    for i in range(len(written)):
        if document.scheduler_name(i) == scheduler_name and written[i]:
            return i
    raise PatchError(
        f"The document has no profile {scheduler_name!r}: add it to `profiles` first."
    )


def _wanted(
    document: Document, index: int, plugin: str, args: dict[str, Any]
) -> dict[str, Any]:
    """What the result must decode to."""
    try:
        rendering.flow(args).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as exc:
        raise PatchError(
            f"The arguments of {plugin} cannot be written as JSON: {exc}."
        ) from exc
    wanted: dict[str, Any] = copy.deepcopy(dict(document.data))
    profile = wanted["profiles"][index]
    configs = profile.get("pluginConfig") or []
    profile["pluginConfig"] = configs
    found = [c for c in configs if c and c.get("name") == plugin]
    if len(found) > 1:
        raise PatchError(
            f"pluginConfig names {plugin} twice: remove one of them first."
        )
    if found:
        found[0]["args"] = args
    else:
        configs.append({"name": plugin, "args": args})
    return wanted


def _find(text: str, document: Document, index: int, plugin: str) -> _Place:
    profiles = document.root.entry("profiles")
    profile = _item(profiles.value if profiles else None, index)
    if profile is None:
        raise PatchError("The profiles are no plain list: edit the text itself.")
    configs = profile.entry("pluginConfig")
    item = _named(configs.value if configs else None, plugin)
    eol = "\r\n" if "\r\n" in text else "\n"
    return _Place(
        editor=Editor(text, eol),
        plugin=plugin,
        profile=profile,
        configs=configs,
        item=item,
        args=item.entry("args") if item else None,
    )


def _item(node: Node | None, index: int) -> Mapping | None:
    if not isinstance(node, Sequence):
        return None
    item = node.items[index]
    return item if isinstance(item, Mapping) and item.entries else None


def _named(node: Node | None, plugin: str) -> Mapping | None:
    if not isinstance(node, Sequence):
        return None
    for i in range(len(node.items)):
        item = _item(node, i)
        name = item.entry("name") if item else None
        if name is not None and getattr(name.value, "value", None) == plugin:
            return item
    return None


def _change_keys(place: _Place, args: dict[str, Any]) -> list[Edit]:
    """Touch only the arguments that differ."""
    node = place.args.value if place.args else None
    if isinstance(node, Mapping) and changes_by_key(node, args):
        return place.editor.change_mapping(node, args)
    return _change_whole(place, args)


def _change_whole(place: _Place, args: dict[str, Any]) -> list[Edit]:
    """Write the arguments anew, in the smallest thing that is there."""
    editor = place.editor
    if place.item is not None:
        if place.args is None:
            return [editor.add_key(place.item, "args", args)]
        return [editor.replace_value(place.args, args, in_flow=place.item.flow)]
    entry = {"name": place.plugin, "args": args}
    if place.configs is None:
        return [_add_configs(place, entry)]
    sequence = place.configs.value
    if isinstance(sequence, Sequence) and sequence.items:
        return [editor.add_item(sequence, entry)]
    value = [entry]
    return [editor.replace_value(place.configs, value, in_flow=place.profile.flow)]


def _add_configs(place: _Place, entry: dict[str, Any]) -> Edit:
    edit = place.editor.add_key(place.profile, "pluginConfig", [entry])
    if place.profile.flow:
        return edit
    column = place.profile.entries[0].span.column
    indent = " " * (column - 1)
    eol = place.editor.eol
    item = place.editor.block_item(entry, indent)
    return Edit(edit.start, edit.end, f"{eol}{indent}pluginConfig:{eol}{item}")


def _equal(left: Any, right: Any) -> bool:
    """JSON equality: 1 is not true, and the order of keys does not count."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            _equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return type(left) is type(right) and bool(left == right)
