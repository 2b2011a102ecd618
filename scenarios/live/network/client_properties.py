"""Reads a client properties file of Kafka, as its tools take it with `--command-config`.

Kafka: `SecurityProtocol`, `SaslConfigs`, `SslConfigs`, and `JaasContext`. Properties that do not concern the connection are ignored.
Secrets are `Secret` objects, which no output, log, or crash report shows.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

import attrs

from scenarios.errors import did_you_mean
from scenarios.live.network.errors import LiveError

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The values of security.protocol."""

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""The values of sasl.mechanism that isrlab knows."""

MOST_BYTES: Final = 1_000_000
"""The largest properties file."""

_MODULES: Final = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
}

_LOGIN: Final = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL | re.IGNORECASE)
_OPTION: Final = re.compile(r'\s+([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@final
class Secret:
    """A text that nothing prints. `reveal` is called only where it is sent or handed to the TLS library."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return "[hidden]"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not stored")


NO_SECRET: Final = Secret("")
"""The value of a secret that is not set."""


@attrs.frozen
class ClientProperties:
    """How to connect to a cluster.

    Attributes:
        protocol: security.protocol.
        mechanism: sasl.mechanism; empty without SASL.
        user: the user name of PLAIN and SCRAM.
        password: the password of PLAIN and SCRAM, or the token of OAUTHBEARER.
        trusted: the file of certificates that are trusted (PEM); empty for those of the system.
        trusted_text: the same as text (`ssl.truststore.certificates`).
        certificate: the file with the client's certificate and key (PEM); empty if the client has none.
        key_password: the password of that key.
        check_host: whether the certificate must have the broker's name (ssl.endpoint.identification.algorithm).
    """

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    user: str = ""
    password: Secret = NO_SECRET
    trusted: str = ""
    trusted_text: str = ""
    certificate: str = ""
    key_password: Secret = NO_SECRET
    check_host: bool = True

    @property
    def encrypted(self) -> bool:
        """Whether connections use TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def authenticated(self) -> bool:
        """Whether connections use SASL."""
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def tls(self) -> ssl.SSLContext:
        """Return the settings of TLS connections.

        Raises:
            LiveError: a certificate cannot be read.
        """
        context = ssl.create_default_context()
        context.check_hostname = self.check_host
        try:
            if self.trusted or self.trusted_text:
                context = ssl.create_default_context(cafile=self.trusted or None, cadata=self.trusted_text or None)
                context.check_hostname = self.check_host
            if self.certificate:
                context.load_cert_chain(self.certificate, password=self.key_password.reveal)
        except (OSError, ValueError) as wrong:
            what = self.certificate if self.trusted or self.trusted_text else self.certificate or self.trusted
            raise LiveError(
                f"{what or self.trusted}: no certificate can be read from this file ({_reason(wrong)}); give a PEM file"
            ) from None
        return context


def read_client_properties(path: str) -> ClientProperties:
    """Read a client properties file.

    Raises:
        LiveError: the file cannot be read, or it asks for something that isrlab does not do. The message has no secrets.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as wrong:
        raise LiveError(f"--command-config: {path}: {wrong.strerror or 'cannot be read'}") from None
    if len(data) > MOST_BYTES:
        raise LiveError(f"--command-config: {path}: the file has more than {MOST_BYTES:,} bytes; name a client properties file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return client_properties(parse_properties(text), path)


def parse_properties(text: str) -> dict[str, str]:
    """Return the entries of a properties file (`java.util.Properties#load`)."""
    entries: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|\r|\n", text))
    for line in lines:
        whole = line.lstrip(" \t\f")
        if not whole or whole[0] in "#!":
            continue
        while (len(whole) - len(whole.rstrip("\\"))) % 2:
            whole = whole[:-1] + next(lines, "").lstrip(" \t\f")
        split = _key_end(whole)
        rest = whole[split:].lstrip(" \t\f")
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(" \t\f")
        entries[_unescaped(whole[:split])] = _unescaped(rest)
    return entries


def _key_end(line: str) -> int:
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line))


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        escape = found[1]
        return chr(int(escape[1:], 16)) if len(escape) == 5 else _CONTROL.get(escape, escape)

    return _ESCAPE.sub(plain, text)


def client_properties(entries: Mapping[str, str], source: str) -> ClientProperties:
    """Return how to connect, from the entries of a client properties file.

    Args:
        entries: the entries.
        source: the name of the file, for error messages.

    Raises:
        LiveError: an entry asks for something that isrlab does not do.
    """
    protocol = _word(entries, "security.protocol", "PLAINTEXT", PROTOCOLS, source)
    found = ClientProperties(protocol)
    if found.authenticated:
        found = _with_login(found, entries, source)
    return _with_certificates(found, entries, source) if found.encrypted else found


