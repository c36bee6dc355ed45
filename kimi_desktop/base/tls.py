"""Whom encrypted connections trust, and what is wrong with a certificate."""

from __future__ import annotations

import ssl
from functools import cache

import certifi


@cache
def tls_context() -> ssl.SSLContext:
    """The system's trust store; certifi's where the system has none. Always verifies."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(certifi.where())
    return context


def certificate_problem(error: BaseException | None) -> str | None:
    """What is wrong with a certificate, when that is why there is no connection."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return getattr(error, "verify_message", "") or str(error)
        error = error.__cause__ or error.__context__
    return None
