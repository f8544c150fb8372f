"""`manage.py up`: servers, tables, operator, then the programs, kept running until a signal stops all.

One thread: the kernel ends tied children with the thread that started them, and forking beside
threads is not safe. A select over the children's pipes and a signal pipe is all that ever waits.
"""

import os
import selectors
import time
from collections.abc import Callable

from django.conf import settings
from django.db import connections
from django.utils.translation import gettext as _

from arise_site import addresses, database, first_operator, programs, runfile
from arise_site.children import Child, Pauses
from arise_site.embedded.accounts import EmbeddedError
from arise_site.embedded.locks import FileLock
from arise_site.embedded.server import Server
from arise_site.embedded.servers import Servers
from arise_site.processes import how_it_ended
from arise_site.screen import Screen
from arise_site.stop_signals import StopSignals

READY_POLL_SECONDS = 0.2
HINT_SECONDS = 15.0
REFRESH_SECONDS = 3600.0
OTHERS_SECONDS = 5.0


class StartError(Exception):
    """`up` can't run; the text is one line."""


class Stopped(Exception):
    """A signal came before everything ran."""


class Supervisor:
    """Everything that runs for one home, from the first check to the last process gone."""

    def __init__(self, screen: Screen) -> None:
        self.home = settings.ARISE_HOME
        self.screen = screen
        self.children: list[Child] = []
        self.servers = Servers(
            self.home, database=settings.EMBEDDED_DATABASE, broker=settings.EMBEDDED_BROKER
        )
        self.operator: first_operator.FirstOperator | None = None
        self.demo_model_url = ""
        self.ready = False
        self.signals = StopSignals()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.signals.wakeups, selectors.EVENT_READ)
        self._due: dict[str, tuple[float, Callable[[], None]]] = {}
        self._server_pauses = {member.name: Pauses() for member in self.servers.members}
        self._hint_at = self._refresh_at = 0.0

    def run(self) -> None:
        """Run until a signal; raises StartError, EmbeddedError or SetUpError when it can't begin."""
        self._make_home()
        with FileLock(self.home / ".up.lock") as lock:
            self._refuse_what_cannot_be(lock)
            try:
                self._set_up()
                self._start_programs()
                while not self.signals.asked():
                    self._turn()
            except Stopped:
                pass
            finally:
                self._stop_all()

    def _make_home(self) -> None:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StartError(
                _("ARISE_HOME %(home)s can't be made: %(reason)s")
                % {"home": self.home, "reason": error.strerror}
            ) from None

    def _refuse_what_cannot_be(self, lock: FileLock) -> None:
        if not lock.try_exclusive():
            raise StartError(
                _(
                    "arise already runs on %(home)s (process %(noted)s): stop it first, or set "
                    "ARISE_HOME and PORT to others"
                )
                % {"home": self.home, "noted": lock.noted() or _("unknown")}
            )
        lock.note(str(os.getpid()))
        trouble = addresses.port_trouble(settings.ARISE_HOST, settings.ARISE_PORT)
        if trouble:
            raise StartError(trouble)
        database.check_given_servers()

    # Before the programs

    def _set_up(self) -> None:
        if self.servers.members:
            if not self.servers.claim(say=self.screen.say, cancelled=self.signals.asked):
                raise Stopped
            names = ", ".join(member.name for member in self.servers.members)
            self.screen.say(
                _("starting %(names)s in %(home)s") % {"names": names, "home": self.home}
            )
            try:
                self.servers.start(say=self.screen.say, cancelled=self.signals.asked)
            except EmbeddedError:
                if self.signals.asked():
                    raise Stopped from None
                raise
        self._go_on()
        database.migrate(self.screen.say)
        self.operator = first_operator.ensure(self.home)
        # The pool's threads must be gone before anything is started from this thread.
        connections.close_all()
        connections["default"].close_pool()  # type: ignore[attr-defined]
        self.servers.open_to_others()
        self._go_on()

    def _start_programs(self) -> None:
        table, self.demo_model_url = programs.table()
        names = ", ".join(program.name for program in table)
        self.screen.say(_("starting %(names)s") % {"names": names})
        self._write_run_file()
        for program in table:
            child = Child(program, self.screen.line_of)
            self.children.append(child)
            self._start_child(child)
        self._hint_at = time.monotonic() + HINT_SECONDS
        self._refresh_at = time.monotonic() + REFRESH_SECONDS

    def _start_child(self, child: Child) -> None:
        child.start()
        self._selector.register(child.output or 0, selectors.EVENT_READ, child)

    # While they run

    def _turn(self) -> None:
        """Wait for output, a signal, an end or the next thing due, and see to it."""
        for key, _events in self._selector.select(self._time_to_wait()):
            if isinstance(key.data, Child):
                self._read(key.data)
            else:
                self.signals.drain()
        if self.signals.asked():
            return
        for child in self.children:
            self._see_to_child(child)
        for member in self.servers.members:
            self._see_to_server(member)
        now = time.monotonic()
        for name, (due, start) in list(self._due.items()):
            if due <= now:
                del self._due[name]
                start()
        if not self.ready:
            self._ask_whether_ready()
        if now >= self._refresh_at:
            self._refresh_at = now + REFRESH_SECONDS
            self.servers.refresh()

    def _time_to_wait(self) -> float:
        if not self.ready:
            return READY_POLL_SECONDS
        due = [due for due, _start in self._due.values()]
        return max(0.0, min([*due, self._refresh_at]) - time.monotonic())

    def _read(self, child: Child) -> None:
        output = child.output
        child.read()
        if child.output is None and output is not None:
            self._selector.unregister(output)

    def _see_to_child(self, child: Child) -> None:
        code = child.ended()
        if code is None or child.name in self._due:
            return
        if child.output is not None:
            self._selector.unregister(child.output)
            child.read()
            child.close()
        pause = child.pauses.ended()
        self.screen.say(
            _("%(name)s ended (%(ended)s); starting it again in %(pause)g s")
            % {"name": child.name, "ended": how_it_ended(code), "pause": pause}
        )
        self._due[child.name] = (time.monotonic() + pause, lambda: self._start_child(child))

    def _see_to_server(self, member: Server) -> None:
        if member.name in self._due or member.process is None or member.process.poll() is None:
            return
        pause = self._server_pauses[member.name].ended()
        ended = how_it_ended(member.process.returncode)
        self.screen.say(
            _("%(name)s ended (%(ended)s); starting it again in %(pause)g s")
            % {"name": member.name, "ended": ended, "pause": pause}
        )
        self._due[member.name] = (time.monotonic() + pause, lambda: self._restart_server(member))

    def _restart_server(self, member: Server) -> None:
        self._server_pauses[member.name].started()
        try:
            self.servers.restart(member, cancelled=self.signals.asked)
        except EmbeddedError as error:
            if not self.signals.asked():
                self.screen.say(str(error))

    def _ask_whether_ready(self) -> None:
        missing = addresses.readiness()
        if missing is None:
            self.ready = True
            self._write_run_file()
            self.screen.ready(self.operator, self.demo_model_url)
            first_operator.shown(self.home)
        elif time.monotonic() > self._hint_at:
            self._hint_at = time.monotonic() + HINT_SECONDS
            self.screen.say(_("not ready yet: %(missing)s") % {"missing": missing})

    def _write_run_file(self) -> None:
        run = runfile.RunFile(
            pid=os.getpid(),
            started=runfile.own_start(),
            ready=self.ready,
            host=settings.ARISE_HOST,
            port=settings.ARISE_PORT,
            console_url=addresses.console_url(),
            websocket_url=addresses.websocket_url(),
            demo_model_url=self.demo_model_url,
        )
        runfile.write(self.home, run)

    # The end

    def _stop_all(self) -> None:
        """Programs in their order, then broker and Postgres; a second signal takes the time away."""
        if self.children:
            self._say_stopping([child.name for child in self.children])
        for child in self.children:
            child.stop(hurry=self._hurry)
        if self.servers.lock.held:
            end = time.monotonic() + OTHERS_SECONDS
            self.servers.close_to_others(
                give_up=lambda: self._hurry() or time.monotonic() > end, say=self.screen.say
            )
            self._say_stopping([member.name for member in self.servers.members[::-1]])
            self.servers.stop(hurry=self._hurry)
        runfile.remove(self.home)
        if self.children:
            self.screen.say(_("stopped"))

    def _say_stopping(self, names: list[str]) -> None:
        self.screen.say(_("stopping %(names)s") % {"names": ", ".join(names)})

    def _hurry(self) -> bool:
        for child in self.children:
            child.read()
        return self.signals.asked_again()

    def _go_on(self) -> None:
        if self.signals.asked():
            raise Stopped
