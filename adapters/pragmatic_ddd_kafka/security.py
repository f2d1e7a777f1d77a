"""How a client proves who it is, and how the connection is kept private: ``kafka.*``, part of it.

plaintext        nobody asks, nothing is encrypted
ssl              encrypted; a certificate of the client's own, where the brokers ask for one
sasl_plaintext   a user, by a SASL mechanism; not encrypted
sasl_ssl         a user, encrypted
"""

from typing import Any, Final

import attrs
from attrs import validators

PROTOCOLS: Final = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")

_MECHANISMS_WITH_USERS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS: Final = (*_MECHANISMS_WITH_USERS, "GSSAPI", "OAUTHBEARER")


def text_unshown(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    """Check that a secret is text, without showing it."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{attribute.name}: give a str")  # what was given may be the secret


@attrs.frozen(kw_only=True)
class KafkaSecurity:
    """Who connects, and how; the fields of ``KafkaConfig`` of the same names.

    Attributes:
        security_protocol: One of ``PROTOCOLS``.
        sasl_mechanism: One of ``MECHANISMS``; with a SASL protocol.
        sasl_username: The user.
        sasl_password: The user's password.
        ssl_ca_file: Certificates of the authorities to trust; the system's, where ``None``.
        ssl_certificate_file: The client's own certificate.
        ssl_key_file: Its private key.
        ssl_key_password: What opens the key's file.
    """

    security_protocol: str = attrs.field(default="plaintext", validator=validators.in_(PROTOCOLS))
    sasl_mechanism: str | None = attrs.field(
        default=None, validator=validators.optional(validators.in_(MECHANISMS))
    )
    sasl_username: str | None = attrs.field(default=None, validator=text_unshown)
    sasl_password: str | None = attrs.field(default=None, validator=text_unshown, repr=False)
    ssl_ca_file: str | None = attrs.field(default=None, validator=text_unshown)
    ssl_certificate_file: str | None = attrs.field(default=None, validator=text_unshown)
    ssl_key_file: str | None = attrs.field(default=None, validator=text_unshown)
    ssl_key_password: str | None = attrs.field(default=None, validator=text_unshown, repr=False)

    def __attrs_post_init__(self) -> None:
        has_user = (self.sasl_username is not None, self.sasl_password is not None)
        is_sasl = self.security_protocol.startswith("sasl_")
        if is_sasl is not (self.sasl_mechanism is not None):
            raise ValueError("sasl_mechanism: with a security_protocol of SASL, and only there")
        if all(has_user) is not any(has_user):
            raise ValueError("sasl_username and sasl_password: both, or neither")
        if any(has_user) is not (self.sasl_mechanism in _MECHANISMS_WITH_USERS):
            raise ValueError(
                f"sasl_username and sasl_password: with {', '.join(_MECHANISMS_WITH_USERS)}, "
                f"and only there"
            )
        self._check_certificates()

    def _check_certificates(self) -> None:
        is_encrypted = self.security_protocol.endswith("ssl")
        own = (self.ssl_certificate_file, self.ssl_key_file)
        if any((self.ssl_ca_file, *own, self.ssl_key_password)) and not is_encrypted:
            raise ValueError("ssl_…: with the security_protocol ssl or sasl_ssl, and only there")
        if any(own) is not all(own):
            raise ValueError("ssl_certificate_file and ssl_key_file: both, or neither")

    def security_properties(self) -> dict[str, str]:
        """Return what the client is told of it."""
        settings = {
            "security.protocol": self.security_protocol,
            "sasl.mechanism": self.sasl_mechanism,
            "sasl.username": self.sasl_username,
            "sasl.password": self.sasl_password,
            "ssl.ca.location": self.ssl_ca_file,
            "ssl.certificate.location": self.ssl_certificate_file,
            "ssl.key.location": self.ssl_key_file,
            "ssl.key.password": self.ssl_key_password,
        }
        return {name: value for name, value in settings.items() if value is not None}
