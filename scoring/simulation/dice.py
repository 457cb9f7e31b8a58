"""Randomness as an argument: whoever holds the generator decides the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Dice(Protocol):
    """A source of even numbers in [0, 1); `random.Random` is one."""

    def random(self) -> float:
        """The next number."""


def between(dice: Dice, low: float, high: float) -> float:
    """An even number in [low, high)."""
    return low + (high - low) * dice.random()


def pick(dice: Dice, items: Sequence[Item]) -> Item:
    """One of the items, each as likely; there must be one."""
    return items[int(dice.random() * len(items))]


def identifier(dice: Dice, digits: int) -> str:
    """Hexadecimal digits, for names."""
    return "".join(pick(dice, "0123456789abcdef") for _ in range(digits))
