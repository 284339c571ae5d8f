"""A real S3 server on loopback, one SeaweedFS in a process of its own, gone at the end."""

import os
import socket
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.fs as pafs

from patience import HANG_SECONDS, until

HOST = "127.0.0.1"
KEY, SECRET = "tester", "nobodys-secret"
BUCKET = "bucket"
_SERVERS = ("master", "volume", "filer", "s3")
_QUIET = ("-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64")


@contextmanager
def s3_server(folder: Path) -> Iterator[dict[str, str]]:
    """A server with one empty bucket: what the environment must say for Arrow to find it."""
    folder.mkdir(parents=True, exist_ok=True)
    ports = [f"-{name}.port{grpc}={_free_port()}" for name in _SERVERS for grpc in ("", ".grpc")]
    s3_port = next(port.partition("=")[2] for port in ports if port.startswith("-s3.port="))
    sockets = (f"-{name}.localSocket={folder / name}.sock" for name in ("filer", "s3"))
    where = (f"-dir={folder}", f"-ip={HOST}", f"-ip.bind={HOST}", "-s3", *ports, *sockets)
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
    with (folder / "said").open("wb") as said:
        server = subprocess.Popen(
            [Path(sysconfig.get_path("scripts")) / "weed", "server", *where, *_QUIET],
            env={**os.environ, **keys},
            stdout=said,
            stderr=said,
        )
    try:
        found = {**keys, "AWS_ENDPOINT_URL": f"http://{HOST}:{s3_port}", "AWS_EC2_METADATA_DISABLED": "true"}
        access = {"access_key": KEY, "secret_key": SECRET, "region": "us-east-1"}
        endpoint = found["AWS_ENDPOINT_URL"]
        filesystem = pafs.S3FileSystem(**access, endpoint_override=endpoint, allow_bucket_creation=True)

        def has_a_bucket() -> bool:
            assert server.poll() is None, (folder / "said").read_text()[-2000:]
            try:
                filesystem.create_dir(BUCKET)
            except OSError:
                return False
            return True

        until(has_a_bucket, "the server does not answer")
        yield found
    finally:
        server.kill()  # asked to end, it waits half a minute for others
        server.wait(HANG_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
