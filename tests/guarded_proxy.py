"""A proxy before our broker that adds what it lacks: TLS, and a login with SCRAM-SHA-256.

It answers ApiVersions, SaslHandshake and SaslAuthenticate itself; once the login is done, or if
none is wanted, bytes pass as they are. Threads; they end with their connections. The broker must
advertise the proxy's address, or clients go past it.
"""

import socket
import ssl
import struct
import threading
from types import TracebackType
from typing import Any

from tests.certificates import Certificate
from tests.scram_server import ScramServer

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import response_frame
from kafkaesque.protocol.header import (
    decode_request_header,
)
from kafkaesque.protocol.messages import ASKED, FLEXIBLE_SINCE, MESSAGES
from kafkaesque.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkaesque.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkaesque.protocol.messages.sasl_handshake import SaslHandshakeResponse

_APIS = {api.key: api for api in (*MESSAGES.values(), *ASKED)}
_API_VERSIONS = ApiVersionsResponse(
    api_keys=[
        ApiVersion(api_key=api.key, min_version=api.versions[0], max_version=api.versions[1])
        for api in _APIS.values()
    ]
)


class GuardedProxy:
    """Listens on a free port of 127.0.0.1; `password` is everyone's, None asks for no login."""

    def __init__(self, certificate: Certificate | None, password: str | None = None) -> None:
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)
        self._password = password
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._target: tuple[str, int] = ("", 0)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def forward_to(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._acceptor.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
                self._sockets.append(client)
            if self._password is not None and not _let_in(client, self._password):
                client.close()
                return
            broker = socket.create_connection(self._target)
            self._sockets.append(broker)
            threading.Thread(target=_pump, args=(broker, client), daemon=True).start()
            _pump(client, broker)
        except OSError:
            client.close()

    def __enter__(self) -> "GuardedProxy":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Closing alone would not wake the thread that waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        for each in self._sockets:
            each.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        end.close()


def _let_in(client: socket.socket, password: str) -> bool:
    """The login, as a broker answers it."""
    scram = ScramServer("sha256", password)
    tokens = 0
    while True:
        key, correlation_id, version, request = _request(client)
        answer: Any
        if key == 18:
            answer = _API_VERSIONS
        elif key == 17:
            known = ["SCRAM-SHA-256"]
            is_known = request.mechanism in known
            code = ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
            answer = SaslHandshakeResponse(error_code=code, mechanisms=known)
        elif tokens == 0:
            tokens += 1
            answer = SaslAuthenticateResponse(auth_bytes=scram.challenge(request.auth_bytes)[1])
        else:
            token = scram.verdict(request.auth_bytes)
            answer = SaslAuthenticateResponse(auth_bytes=token)
            if token.startswith(b"e="):
                code = ErrorCode.SASL_AUTHENTICATION_FAILED
                answer = SaslAuthenticateResponse(error_code=code, error_message="wrong password")
        is_flexible = _APIS[key].has_flexible_response_header(version)
        chunks = response_frame(correlation_id, is_flexible, encode(answer, version))
        client.sendall(b"".join(chunks))
        if isinstance(answer, SaslAuthenticateResponse) and answer.auth_bytes.startswith(b"v="):
            return True


def _request(client: socket.socket) -> tuple[int, int, int, Any]:
    (size,) = struct.unpack(">i", _received(client, 4))
    data = _received(client, size)
    flexible_since = {api.key: FLEXIBLE_SINCE.get(api.key, 2) for api in _APIS.values()}
    header, position = decode_request_header(data, {**flexible_since, 17: 99})
    request = decode(_APIS[header.api_key].request, header.api_version, data, position)
    return header.api_key, header.correlation_id, header.api_version, request


def _received(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = client.recv(size - len(data))
        if not chunk:
            raise ConnectionResetError
        data += chunk
    return data
