"""Match node names in a call's raw bytes, and write answers from ready-made rows.

Above some hundred names, turning them into Python strings and back costs more than
the scoring. Here the names stay bytes: each one is cut out as the last W bytes before
its comma, hashed by multiplication to a slot, and **every byte is compared** with the
node found there. Anything unexpected - an unknown name, white space, an escape - makes
`match` return None, and the caller reads the call the ordinary way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.framework.types import Ints, Rows

Words = npt.NDArray[np.uint64]

LONGEST_NAME = 70  # bytes; longer ones are read the ordinary way
MOST_LEVEL = 99  # two digits stand in a row
_ATTEMPTS = 16  # seeds tried; most fleets need one or two
_SECOND_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: mixes all bits
_NO_ROW = -1
_COMMA = ord(",")
_HEAD = 8  # bytes before the first row: keeps the rows aligned
_DIGITS = np.frombuffer(
    b"".join(b"%2d" % level for level in range(MOST_LEVEL + 1)), np.uint16
)


@dataclass(frozen=True, slots=True)
class _Slots:
    """Where a name's row is kept: in the first table, or else in the second.

    One product gives 64 bits per name; other bits of it choose the slot in each table.
    """

    factors: Words
    hashes: Words  # uint64[N]: the product of each row, tells the first table's misses
    shift: np.uint64
    first: npt.NDArray[np.int32]  # row, or -1; so too `second`
    second: npt.NDArray[np.int32]

    def rows(self, words: Words) -> Rows:
        """The only row that each name can have; the caller compares the bytes."""
        hashes = words @ self.factors
        rows = self.first.take(hashes >> self.shift)
        missed = self.hashes.take(rows) != hashes
        others = self.second.take((hashes * _SECOND_FACTOR) >> self.shift)
        return np.where(missed, others, rows).astype(np.intp)


@dataclass(frozen=True, slots=True)
class RawNames:
    """The names of one node table as bytes. Shapes: N names of at most W bytes."""

    width: int  # W, a multiple of 8; a name with its quotes
    names: Words  # uint64[N, W / 8]: right-aligned, zeros before
    masks: Words  # uint64[W + 1, W / 8]: by length, what to keep of W bytes
    slots: _Slots
    window: np.dtype[Any]  # W bytes as one item, at any address
    listed: npt.NDArray[np.uint8]  # uint8[N, W + 8]: `,"x"`, blanks before
    hosts: npt.NDArray[
        np.uint8
    ]  # uint8[N, H]: `,{"Host":"x","Score":  } `, blanks before
    commas: npt.NDArray[np.intp]  # where in its row of `hosts` the comma stands

    @classmethod
    def build(cls, names: Sequence[str]) -> RawNames | None:
        """None when these names must be read the ordinary way.

        The names must not need escaping in JSON.
        """
        quoted = [f'"{name}"'.encode() for name in names]
        longest = max(map(len, quoted), default=0)
        if not quoted or longest > LONGEST_NAME + 2:
            return None
        width = -(-longest // 8) * 8
        padded = b"".join(name.rjust(width, b"\0") for name in quoted)
        words = np.frombuffer(padded, np.uint64).reshape(len(quoted), width // 8)
        slots = _find_slots(words)
        if slots is None:
            return None
        hosts, commas = _host_rows(quoted, longest)
        return cls(
            width=width,
            names=words,
            masks=_masks(width),
            slots=slots,
            window=np.dtype(f"V{width}"),
            listed=_rows([b"," + name for name in quoted], width + 8),
            hosts=hosts,
            commas=commas,
        )

    def match(self, raw: bytes) -> Rows | None:
        """The rows of `["a","b"]` in order, or None when it is not exactly that."""
        if raw[:1] != b"[" or raw[-1:] != b"]":
            return None
        # the padding makes room before the first name; `]` ends the last one
        data = b"".join((bytes(self.width), raw[1:-1], b","))
        ends = (np.frombuffer(data, np.uint8) == _COMMA).nonzero()[0]
        lengths = np.empty_like(ends)
        lengths[0] = ends[0] - self.width
        np.subtract(ends[1:], ends[:-1] + 1, out=lengths[1:])
        if int(lengths.max()) > self.width:
            return None
        shape = (len(data) - self.width + 1,)
        windows: npt.NDArray[Any] = np.ndarray(shape, self.window, data, 0, (1,))
        words = windows[ends - self.width].view(np.uint64).reshape(ends.size, -1)
        words &= self.masks.take(lengths, 0)
        rows = self.slots.rows(words)
        return None if (self.names.take(rows, 0) != words).any() else rows

    def encode_names(self, rows: Rows) -> bytes:
        """The names of known rows as a JSON list."""
        text = self.listed.take(rows, 0).tobytes()
        return b"[" + text.replace(b",", b" ", 1) + b"]"

    def encode(self, rows: Rows, levels: Ints) -> bytes:
        """HostPriorityList of known rows; every level from 0 to MOST_LEVEL."""
        size, width = rows.size, self.hosts.shape[1]
        end = _HEAD + size * width
        answer = np.empty(end + 1, np.uint8)
        answer[:_HEAD] = np.frombuffer(b"       [", np.uint8)
        body = answer[_HEAD:end].reshape(size, width)
        self.hosts.take(rows, 0, body, "clip")
        body.view(np.uint16)[:, -2] = _DIGITS.take(levels)
        answer[_HEAD + self.commas[rows[0]]] = ord(" ")
        answer[end] = ord("]")
        return answer.tobytes()


def _masks(width: int) -> Words:
    masks = np.zeros((width + 1, width), np.uint8)
    for length in range(1, width + 1):
        masks[length, width - length :] = 0xFF
    return masks.view(np.uint64)


def _host_rows(
    quoted: list[bytes], longest: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.intp]]:
    ending = b',"Score":  } '
    width = -(-(longest + len(b',{"Host":') + len(ending)) // 8) * 8
    texts = [b',{"Host":%s%s' % (name, ending) for name in quoted]
    commas = np.array([width - len(text) for text in texts], np.intp)
    return _rows(texts, width), commas


def _rows(texts: list[bytes], width: int) -> npt.NDArray[np.uint8]:
    joined = b"".join(text.rjust(width) for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(len(texts), width)


def _find_slots(words: Words) -> _Slots | None:
    """None when no seed gives every name a slot of its own in one of the tables."""
    rows = np.arange(len(words))
    bits = int(8 * len(words) - 1).bit_length()
    shift = np.uint64(64 - bits)
    for seed in range(_ATTEMPTS):
        source = np.random.default_rng(seed)
        factors = source.integers(0, 2**64, words.shape[1], np.uint64) | np.uint64(1)
        hashes = words @ factors
        first, left = _fill(hashes >> shift, rows, bits)
        places = (hashes[left] * _SECOND_FACTOR) >> shift
        second, collided = _fill(places, left, bits)
        if not collided.size:
            return _Slots(factors, hashes, shift, first, second)
    return None


def _fill(places: Words, rows: Rows, bits: int) -> tuple[npt.NDArray[np.int32], Rows]:
    """A table of rows by place, and the rows whose place another one took."""
    slots = np.full(1 << bits, _NO_ROW, np.int32)
    slots[places] = rows
    return slots, rows[slots[places] != rows]
