"""The certificate of the gateway in the local network: its own, made once for each address.

Nobody signs certificates for addresses in private networks, so that programs elsewhere are given
this one to trust, and people compare its fingerprint. Pool threads.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kimi_desktop.base.files import write_atomically

CERTIFICATE_FILE, KEY_FILE = "serve-certificate.pem", "serve-key.pem"
NAME = "Kimi Desktop"
VALID = datetime.timedelta(days=825)
"""The longest that Apple's systems accept."""
RENEWED_BEFORE = datetime.timedelta(days=30)
_SKEW = datetime.timedelta(days=1)
"""The other machine's clock may be behind."""


@dataclass(frozen=True, slots=True)
class GatewayCertificate:
    """Where both files are, and what people compare."""

    file: Path
    """PEM, to be given to programs on other machines."""
    key_file: Path
    """PEM, readable by its owner alone; it never leaves this machine."""
    fingerprint: str
    """SHA-256 of the certificate, "AB:CD:...", as browsers and openssl show it."""


def certificate_for(address: str, folder: Path) -> GatewayCertificate:
    """The certificate for an address: the one that is there, or a new one.

    Made anew when it is for another address, ends within a month, or cannot be read.

    Args:
        address: IPv4, of this machine in the local network.
        folder: private to the user.

    Raises:
        OSError: the folder cannot be written.
    """
    files = folder / CERTIFICATE_FILE, folder / KEY_FILE
    kept = _kept(address, *files)
    if kept is None:
        kept = _make(address, *files)
    digest = kept.fingerprint(hashes.SHA256()).hex(":").upper()
    return GatewayCertificate(*files, digest)


def _kept(address: str, file: Path, key_file: Path) -> x509.Certificate | None:
    try:
        found = x509.load_pem_x509_certificate(file.read_bytes())
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, x509.ExtensionNotFound):
        return None
    fits = ipaddress.ip_address(address) in names.get_values_for_type(x509.IPAddress)
    lasts = found.not_valid_after_utc - _now() > RENEWED_BEFORE
    return found if fits and lasts and key.public_key() == found.public_key() else None


def _make(address: str, file: Path, key_file: Path) -> x509.Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    names = [x509.IPAddress(ipaddress.ip_address(address))]
    subject_key = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - _SKEW)
        .not_valid_after(_now() + VALID - _SKEW)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        # Its own authority: strict verifiers (Python 3.13) accept no other trusted root.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(subject_key, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file.parent.mkdir(parents=True, exist_ok=True)
    secret = key.private_bytes(pem, form, serialization.NoEncryption())
    write_atomically(key_file, secret, private=True)
    write_atomically(file, made.public_bytes(pem))
    return made


def _usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
