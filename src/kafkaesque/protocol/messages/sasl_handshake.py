"""SaslHandshake (key 17), versions 0–1: which SASL mechanism the client logs in with.

After v0 the tokens of the mechanism follow as bare frames, after v1 inside SaslAuthenticate
(KIP-152). Never flexible: it comes before anything is known of the client.
"""

from kafkaesque.protocol.schema import field, int16, message, string


@message(api_key=17, versions=(0, 1), flexible=None)
class SaslHandshakeRequest:
    mechanism: string = ""


@message(api_key=17, versions=(0, 1), flexible=None)
class SaslHandshakeResponse:
    error_code: int16 = 0
    mechanisms: list[string] = field(default_factory=list)
