"""A person at a terminal, speaking as members of the simulated platform."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from botgateway.simulator.answers import Answer, shown
from botgateway.simulator.drawing import drawn
from botgateway.simulator.platform import (
    HandshakeRefused,
    NoConnection,
    SimulatedPlatform,
    face_segment,
    sticker_segment,
)
from botgateway.simulator.world import Id, Said, wire_id

HELP = gettext_lazy(
    """\
  @bot hello            say it to the bot; without @bot the group says it among itself
  /as 10003 Bob         be somebody else           /private  /group 20001   go elsewhere
  /sticker [NAME|FILE]  send a sticker             /face [NAME]             send a market face
  /poke                 poke the bot
  /quote N words        quote message #N           /react N 👍              react to it
  /recall N             recall it                  /help                    /quit"""
)

MOST_PICTURE_BYTES = 4 * 2**20
"""An event holds it twice, and a frame may have 16 MiB."""
RECONNECT_SECONDS = 3.0
RECONNECT_ATTEMPTS = 20
_REPLACED_CODES = range(4000, 5000)
"""Closed for good: dialling again would only throw out whoever took the place."""


class Misused(Exception):
    """A line that can't be obeyed; the text says how it is written."""


class NoPicture(Misused):
    """A file that was named for a picture and can't be sent."""


