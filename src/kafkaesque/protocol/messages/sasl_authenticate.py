"""SaslAuthenticate (key 36), versions 0–2: one token of the SASL mechanism, and the answer to it.

v1  session_lifetime_ms: how long the login is good for (KIP-368)
v2  flexible
"""

from kafkaesque.protocol.schema import bytes_, field, int16, int64, message, string


@message(api_key=36, versions=(0, 2), flexible=2)
class SaslAuthenticateRequest:
    auth_bytes: bytes_ = b""


@message(api_key=36, versions=(0, 2), flexible=2)
class SaslAuthenticateResponse:
    error_code: int16 = 0
    error_message: string | None = None
    auth_bytes: bytes_ = b""
    session_lifetime_ms: int64 = field(since=1, default=0)
