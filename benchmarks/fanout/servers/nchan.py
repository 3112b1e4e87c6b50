"""nchan over WebSocket: Debian's nginx with its module, and a bridge that posts each record to it.

The channel is `<topic>.<key>`. One worker, as nginx has for one core; a channel keeps one message.
The packages are unpacked under `.tools/`, which needs no root and starts no service.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fanout import clients
from benchmarks.fanout.running import running
from benchmarks.fanout.servers.packages import run, unpacked
from benchmarks.fanout.servers.reachable import await_port
from benchmarks.fanout.servers.server import Served, Setting, Variant
from tests.broker_process import free_port
from tests.compat.tools import ToolMissingError

PACKAGES = ("nginx", "libnginx-mod-nchan")
NGINX = Path("usr", "sbin", "nginx")
MODULE = Path("usr", "lib", "nginx", "modules", "ngx_nchan_module.so")
BODY = b"/var/lib/nginx/body"
BODY_BELOW_PREFIX = b"client-body-tmp-dir"
BRIDGE = "benchmarks.fanout.servers.bridge"
CONFIG = """\
load_module {module};
daemon off;
master_process on;
worker_processes 1;
worker_rlimit_nofile {files};
pid {directory}/nginx.pid;
error_log {directory}/nginx-error.log;
events {{ worker_connections {files}; multi_accept on; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  nchan_shared_memory_size 512M;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = /pub {{
      nchan_publisher http;
      nchan_channel_id $arg_id;
      nchan_message_buffer_length 1;
      nchan_message_timeout 10s;
    }}
    location = /sub {{
      nchan_subscriber websocket;
      nchan_channel_id $arg_id;
      nchan_subscriber_first_message newest;
    }}
  }}
}}
"""
FILES = 19_990


def installed() -> Path:
    """Where nginx and nchan are: unpacked at the first call."""

    def fetch(directory: Path) -> None:
        packages = directory / "packages"
        packages.mkdir()
        run(["apt-get", "download", "--quiet", *PACKAGES], packages)
        for package in packages.glob("*.deb"):
            run(["dpkg-deb", "--extract", str(package), str(directory)], packages)
        _move_body_directory(directory / MODULE)

    return unpacked("nchan", " ".join(PACKAGES), fetch)


def _move_body_directory(module: Path) -> None:
    """nchan wants a directory that only an installation by root makes, whatever the configuration
    says. A name of the same length in its place lies below the prefix that nginx is given."""
    data = module.read_bytes()
    if BODY not in data:
        raise ToolMissingError(f"{module.name} does not name {BODY.decode()}: see nchan.py")
    module.write_bytes(data.replace(BODY, BODY_BELOW_PREFIX))


@contextmanager
def serve(setting: Setting) -> Iterator[Served]:
    home, port, directory = installed(), free_port(), setting.directory
    config = directory / "nginx.conf"
    config.write_text(
        CONFIG.format(module=home / MODULE, directory=directory, port=port, files=FILES)
    )
    nginx: list[str | Path] = [home / NGINX, "-p", directory, "-c", config]
    nginx += ["-e", directory / "nginx-error.log"]
    bridge = [sys.executable, "-m", BRIDGE, "nchan", setting.bootstrap, setting.topic, str(port)]
    with running("nginx", nginx, directory) as server:
        await_port(server, port)
        with running("bridge", bridge, directory) as feeding:
            feeding.expect("ready", 60)
            yield Served(port, {"server": server.pid, "bridge": feeding.pid})


def versions() -> Mapping[str, str]:
    directory = installed()
    binary = directory / NGINX
    said = subprocess.run([str(binary), "-v"], capture_output=True, text=True, check=True)
    found = next((directory / "packages").glob("libnginx-mod-nchan_*")).name.split("_")[1]
    return {"nginx": said.stderr.split("/")[-1].split()[0], "nchan": found.replace("%3a", ":")}


NCHAN = Variant(
    "nchan",
    "nginx with nchan, WebSocket; a bridge on confluent-kafka posts to it",
    serve,
    clients.nchan,
)
