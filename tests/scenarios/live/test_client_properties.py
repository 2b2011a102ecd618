"""Kafka's client properties file: what is read, what is refused, and that secrets are never shown."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from scenarios.live.network.client_properties import ClientProperties, Secret, client_properties, parse_properties, read_client_properties
from scenarios.live.network.errors import LiveError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_the_notation_of_properties_files() -> None:
    text = "# a comment\n! another\n\na=1\nb : two words \\\n   continued\n  c\t3\nd\\ e=f\\u0041\\n\nempty\nwin=x\r\nlast=\\\\"
    assert parse_properties(text) == {"a": "1", "b": "two words continued", "c": "3", "d e": "fA\n", "empty": "", "win": "x", "last": "\\"}


def test_a_login_with_quotes_in_its_password(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        'sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username="al ice" \\\n  password="s=\\\\"x;";\n'
    )
    found = read_client_properties(str(file))
    assert (found.protocol, found.mechanism, found.user, found.password.reveal()) == ("SASL_PLAINTEXT", "SCRAM-SHA-512", "al ice", 's="x;')


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"security.protocol": "SASL_SLS"}, "security.protocol: isrlab does not have 'SASL_SLS'; did you mean 'SASL_SSL'?"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism: isrlab does not have 'GSSAPI'; Kerberos is not supported"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing; Kafka's JAAS files are not read"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} required password="hunter2" x y;'},
            "sasl.jaas.config cannot be read; write, for example",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} required password="hunter2";'},
            "sasl.jaas.config has no username and password",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": f'{PLAIN} required password="hunter2";'},
            "its login module is not one for SCRAM-SHA-256; use ScramLoginModule",
        ),
        (
            {
                "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://x",
                "sasl.jaas.config": 'a.OAuthBearerLoginModule required clientSecret="hunter2";',
            },
            "isrlab fetches no OAuth tokens",
        ),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/nowhere.pem"}, "ssl.truststore.location: /nowhere.pem: No such file"),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_to_do_and_shows_no_secret(entries: dict[str, str], message: str) -> None:
    with pytest.raises(LiveError) as refused:
        client_properties(entries, "client.properties")
    assert message in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("start", "kind"), [(b"\xfe\xed\xfe\xed\0", "JKS"), (b"0\x82\x05", "PKCS12")])
def test_a_java_keystore_is_refused_with_the_command_that_converts_it(tmp_path: Path, start: bytes, kind: str) -> None:
    store = tmp_path / "trust.store"
    store.write_bytes(start + bytes(50))
    with pytest.raises(LiveError, match=f"is a {kind} file; Python reads PEM files. Convert it with .*openssl pkcs12 -in .* -nokeys"):
        client_properties({"security.protocol": "SSL", "ssl.truststore.location": str(store)}, "client.properties")


def test_a_token_is_a_secret() -> None:
    entries = {
        "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required token="hunter2";',
    }  # fmt: skip
    assert client_properties(entries, "x").password.reveal() == "hunter2"


def test_nothing_shows_or_stores_a_secret() -> None:
    found = ClientProperties("SASL_SSL", "PLAIN", "alice", Secret("hunter2"), key_password=Secret("hunter2"))
    assert "hunter2" not in f"{found} {found!r} {found.password} {found.password!r} {[found.password]} {found.password:}"
    with pytest.raises(TypeError, match="a secret is not stored"):
        pickle.dumps(found)


def test_a_file_that_is_no_properties_file(tmp_path: Path) -> None:
    with pytest.raises(LiveError, match=r"--command-config: .*missing.properties: No such file"):
        read_client_properties(str(tmp_path / "missing.properties"))
    large = tmp_path / "large"
    large.write_bytes(bytes(1_000_001))
    with pytest.raises(LiveError, match="more than 1,000,000 bytes"):
        read_client_properties(str(large))
