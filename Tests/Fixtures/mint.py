#!/usr/bin/env python3
"""Mints Tests/Fixtures/authority: JWS and app receipts of authorities like Apple's, with foreign libraries.

    Tests/Fixtures/mint.py        writes the whole folder again and discards the private keys

The Python package cryptography makes the certificates and the JWS, and `openssl cms` makes the receipts. So they do
not share a mistake with the code that verifies them. Receipts are BER with indefinite lengths, like Apple's.
"""
import base64
import datetime
import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa, utils
from cryptography.x509.oid import NameOID

FOLDER = pathlib.Path(__file__).resolve().parent / "authority"
LEAF, INTERMEDIATE = "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1"
BUNDLE_ID = "com.example.app"
LONG = (datetime.datetime(2024, 1, 1), datetime.datetime(2124, 1, 1))
EXPIRED = (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1))
SIGNED = 1_722_945_600_000  # 2024-08-06T12:00:00Z
HISTORICAL = 1_590_969_600_000  # 2020-06-01T00:00:00Z
DEVICE = bytes.fromhex("112233445566778899aabbccddeeff00")
OPAQUE = bytes(range(1, 9))


class Chain:
    """A root, an intermediate and a leaf, with or without Apple's marker extensions."""

    def __init__(self, validity=LONG, leaf_marker=True, intermediate_marker=True, new_key=None):
        new_key = new_key or (lambda: ec.generate_private_key(ec.SECP256R1()))
        keys = [new_key() for _ in range(3)]
        self.key = keys[2]
        self.root = certificate("Root", keys[0], "Root", keys[0], validity, True, None)
        self.intermediate = certificate(
            "Intermediate", keys[1], "Root", keys[0], validity, True, INTERMEDIATE if intermediate_marker else None)
        self.leaf = certificate(
            "Leaf", keys[2], "Intermediate", keys[1], validity, False, LEAF if leaf_marker else None)

    def jws(self, payload):
        chain = [base64.b64encode(der(each)).decode() for each in (self.leaf, self.intermediate, self.root)]
        signed = b".".join(base64url(json.dumps(part).encode()) for part in ({"alg": "ES256", "x5c": chain}, payload))
        r, s = utils.decode_dss_signature(self.key.sign(signed, ec.ECDSA(hashes.SHA256())))
        return signed + b"." + base64url(r.to_bytes(32, "big") + s.to_bytes(32, "big"))

    def message(self, content):
        """A signed message like a receipt, with the content."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            (folder / "key.pem").write_bytes(self.key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            (folder / "leaf.pem").write_bytes(pem(self.leaf))
            (folder / "others.pem").write_bytes(pem(self.intermediate) + pem(self.root))
            return subprocess.run(
                ["openssl", "cms", "-sign", "-binary", "-nodetach", "-stream", "-nosmimecap", "-md", "sha256",
                 "-signer", folder / "leaf.pem", "-inkey", folder / "key.pem", "-certfile", folder / "others.pem",
                 "-outform", "DER"], input=content, capture_output=True, check=True).stdout


def certificate(name, key, issuer, issuer_key, validity, is_authority, marker):
    def named(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    usage = {word: False for word in (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")}
    usage["key_cert_sign" if is_authority else "digital_signature"] = True
    builder = (
        x509.CertificateBuilder().subject_name(named(name)).issuer_name(named(issuer)).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(validity[0]).not_valid_after(validity[1])
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True))
    if marker:
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier(marker), b"\x05\x00"), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def der(certificate):
    return certificate.public_bytes(serialization.Encoding.DER)


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def transaction(signed=SIGNED):
    return {
        "transactionId": "2000000000000001", "originalTransactionId": "2000000000000001", "bundleId": BUNDLE_ID,
        "productId": "com.example.app.pro", "purchaseDate": signed, "originalPurchaseDate": signed, "quantity": 1,
        "type": "Non-Consumable", "inAppOwnershipType": "PURCHASED", "signedDate": signed, "environment": "Sandbox"}


# -- receipts

def value(tag, content):
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def attribute(kind, content):
    return value(0x30, value(0x02, kind.to_bytes(2, "big")) + value(0x02, b"\x01") + value(0x04, content))


def text(content):
    return value(0x0C, content.encode())


def date(content):
    return value(0x16, content.encode())


def purchase(product, transaction_id, purchased, expires=None):
    attributes = [
        attribute(1701, value(0x02, b"\x01")), attribute(1702, text(product)), attribute(1703, text(transaction_id)),
        attribute(1705, text(transaction_id)), attribute(1704, date(purchased)), attribute(1706, date(purchased))]
    if expires:
        attributes.append(attribute(1708, date(expires)))
    return attribute(17, value(0x31, b"".join(attributes)))


def receipt(kind="ProductionSandbox", created="2024-08-06T12:00:00Z"):
    bundle = text(BUNDLE_ID)
    attributes = [attribute(0, text(kind))] if kind else []
    attributes += [
        attribute(2, bundle), attribute(3, text("1.2.3")), attribute(4, OPAQUE),
        attribute(5, hashlib.sha1(DEVICE + OPAQUE + bundle).digest()), attribute(12, date(created)),
        attribute(19, text("1.0")), attribute(9999, b"\x01\x02"),
        purchase("com.example.app.coins100", "70000000000001", "2024-01-15T10:00:00Z"),
        purchase("com.example.app.vip", "70000000000002", "2024-02-01T09:30:00Z", "2030-02-01T09:30:00Z")]
    return value(0x31, b"".join(attributes))


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()

    def write(name, content):
        (FOLDER / name).write_bytes(content)

    good, expired = Chain(), Chain(EXPIRED)
    for name, chain in (
            ("", good), ("-no-leaf-oid", Chain(leaf_marker=False)),
            ("-no-intermediate-oid", Chain(intermediate_marker=False))):
        write(f"transaction{name}.jws", chain.jws(transaction()))
        write(f"jws{name}-root.der", der(chain.root))
    write("expired-cert-historical.jws", expired.jws(transaction(HISTORICAL)))
    write("expired-cert-fresh.jws", expired.jws(transaction()))
    write("jws-expired-root.der", der(expired.root))

    def new_key():
        return rsa.generate_private_key(65537, 2048)

    good, expired = Chain(new_key=new_key), Chain(EXPIRED, new_key=new_key)
    unmarked = Chain(leaf_marker=False, new_key=new_key)
    for name, content in (
            ("", receipt()), ("-double-wrapped", value(0x04, receipt())), ("-no-type", receipt(None)),
            ("-type-production", receipt("Production")), ("-type-vpp", receipt("ProductionVPP")),
            ("-type-vpp-sandbox", receipt("ProductionVPPSandbox"))):
        write(f"receipt{name}.der", good.message(content))
    write("receipt-root.der", der(good.root))
    write("receipt-foreign.der", Chain(new_key=new_key).message(receipt()))
    write("receipt-no-signer-oid.der", unmarked.message(receipt()))
    write("receipt-no-signer-oid-root.der", der(unmarked.root))
    write("receipt-expired-historical.der", expired.message(receipt(created="2020-06-01T00:00:00Z")))
    write("receipt-expired-fresh.der", expired.message(receipt()))
    write("receipt-expired-root.der", der(expired.root))
    write("device-guid.hex", DEVICE.hex().encode() + b"\n")


if __name__ == "__main__":
    main()
