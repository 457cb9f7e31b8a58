"""Secrets at rest: MultiFernet with a key derived from ENCRYPTION_KEY by HKDF."""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class SecretError(Exception):
    """A stored secret cannot be read with the present encryption key."""


def _fernet() -> MultiFernet:
    return MultiFernet([Fernet(_derive(key)) for key in _keys()])


def _keys() -> list[str]:
    """The first key encrypts; the others only read what was stored before."""
    return [key.strip() for key in settings.ENCRYPTION_KEY.split(",") if key.strip()]


def _derive(key: str) -> bytes:
    hkdf = HKDF(SHA256(), length=32, salt=None, info=b"bandmaster secrets")
    return base64.urlsafe_b64encode(hkdf.derive(key.encode()))


def encrypt(text: str) -> bytes:
    return _fernet().encrypt(text.encode())


def decrypt(token: bytes) -> str:
    try:
        return _fernet().decrypt(token).decode()
    except InvalidToken as exc:
        raise SecretError(
            "a stored secret was encrypted with another BANDMASTER_ENCRYPTION_KEY: "
            "restore that key, or enter the secret again"
        ) from exc


def digest(text: str) -> str:
    """sha256 in hexadecimal: looks a key up without storing it in clear."""
    return hashlib.sha256(text.encode()).hexdigest()
