"""`manage.py simulate`: a OneBot v11 implementation in the terminal."""

import asyncio
import contextlib
import sys
import threading
from argparse import ArgumentParser
from typing import Any, TextIO

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from botgateway import fields
from botgateway.simulator import bots
from botgateway.simulator.platform import NoConnection, SimulatedPlatform
from botgateway.simulator.session import NoPicture, Session
from botgateway.simulator.world import World, wire_id


class Command(BaseCommand):
    """Connects to the gateway and obeys lines of standard input."""

    help = str(
        gettext_lazy(
            "Connects to the gateway as an invented bot over a real WebSocket; what you type is said "
            "by people there, and what the bot does is shown. Lines may also be piped in."
        )
    )
    requires_system_checks = []
    stealth_options = ("stdin",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--url", default="", help=_("the gateway (default: the one of `up` here)")
        )
        parser.add_argument("--bot", default="", metavar="SELF_ID", help=_("connect as this bot"))
        parser.add_argument("--token", default="", help=_("its token; needed with --bot"))
        parser.add_argument("--group", default="20001", help=_("the group you begin in"))
        parser.add_argument("--user", default="10002", help=_("who you begin as"))
        parser.add_argument("--name", default="Ann", help=_("how that one is called"))
        parser.add_argument(
            "--linger",
            type=float,
            default=12.0,
            metavar="SECONDS",
            help=_("at the end of the input, leave once the bot was quiet for this long"),
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        for name in ("group", "user"):
            if not options[name].strip():
                raise CommandError(_("--%(name)s needs an id") % {"name": name})
        if options["linger"] < 0:
            raise CommandError(_("--linger needs seconds, 0 or more"))
        platform = self._platform(options)
        stdin = options.get("stdin") or sys.stdin
        try:
            asyncio.run(self._run(platform, options, stdin))
        except (NoConnection, NoPicture) as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            self.stdout.write("")

    def _platform(self, options: dict[str, Any]) -> SimulatedPlatform:
        if options["bot"]:
            if not options["token"]:
                raise CommandError(_("--bot needs --token: `manage.py addbot` prints it once"))
            self_id, token, name = options["bot"], options["token"], "bot"
        else:
            try:
                bot, token = bots.provide()
            except DatabaseError as error:
                reason = str(error).splitlines()[0]
                raise CommandError(
                    _("no database (%(reason)s); is `manage.py up` running?") % {"reason": reason}
                ) from None
            if not bot.enabled:
                raise CommandError(_("the bot %(bot)s is disabled in the console") % {"bot": bot})
            self_id, name = bot.self_id, bot.name
        world = World(wire_id(self_id), name or "Simulator")
        world.people[wire_id(options["user"])] = options["name"]
        world.groups[wire_id(options["group"])] = "Simulated group"
        url = options["url"] or _own_url()
        platform = SimulatedPlatform(url, self_id=self_id, token=token, world=world)
        platform.report_own_messages = True
        return platform

    async def _run(
        self, platform: SimulatedPlatform, options: dict[str, Any], stdin: TextIO
    ) -> None:
        session = Session(
            platform,
            self._write,
            group=wire_id(options["group"]),
            user=wire_id(options["user"]),
            is_piped=not stdin.isatty(),
        )
        platform.on_action = session.report
        async with platform:
            world = platform.world
            self._write(
                _("Connected to %(url)s as %(bot_name)s (%(self_id)s).")
                % {"url": platform.url, "bot_name": world.bot_name, "self_id": world.self_id}
            )
            await session.run(_lines(stdin), linger_seconds=options["linger"])

    def _write(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _own_url() -> str:
    host = settings.ARISE_HOST
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        host = "127.0.0.1"
    return f"ws://{f'[{host}]' if ':' in host else host}:{settings.ARISE_PORT}/onebot/v11/ws"


def _lines(stdin: TextIO) -> asyncio.Queue[str | None]:
    """Lines as they are typed, then None.

    Read by a thread of its own: a terminal can't be read without blocking, and a daemon thread
    does not hold the process back at /quit.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody reads any more
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        try:
            for line in stdin:
                put(fields.clean_text(line))
        finally:
            put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines
