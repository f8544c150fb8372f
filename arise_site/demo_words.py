"""What the demo model hears and says: finding who spoke to it, and its scripted words."""

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_ELEMENT = re.compile(r"<(message|poke)\b([^<>]*?)(?:/>|>(.*?)</message>)", re.DOTALL)
_NEW = re.compile(r"^<new>\s*$", re.MULTILINE)  # after this stands what this turn is about
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
# Digits first: the words may follow the id without a space.
_MENTION = re.compile(r"@user:(\d+|[A-Za-z0-9_-]+)")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_QUOTED_CHARACTERS = 40

_SILENCE = re.compile(r"be silent|stay silent|be quiet|安静|别说话|闭嘴", re.IGNORECASE)
_HELP = re.compile(r"\bhelp\b|帮助|你会什么", re.IGNORECASE)
_TWICE = re.compile(r"\btwo messages\b|\btwice\b|两条", re.IGNORECASE)

_ENGLISH = {
    "hello": "Hi {name}! I read: “{said}”",
    "about": (
        "I am arise's built-in demo model: scripted, no language model. For a real one put"
        " OPENAI_API_KEY (or OPENAI_BASE_URL) and ARISE_CHAT_MODEL into .env and start again."
        " Say “help” for more."
    ),
    "help": (
        "I am the built-in demo model, scripted, no language model. Ask me: “help” for this list,"
        " “two messages” to see messages leave in order, “be silent” to see a turn without an"
        " answer; to anything else I say what I am. A real model is set in .env: OPENAI_API_KEY,"
        " OPENAI_BASE_URL, ARISE_CHAT_MODEL."
    ),
    "first": "The first of two messages, {name} (from the scripted demo model).",
    "second": "And the second one: it left after the first, as the Sent Log shows.",
    "poke": (
        "You poked me, {name}. I am arise's built-in demo model: scripted, no language model."
        " Say “help” to see what I can be asked."
    ),
}
_IN_CHINESE = {
    "hello": "你好，{name}！我读到了：“{said}”",
    "about": (
        "我是 arise 内置的演示模型，按脚本回答，不是语言模型。要接入真正的模型，请在 .env 里填写"
        " OPENAI_API_KEY（或 OPENAI_BASE_URL）和 ARISE_CHAT_MODEL，然后重新启动。对我说“帮助”看看能问什么。"
    ),
    "help": (
        "我是内置的演示模型，按脚本回答，不是语言模型。可以对我说：“帮助”看这份说明；“两条”看消息按"
        "顺序发出；“安静”看一个不回答的回合；别的话我都会介绍自己。真正的模型在 .env 里设置："
        "OPENAI_API_KEY、OPENAI_BASE_URL、ARISE_CHAT_MODEL。"
    ),
    "first": "{name}，这是两条消息里的第一条（来自按脚本回答的演示模型）。",
    "second": "这是第二条：它在第一条之后发出，发送日志里看得到。",
    "poke": (
        "{name} 戳了我一下。我是 arise 内置的演示模型，按脚本回答，不是语言模型。"
        "对我说“帮助”可以看看能问什么。"
    ),
}


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said to the model: the words without the mention, and who said them."""

    text: str
    name: str
    is_poke: bool = False


@dataclass(frozen=True, slots=True)
class _Element:
    kind: str
    attributes: Mapping[str, str]
    text: str

    @property
    def is_own(self) -> bool:
        return "handle" in self.attributes and "sender" not in self.attributes


def last_addressed(messages: Iterable[Mapping[str, Any]]) -> Heard | None:
    """The last thing said to the model since it last spoke; None when nobody said anything."""
    instructions, elements = "", []
    for message in messages:
        text = _text_of(message.get("content"))
        if message.get("role") == "user":
            elements += _elements(text)
        elif message.get("role") in {"system", "developer"}:
            instructions += text
    spoken = [index for index, element in enumerate(elements) if element.is_own]
    fresh = elements[spoken[-1] + 1 :] if spoken else elements
    heard = [element for element in fresh or elements if not element.is_own]
    chosen = _addressed(heard, set(re.findall(r"[\w-]{4,}", instructions)))
    if chosen is None:
        return None
    name = chosen.attributes.get("name") or chosen.attributes.get("sender", "")
    return Heard(_MENTION.sub("", chosen.text).strip(), name, chosen.kind == "poke")


def _addressed(heard: list[_Element], known: set[str]) -> _Element | None:
    """A mention of an id that the instructions know is one of the model; else any mention may be."""

    def mentioned(element: _Element) -> set[str]:
        target = {element.attributes.get("target", "")} if element.kind == "poke" else set()
        return target | set(_MENTION.findall(element.text))

    for element in reversed(heard):
        if mentioned(element) & known:
            return element
    for element in reversed(heard):
        if mentioned(element) or "reply_to" in element.attributes:
            return element
    return heard[-1] if heard else None


def _elements(text: str) -> list[_Element]:
    """What the context tells, from its last section of news on."""
    found: list[_Element] = []
    read_to = 0
    for match in _ELEMENT.finditer(text):
        if _NEW.search(text[read_to : match.start()]):
            found.clear()
        read_to = match.end()
        pairs = {
            name: html.unescape(double or single)
            for name, double, single in _ATTRIBUTE.findall(match[2])
        }
        found.append(_Element(match[1], pairs, html.unescape(match[3] or "")))
    return found


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def wants_silence(heard: Heard) -> bool:
    return bool(_SILENCE.search(heard.text))


def replies(heard: Heard) -> list[str]:
    """The messages that answer what was heard, in its language."""
    words = _IN_CHINESE if _is_chinese(heard) else _ENGLISH
    if heard.is_poke:
        keys = ["poke"]
    elif _HELP.search(heard.text):
        keys = ["help"]
    elif _TWICE.search(heard.text):
        keys = ["first", "second"]
    else:
        # Two, so that the first is there while the longer one is still being typed.
        keys = ["hello", "about"]
    name, said = _quotable(heard.name, 20), _quotable(heard.text, _QUOTED_CHARACTERS)
    return [words[key].format(name=name, said=said or "…") for key in keys]


def _is_chinese(heard: Heard) -> bool:
    text = heard.text or heard.name
    # One character is about a word, so a quarter of the letters is most of what was said.
    return 4 * len(_CHINESE.findall(text)) > sum(character.isalpha() for character in text)


def _quotable(text: str, limit: int) -> str:
    """Somebody's words as data: on one line, short, and with no `@` that could become a tag."""
    line = " ".join(text.replace("@", "＠").split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
