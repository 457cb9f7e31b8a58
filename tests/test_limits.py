"""Functions of at most 40 lines, modules of at most 400: CONTRIBUTING.md says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("console", "scoring", "benchmarks", "tools", "tests")
LONGEST_FUNCTION = 40
LONGEST_MODULE = 400


def modules() -> Iterator[tuple[Path, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, path.read_text(encoding="utf-8")


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines"
        for path, text in modules()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert long == []


def test_modules_can_be_read_at_once() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for path, text in modules()
        if (lines := text.count("\n")) > LONGEST_MODULE
    ]
    assert long == []
