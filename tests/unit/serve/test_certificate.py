"""The gateway's own certificate: made once for each address, made again when it no longer fits."""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from kimi_desktop.serve import certificate as module
from kimi_desktop.serve.certificate import certificate_for


def test_it_is_made_once_for_an_address(tmp_path: Path) -> None:
    made = certificate_for("192.168.1.20", tmp_path)
    der = ssl.PEM_cert_to_DER_cert(made.file.read_text())
    assert made.fingerprint.replace(":", "").lower() == hashlib.sha256(der).hexdigest()
    assert certificate_for("192.168.1.20", tmp_path) == made
    other = certificate_for("10.0.0.4", tmp_path)
    assert other.fingerprint != made.fingerprint


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_only_its_owner_reads_the_key(tmp_path: Path) -> None:
    made = certificate_for("192.168.1.20", tmp_path)
    assert made.key_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("spoilt", ["certificate", "key", "another key"])
def test_what_cannot_be_read_is_made_anew(tmp_path: Path, spoilt: str) -> None:
    made = certificate_for("192.168.1.20", tmp_path)
    if spoilt == "another key":
        other = certificate_for("192.168.1.20", tmp_path / "other")
        made.key_file.write_bytes(other.key_file.read_bytes())
    else:
        (made.file if spoilt == "certificate" else made.key_file).write_text("no PEM")
    again = certificate_for("192.168.1.20", tmp_path)
    assert again.fingerprint != made.fingerprint
    assert certificate_for("192.168.1.20", tmp_path) == again


def test_one_that_ends_soon_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = certificate_for("192.168.1.20", tmp_path)
    found = x509.load_pem_x509_certificate(made.file.read_bytes())
    late = found.not_valid_after_utc - datetime.timedelta(days=29)
    monkeypatch.setattr(module, "_now", lambda: late)
    assert certificate_for("192.168.1.20", tmp_path).fingerprint != made.fingerprint
