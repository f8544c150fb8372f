"""The signals that stop `up`: counted by a handler, and a pipe that wakes whoever waits in a select."""

import os
import signal
import time

# make passes on what it gets, and a terminal or a service manager may tell a whole group: what
# arrives so close together is one request, not an impatient second one.
SAME_SIGNAL_SECONDS = 0.7


class StopSignals:
    """Counts requests to stop. `wakeups` is readable after any signal, an ended child's included."""

    def __init__(self) -> None:
        self.count = 0
        self._last = 0.0
        self.wakeups, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup asks us to live on after the terminal has gone.
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            signal.signal(number, self._on_signal)

    def asked(self) -> bool:
        return self.count > 0

    def asked_again(self) -> bool:
        return self.count > 1

    def drain(self) -> None:
        """Empty the pipe, so that the next select waits again."""
        try:
            while os.read(self.wakeups, 4096):
                pass
        except BlockingIOError:
            pass

    def _on_signal(self, number: int, _: object) -> None:
        now = time.monotonic()
        if not self.count or now - self._last > SAME_SIGNAL_SECONDS:
            self.count += 1
        self._last = now
