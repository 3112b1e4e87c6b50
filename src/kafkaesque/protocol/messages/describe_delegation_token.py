"""DescribeDelegationToken (key 41), versions 1–3: the tokens of owners (KIP-48).

owners=None asks for all.

v2  flexible
v3  who has asked for the token (KIP-373)
"""

from kafkaesque.protocol.schema import (
    bytes_,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
)


@struct
class DescribeDelegationTokenOwner:
    principal_type: string = ""
    principal_name: string = ""


@message(api_key=41, versions=(1, 3), flexible=2)
class DescribeDelegationTokenRequest:
    owners: list[DescribeDelegationTokenOwner] | None = field(default_factory=list)


@struct
class DescribedDelegationTokenRenewer:
    principal_type: string = ""
    principal_name: string = ""


@struct
class DescribedDelegationToken:
    principal_type: string = ""
    principal_name: string = ""
    token_requester_principal_type: string = field(since=3, default="")
    token_requester_principal_name: string = field(since=3, default="")
    issue_timestamp: int64 = 0
    expiry_timestamp: int64 = 0
    max_timestamp: int64 = 0
    token_id: string = ""
    hmac: bytes_ = b""
    renewers: list[DescribedDelegationTokenRenewer] = field(default_factory=list)


@message(api_key=41, versions=(1, 3), flexible=2)
class DescribeDelegationTokenResponse:
    error_code: int16 = 0
    tokens: list[DescribedDelegationToken] = field(default_factory=list)
    throttle_time_ms: int32 = 0
