"""Child processes that end with us: started tied to this process, stopped in bounded time.

Linux ends a tied child when the *thread* that started it ends, so spawn from the main thread only.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from arise_site.languages import early as _

PR_SET_PDEATHSIG = 1
MOMENT_SECONDS = 3.0
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def tie(death_signal: signal.Signals) -> Callable[[], None]:
    """What a child runs before its program: have the kernel end it when its parent ends."""
    parent = os.getpid()

    def in_child() -> None:
        if _libc is not None:
            _libc.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # the parent ended before the tie was made
            os._exit(1)

    return in_child


def spawn(
    args: Sequence[str | Path],
    *,
    death_signal: signal.Signals = signal.SIGKILL,
    output: int | IO[bytes],
    env: Mapping[str, str] | None = None,
    cwd: str | Path = "/",
    **more: Any,
) -> subprocess.Popen[bytes]:
    """Start a program tied to this process, in a session of its own.

    Its own session keeps a terminal's Ctrl-C from it: the order of stopping is ours to decide.
    """
    return subprocess.Popen(  # noqa: S603  (the program lines are ours)
        [str(arg) for arg in args],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=env,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=tie(death_signal),
        **more,
    )


def stop(
    process: subprocess.Popen[bytes],
    *,
    signals: Sequence[signal.Signals] = (signal.SIGTERM,),
    grace_seconds: float,
    hurry: Callable[[], bool] = lambda: False,
) -> None:
    """Ask the process to end with each signal in turn, then kill it.

    The first gets the whole grace, cut short when `hurry` says so; the others get a moment.
    """
    for number in signals:
        if process.poll() is not None:
            return
        process.send_signal(number)
        end = time.monotonic() + (grace_seconds if number is signals[0] else MOMENT_SECONDS)
        while process.poll() is None and time.monotonic() < end:
            if hurry() and number is signals[0]:
                break
            time.sleep(0.02)
    if process.poll() is None:
        process.kill()
        process.wait()


def how_it_ended(returncode: int) -> str:
    """`exit code 1` or `killed by SIGKILL`, for a line that a person reads."""
    if returncode >= 0:
        return _("exit code %(returncode)s") % {"returncode": returncode}
    try:
        return _("killed by %(name)s") % {"name": signal.Signals(-returncode).name}
    except ValueError:
        return _("killed by signal %(returncode)s") % {"returncode": -returncode}
