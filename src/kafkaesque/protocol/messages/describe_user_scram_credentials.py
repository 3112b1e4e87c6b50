"""DescribeUserScramCredentials (key 50), version 0: who can log in, without secrets (KIP-554).

users=None, and an empty list, ask for all. Flexible.
"""

from kafkaesque.protocol.schema import field, int8, int16, int32, message, string, struct


@struct
class UserName:
    name: string = ""


@message(api_key=50, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsRequest:
    users: list[UserName] | None = None


@struct
class CredentialInfo:
    mechanism: int8 = 0
    iterations: int32 = 0


@struct
class DescribeUserScramCredentialsResult:
    user: string = ""
    error_code: int16 = 0
    error_message: string | None = None
    credential_infos: list[CredentialInfo] = field(default_factory=list)


@message(api_key=50, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    results: list[DescribeUserScramCredentialsResult] = field(default_factory=list)
