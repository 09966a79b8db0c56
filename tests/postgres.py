"""A PostgreSQL server of the test's own: initdb and pg_ctl in a temporary folder, a free port."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "nobody"
"""Who runs the server where the tests run as root: PostgreSQL refuses to."""


def program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    path = str(found[-1]) if found else shutil.which(name)
    assert path, f"{name} is not installed: apt-get install postgresql"
    return path


def run(*words: str) -> None:
    prefix = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]
    as_root = os.geteuid() == 0
    command = [*prefix, *words] if as_root else list(words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def server() -> Iterator[str]:
    """Run a server in a temporary folder and give its URL."""
    home = Path(tempfile.mkdtemp(prefix="windrow-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(home, USER)
    port = free_port()
    data = str(home / "data")
    try:
        run(program("initdb"), "-D", data, "-U", "windrow", "-A", "trust", "-N", "-E", "UTF8")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {home} -F"
        run(program("pg_ctl"), "-D", data, "-o", options, "-l", str(home / "log"), "-w", "start")
        try:
            yield f"postgresql://windrow@127.0.0.1:{port}/postgres"
        finally:
            run(program("pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home)
