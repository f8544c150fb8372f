"""A process that imported what the site's processes import, and forks one of them for each request.

A web process or a worker takes a second of CPU to start, nearly all of it for imports; forked they
take a tenth. Nothing that a fork would share wrongly may be open here: no connection, no thread,
no event loop. Run as `python -m tests.faults.fork_server` by tests.faults.forks, which speaks to it
in JSON lines; the settings are those of its environment.

In: `{"start": {"line", "env", "log", "first"}}` (`first` is a module to import before the program,
or empty) and `{"signal": [pid, number]}`. Out: `{"started": pid}`, `{"ended": [pid, code]}`.
"""

import gc
import json
import os
import runpy
import select
import signal
import sys
import traceback
from importlib import import_module
from typing import Any

PRELOADED = (
    "arise_site.asgi", "arise_site.celery", "arise_site.urls", "arise_site.web",
    "celery.apps.worker", "celery.bin.celery", "celery.bin.worker", "celery.concurrency.thread",
    "celery.loaders.app", "celery.worker.components", "celery.worker.autoscale",
    "celery.worker.consumer", "channels.routing", "core.llm.endpoint", "kombu.transport.redis",
    "psycopg_pool", "redis.asyncio",
)  # fmt: skip
# Importing Daphne makes Twisted's reactor, whose event loop a child can't share: it makes its own.
HOLD_THE_REACTOR = ("twisted.internet.reactor", "daphne.server", "daphne.cli", "arise_site.web")


def serve() -> None:
    """Obey requests until the input ends; then end the children too."""
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: set[int] = set()
    rest = b""
    tell({"ready": True})
    while True:
        readable, _, _ = select.select([0, woken], [], [])
        if woken in readable:
            os.read(woken, 4096)
            reap(children)
        if 0 not in readable:
            continue
        came = os.read(0, 1 << 20)
        if not came:
            break
        *lines, rest = (rest + came).split(b"\n")
        for line in lines:
            obey(json.loads(line), children, (woken, waker))
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def obey(request: dict[str, Any], children: set[int], pipe: tuple[int, int]) -> None:
    if "start" in request:
        pid = os.fork()
        if not pid:
            for end in pipe:
                os.close(end)
            become(**request["start"])
        children.add(pid)
        tell({"started": pid})
    else:
        pid, number = request["signal"]
        if pid in children:  # not reaped, so the number can't be another process's
            os.kill(pid, number)


def reap(children: set[int]) -> None:
    for pid in list(children):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            children.discard(pid)
            tell({"ended": [pid, os.waitstatus_to_exitcode(status)]})


def tell(what: dict[str, Any]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def become(line: list[str], env: dict[str, str], log: str, first: str) -> None:
    """In the child: be the program that `python -m MODULE ARGUMENTS` would be; never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        for ours, other in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
            os.dup2(other, ours)
        os.environ.clear()
        os.environ.update(env)
        renew()
        if first:
            import_module(first)
        _, dash_m, module, *arguments = line
        assert dash_m == "-m"
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  (nobody else tells it)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def renew() -> None:
    """What an import did once for the whole process is done again for this one."""
    for name in HOLD_THE_REACTOR:
        sys.modules.pop(name, None)
    vars(import_module("twisted.internet")).pop("reactor", None)
    import_module("daphne.server")
    failpoints = import_module("core.failpoints")
    failpoints.arm(os.environ.get("ARISE_FAILPOINT", ""))


def main() -> None:
    import django  # noqa: PLC0415  (reads the environment that this program was given)

    django.setup()
    for name in PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()
    serve()


if __name__ == "__main__":
    main()