def _word(entries: Mapping[str, str], name: str, default: str, known: tuple[str, ...], source: str) -> str:
    value = entries.get(name, default).strip()
    if value.upper() not in known:
        hint = "; Kerberos is not supported" if value.upper() == "GSSAPI" else f"; {did_you_mean(value[:40], known)}"
        raise LiveError(f"--command-config: {source}: {name}: isrlab does not have '{value[:40]}'{hint}")
    return value.upper()


def _with_login(found: ClientProperties, entries: Mapping[str, str], source: str) -> ClientProperties:
    mechanism = _word(entries, "sasl.mechanism", "GSSAPI", MECHANISMS, source)
    module, options = _jaas(entries.get("sasl.jaas.config", ""), source)
    if mechanism not in _MODULES.get(module, ()):
        raise LiveError(
            f"--command-config: {source}: sasl.jaas.config: its login module is not one for {mechanism}; "
            f"use {next(name for name, known in _MODULES.items() if mechanism in known)}"
        )
    if mechanism == "OAUTHBEARER":
        token = options.get("token", "")
        if not token:
            raise LiveError(
                f"--command-config: {source}: isrlab fetches no OAuth tokens; get a token, and write it into a copy of this file: "
                'sasl.jaas.config=... OAuthBearerLoginModule required token="...";'
            )
        return attrs.evolve(found, mechanism=mechanism, password=Secret(token))
    if "username" not in options or "password" not in options:
        raise LiveError(f"--command-config: {source}: sasl.jaas.config has no username and password")
    return attrs.evolve(found, mechanism=mechanism, user=options["username"], password=Secret(options["password"]))


def _jaas(text: str, source: str) -> tuple[str, dict[str, str]]:
    """Return the login module in a JAAS configuration, without its package, and its options (`JaasConfig`)."""
    matched = _LOGIN.fullmatch(text)
    options: dict[str, str] = {}
    at = 0
    while matched is not None and (option := _OPTION.match(matched[2], at)) is not None:
        options[option[1]] = re.sub(r"\\(.)", r"\1", option[2]) if option[2] is not None else option[3]
        at = option.end()
    if matched is None or matched[2][at:].strip():
        what = "cannot be read" if text else "is missing; Kafka's JAAS files are not read"
        raise LiveError(
            f"--command-config: {source}: sasl.jaas.config {what}; write, for example, sasl.jaas.config="
            'org.apache.kafka.common.security.plain.PlainLoginModule required username="..." password="...";'
        )
    return matched[1].rpartition(".")[2], options


def _with_certificates(found: ClientProperties, entries: Mapping[str, str], source: str) -> ClientProperties:
    trusted, certificate = (_pem(entries, kind, source) for kind in ("truststore", "keystore"))
    password = entries.get("ssl.key.password") or entries.get("ssl.keystore.password") or ""
    if entries.get("ssl.keystore.certificate.chain") or entries.get("ssl.keystore.key"):
        raise LiveError(
            f"--command-config: {source}: ssl.keystore.key: isrlab reads a client's key only from a file; use ssl.keystore.location"
        )
    algorithm = entries.get("ssl.endpoint.identification.algorithm", "https").strip()
    return attrs.evolve(
        found,
        trusted=trusted or entries.get("ssl.ca.location", ""),
        trusted_text=entries.get("ssl.truststore.certificates", ""),
        certificate=certificate,
        key_password=Secret(password),
        check_host=bool(algorithm),
    )


def _pem(entries: Mapping[str, str], kind: str, source: str) -> str:
    """Return the path of a truststore or keystore, which must be a PEM file."""
    path = entries.get(f"ssl.{kind}.location", "")
    declared = entries.get(f"ssl.{kind}.type", "").upper()
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            start = file.read(65_536)
    except OSError as wrong:
        raise LiveError(f"--command-config: {source}: ssl.{kind}.location: {path}: {wrong.strerror or 'cannot be read'}") from None
    if b"-----BEGIN" in start:
        return path
    is_jks = start[:4] == b"\xfe\xed\xfe\xed" or declared == "JKS"
    convert = (
        f"keytool -importkeystore -srckeystore {Path(path).name} -destkeystore store.p12 -deststoretype PKCS12, and then " if is_jks else ""
    )
    keys = " -nokeys" if kind == "truststore" else " -nodes"
    raise LiveError(
        f"--command-config: {source}: ssl.{kind}.location: {path} is a {'JKS' if is_jks else 'PKCS12'} file; Python reads PEM files. Convert it with "
        f"{convert}openssl pkcs12 -in {'store.p12' if is_jks else Path(path).name}{keys} -out store.pem, and set ssl.{kind}.type=PEM"
    )


def _reason(wrong: Exception) -> str:
    return getattr(wrong, "reason", None) or getattr(wrong, "strerror", None) or type(wrong).__name__