class Session:
    """Obeys lines, shows what happens. `write` puts one line on the terminal.

    Where nobody is there to type a file's name anew (`is_piped`), one that can't be sent ends the
    session with NoPicture.
    """

    def __init__(
        self,
        platform: SimulatedPlatform,
        write: Callable[[str], None],
        *,
        group: Id,
        user: Id,
        is_piped: bool = False,
    ) -> None:
        self._platform = platform
        self._write = write
        self._is_piped = is_piped
        self._chat = f"group:{group}"
        self._user = user
        self._numbered: list[Said] = []
        self._numbers: dict[int, int] = {}
        self._hinted = False
        self._acted = asyncio.Event()
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/as": self._become,
            "/private": self._go_private,
            "/group": self._go_to_group,
            "/sticker": self._send_sticker,
            "/face": self._send_face,
            "/poke": self._poke,
            "/quote": self._quote,
            "/react": self._react,
            "/recall": self._recall,
            "/help": self._help,
        }

    async def run(self, lines: asyncio.Queue[str | None], *, linger_seconds: float) -> None:
        """Obeys lines until /quit or the end (None), then waits until the bot is quiet that long.

        Raises NoConnection when the connection is lost and does not come back, and NoPicture.
        """
        self._show_place()
        self._write(str(HELP))
        while True:
            line = await self._next(lines)
            if line is None:
                await self._linger(linger_seconds)
                return
            if line.strip() == "/quit":
                return
            await self.obey(line.strip())

    async def obey(self, line: str) -> None:
        """Does what one line says; a line that is wrong is answered with how to write it."""
        word, _space, rest = line.partition(" ")
        try:
            if word in self._commands:
                await self._commands[word](rest.strip())
            elif word.startswith("/"):
                raise Misused(_("no such command: %(word)s (see /help)") % {"word": word})
            elif line:
                await self._say(line)
        except Misused as error:
            if self._is_piped and isinstance(error, NoPicture):
                raise
            self._write(f"  ? {error}")
        except NoConnection as error:
            self._write(_("  ? not done: %(error)s") % {"error": error})

    def report(self, action: str, done: Answer) -> None:
        """Shows what the bot did."""
        self._acted.set()
        bot = self._platform.world.bot_name
        if done.said is None:
            self._write(f"  * {bot} {done.line}")
        elif action in ("delete_msg", "set_msg_emoji_like"):
            self._write(f"  * {bot} {done.line}: #{self._number(done.said)}")
        else:
            self._show(done.said)

    async def _next(self, lines: asyncio.Queue[str | None]) -> str | None:
        """The next line; a connection that is lost meanwhile is made again."""
        line = asyncio.ensure_future(lines.get())
        try:
            while not line.done():
                closed = asyncio.ensure_future(self._platform.wait_closed())
                await asyncio.wait({line, closed}, return_when=asyncio.FIRST_COMPLETED)
                if closed.done() and not line.done():
                    await self._reconnect(*closed.result())
                closed.cancel()
            return line.result()
        finally:
            line.cancel()

    async def _reconnect(self, code: int | None, reason: str) -> None:
        told = _closed(code, reason)
        if code in _REPLACED_CODES:
            raise NoConnection(told)
        self._write(_("  ! %(told)s; dialling again") % {"told": told})
        for attempt in range(1, RECONNECT_ATTEMPTS + 1):
            await asyncio.sleep(RECONNECT_SECONDS)
            await self._platform.close()
            try:
                await self._platform.connect()
            except HandshakeRefused:
                raise
            except NoConnection:
                if attempt == RECONNECT_ATTEMPTS:
                    raise
            else:
                self._write(_("  ! connected again"))
                return

    async def _linger(self, seconds: float) -> None:
        closed = asyncio.ensure_future(self._platform.wait_closed())
        while True:
            self._acted.clear()
            acted = asyncio.ensure_future(self._acted.wait())
            done, _pending = await asyncio.wait(
                {acted, closed}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            acted.cancel()
            if closed in done:
                raise NoConnection(_closed(*closed.result()))
            if not done:
                closed.cancel()
                return

    async def _say(self, line: str, reply_to: int | None = None) -> None:
        world = self._platform.world
        mention = False
        for name in ("@bot", f"@{world.bot_name}", f"@{world.self_id}"):
            if line == name or line.startswith(f"{name} "):
                mention, line = True, line.removeprefix(name).strip()
                break
        said = await self._platform.say(
            self._chat, self._user, line, mention_bot=mention, reply_to=reply_to
        )
        self._show(said)
        in_group = self._chat.startswith("group:")
        if in_group and not mention and reply_to is None and not self._hinted:
            self._hinted = True
            self._write(_("  (not addressed to the bot: begin with @bot for that)"))

    async def _become(self, rest: str) -> None:
        user, _space, name = rest.partition(" ")
        if not user:
            raise Misused(_("/as ID [NAME]"))
        self._user = wire_id(user)
        if name or self._user not in self._platform.world.people:
            self._platform.world.people[self._user] = name.strip() or f"User {user}"
        if self._chat.startswith("private:"):
            self._chat = f"private:{user}"
        self._show_place()

    async def _go_private(self, rest: str) -> None:
        if rest:
            await self._become(rest)
        self._chat = f"private:{self._user}"
        self._show_place()

    async def _go_to_group(self, rest: str) -> None:
        known = self._platform.world.groups
        group = wire_id(rest) if rest else next(iter(known))
        known.setdefault(group, f"Group {group}")
        self._chat = f"group:{group}"
        self._show_place()

    async def _send_sticker(self, rest: str) -> None:
        segment = sticker_segment(_picture(rest) if rest else drawn("wave"))
        self._show(await self._platform.say_segments(self._chat, self._user, [segment]))

    async def _send_face(self, rest: str) -> None:
        segment = face_segment(rest or "wave")
        self._show(await self._platform.say_segments(self._chat, self._user, [segment]))

    async def _poke(self, _rest: str) -> None:
        await self._platform.poke(self._chat, self._user)
        self._write(
            _("  %(name)s pokes %(bot_name)s")
            % {"name": self._name(self._user), "bot_name": self._platform.world.bot_name}
        )

    async def _quote(self, rest: str) -> None:
        said, words = self._picked(rest, _("/quote N WORDS"))
        await self._say(words, reply_to=said.message_id)

    async def _react(self, rest: str) -> None:
        said, emoji = self._picked(rest, _("/react N EMOJI"))
        if not emoji or (len(emoji.rstrip("\ufe0f")) > 1 and not emoji.isdigit()):
            raise Misused(_("/react N EMOJI, the emoji one character or a number"))
        await self._platform.react(
            said, self._user, emoji if emoji.isdigit() else str(ord(emoji[0]))
        )
        self._write(
            _("  %(name)s reacts to #%(number)s with %(emoji)s")
            % {"name": self._name(self._user), "number": self._number(said), "emoji": emoji}
        )

    async def _recall(self, rest: str) -> None:
        said, _words = self._picked(rest, _("/recall N"))
        await self._platform.recall(said)
        self._write(_("  #%(number)s was recalled") % {"number": self._number(said)})

    async def _help(self, _rest: str) -> None:
        self._write(str(HELP))

    def _picked(self, rest: str, usage: str) -> tuple[Said, str]:
        number, _space, words = rest.partition(" ")
        number = number.removeprefix("#")
        if not (number.isascii() and number.isdigit()):
            raise Misused(_("%(usage)s, N the number of a message above") % {"usage": usage})
        if not 1 <= int(number) <= len(self._numbered):
            raise Misused(_("there is no message #%(number)s") % {"number": number})
        return self._numbered[int(number) - 1], words.strip()

    def _number(self, said: Said) -> int:
        if said.message_id not in self._numbers:
            self._numbered.append(said)
            self._numbers[said.message_id] = len(self._numbered)
        return self._numbers[said.message_id]

    def _show(self, said: Said) -> None:
        words = shown(said.segments, self._platform.world)
        where = "" if said.chat == self._chat else f" ({said.chat})"
        self._write(f"#{self._number(said)} {self._name(said.sender_id)}{where}: {words}")

    def _show_place(self) -> None:
        self._write(
            _("You are %(name)s (%(user)s) in %(chat)s.")
            % {"name": self._name(self._user), "user": self._user, "chat": self._chat}
        )

    def _name(self, user: Id) -> str:
        return self._platform.world.name(user)


def _picture(named: str) -> bytes:
    """The picture in a file, or the one that is drawn for a name, which is a word and no path."""
    path = Path(named).expanduser()
    try:
        if not path.is_file():
            if path.suffix or path.name != named:
                raise NoPicture(_("there is no file %(path)s") % {"path": named})
            return drawn(named)
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise NoPicture(f"{named}: {error}") from None
    if len(content) > MOST_PICTURE_BYTES:
        raise NoPicture(
            _("%(named)s is larger than %(most)s bytes")
            % {"named": named, "most": f"{MOST_PICTURE_BYTES:,}"}
        )
    return content


def _closed(code: int | None, reason: str) -> str:
    told = " ".join(str(one) for one in (code, reason) if one)
    return _("the gateway closed the connection (%(told)s)") % {"told": told or _("no reason told")}
