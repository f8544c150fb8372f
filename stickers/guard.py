"""The persona guard: a veto on every text about a sticker before it is kept.

What is kept is read by the chat model later, so it must be talk about a sticker and nothing else.
First plain rules; then, where ARISE_GUARD_MODEL is set, that model's veto, whose failure is one too.
It would rather veto an innocent text than keep a bad one: a sticker is no loss.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from core.errors import ModelFailure
from core.llm import client
from core.models import Bot, Chat
from stickers import recognition
from stickers.recognition import Learned, Unusable

TOOL_NAME = "judge_sticker"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Say whether these texts may be kept.",
        "parameters": {
            "type": "object",
            "properties": {
                "allowed": {"type": "boolean", "description": "False where in doubt."},
                "reason": {"type": "string", "description": "Why, in a few words."},
            },
            "required": ["allowed", "reason"],
        },
    },
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why the texts may not be kept, as a short code; the empty string where they may. Whether a
    model was asked for it, and the tokens that took."""

    veto: str
    asked: bool = False
    tokens: int = 0


def judge(learned: Learned, chat: Chat) -> Judgement:
    """Whether what was learned may be kept in a chat, whose persona is asked. May wait for a model, where one is set."""
    if veto := by_rules(learned.texts(), chat.bot):
        return Judgement(veto)
    return _by_model(learned, chat.persona) if settings.ARISE_GUARD_MODEL else Judgement("")


def by_rules(texts: Iterable[str], bot: Bot) -> str:
    """The first rule that a text breaks, as a short code; the empty string where none does."""
    for text in texts:
        plain = _plain(text)
        for code, breaks in _RULES:
            if breaks(plain):
                return code
        if _speaks_for(plain, bot):
            return "impersonation"
    return ""


def _by_model(learned: Learned, persona: str) -> Judgement:
    texts = {"texts": "\n".join(learned.texts())}
    messages = [
        {
            "role": "system",
            "content": render_to_string("prompts/sticker_guard.txt", {"persona": persona}),
        },
        {"role": "user", "content": render_to_string("prompts/sticker_guard_request.txt", texts)},
    ]
    try:
        answer = client.complete(
            model=settings.ARISE_GUARD_MODEL,
            messages=messages,
            tools=[TOOL],
            tool_choice=TOOL_NAME,
            retries=0,
        )
    except ModelFailure as failure:
        return Judgement(f"guard_{failure.code}", asked=True)
    tokens = answer.prompt_tokens + answer.completion_tokens
    try:
        told = recognition.arguments(answer, TOOL_NAME)
    except Unusable as unusable:
        return Judgement(f"guard_{unusable.code}", asked=True, tokens=tokens)
    veto = "" if told.get("allowed") is True else "guard_veto"
    return Judgement(veto, asked=True, tokens=tokens)


def _plain(text: str) -> str:
    """Text as the rules read it: full-width letters and digits narrowed, invisible ones left out."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    seen = (char for char in folded if unicodedata.category(char) not in ("Cf", "Mn", "Me"))
    plain = "".join(str(unicodedata.digit(char, char)) for char in seen)
    return " ".join(plain.split())


def _found(*patterns: str) -> Callable[[str], bool]:
    # ASCII: else a Chinese character before an address would hide where its word begins.
    whole = re.compile("|".join(patterns), re.ASCII)
    return lambda plain: whole.search(plain) is not None


_LINK = _found(
    r"[a-z][a-z0-9+.-]*://",
    r"\bwww\.",
    r"\b(?:data|javascript|mailto|magnet|file):\S",
    r"[\w-]\s?(?:\.|。|点|dot)\s?(?:com|cn|net|org|io|top|xyz|vip|cc|me|tv|club|site|info|gg|ru|app|link)\b",
    r"\b(?:t|qm|q)\.(?:me|qq)\b",
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
)
_MARKUP = _found(
    r"<\s*[/!?]?\s*[a-z]",
    r"</|/>|<!|\]\]>",
    r"&(?:[a-z]+|#x?[0-9a-f]+);",
    r"\[\s*cq\s*:",
    r"\{\{|\}\}|\{%|\$\{|`",
    r"!?\[[^\]]*\]\(",
    r"@\S",
    r"<\|",
    r"\[/?inst\]",
    r'\{\s*"',
)
_TOOL = _found(
    r"\b[a-z]+(?:_[a-z0-9]+)+\b",
    r"\b(?:tool|function)[ _-]?calls?\b",
    r"(?:调用|使用)(?:工具|函数|接口)",
)
_INSTRUCTION = _found(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|rules?|prompts?|previous|prior|above|everything|guidelines?|persona)\b",
    r"\b(?:system|developer|hidden|initial)\s*(?:prompts?|messages?|instructions?)\b",
    r"\bfrom now on\b.{0,12}\b(?:you|reply|say|answer|call|be|act|only|always|never|speak|send|obey)\b",
    r"\byou (?:are now|must|shall|have to|will now|should (?:now|always|never))\b",
    r"\b(?:act|behave|respond|speak) as (?:if|an?|the)\b",
    r"\bpretend (?:to be|you|that)\b",
    r"\brole-?play\b",
    r"\bjailbreak|\bdan mode\b|\bdeveloper mode\b",
    r"\b(?:always|never|only) (?:say|reply|answer|send|respond|obey|tell|call|use)\b",
    r"\b(?:reply|respond|answer) (?:only )?with\b",
    r"\b(?:reveal|print|repeat|leak|output|show)\b.{0,30}\b(?:prompts?|instructions?|secrets?|keys?|tokens?|passwords?|persona)\b",
    r"\b(?:new|updated|following|these) (?:instructions?|rules?|persona|orders?)\b",
    r"\byour (?:persona|instructions?|rules?|prompts?|owner|operator|developers?)\b",
    r"(?:忽略|无视|忘记|忘掉|不要理会|跳过|覆盖|绕过).{0,12}(?:指令|规则|设定|提示|要求|指示|限制|内容|人设|之前|以上|上面)",
    r"(?:你|妳|机器人)(?:现在|从现在起|今后|以后|接下来)(?:是|就是|要|必须|只能|应该|得|不是)",
    r"从(?:现在|此刻|今天)(?:开始|起).{0,6}(?:你|机器人)",
    r"(?:扮演|假扮|充当|化身)",
    r"系统(?:提示|指令|消息|设定|规则|通知)",
    r"(?:提示词|越狱|开发者模式|开发者消息|人设|催眠)",
    r"(?:必须|务必|一律|总是|永远|每次都?|只能|始终)(?:回复|回答|发送|说|服从|执行|调用|输出|使用|遵守)",
    r"(?:执行|服从|遵守|遵循|听从).{0,6}(?:指令|命令|规则|指示|要求)",
    r"(?:泄露|透露|输出|打印|复述|告诉我).{0,8}(?:提示|设定|密码|令牌|密钥|指令|口令)",
    r"(?:请|你)?(?:务必|立刻|马上)(?:转账|汇款|加群|加好友|扫码|点击)",
    r"(?:加|进)(?:我的?|本)?(?:微信|qq|群|vx|v信|扣扣)",
)
_IMPERSONATION = _found(
    r"^\W*(?:system|assistant|operator|admin(?:istrator)?|developer|moderator|user|tool|bot)\s*:",
    r"\b(?:i am|i'm|this is|message from|note from|as) (?:the |your |an? )?(?:system|operator|admin(?:istrator)?|developer|owner|moderator|openai|tencent)\b",
    r"^\W*(?:系统|管理员|运营|官方|主人|开发者|群主|机器人|助手|用户)\s*:",
    r"(?:我是|这里是|我们是|来自|作为)(?:你的?)?(?:系统|管理员|运营|官方|主人|开发者|群主|腾讯|客服)",
)


def _personal(plain: str) -> bool:
    """Numbers that may be somebody's, and addresses of mail; `666`, `2333` and `5201314` are talk."""
    if re.search(r"[\w.+-]+\s?(?:@|\(at\)| at )\s?[\w-]+\s?\.\s?[a-z]{2,}", plain):
        return True
    joined = re.sub(r"(?<=\d)[\s\-.()·_/]+(?=\d)", "", plain)
    numbers = re.findall(r"\d{5,}x?", joined)
    if any(len(set(number)) > 2 and number not in _TALK for number in numbers):
        return True
    return bool(re.search(r"[零〇一二三四五六七八九幺两]{7,}", plain))


_TALK = {"5201314", "1314520", "52013", "12345", "54321", "7758521", "10086", "1314521"}
_RULES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("link", _LINK),
    ("personal_data", _personal),
    ("markup", _MARKUP),
    ("tool", _TOOL),
    ("impersonation", _IMPERSONATION),
    ("instruction", _INSTRUCTION),
)


def _speaks_for(plain: str, bot: Bot) -> bool:
    """Whether a text speaks as the bot, or tells what it does, or holds its account."""
    name = _plain(bot.name)
    if bot.self_id and re.search(rf"(?<!\d){re.escape(bot.self_id.casefold())}(?!\d)", plain):
        return True
    if len(name) < 2:
        return False
    called = re.escape(name)
    return bool(
        re.search(
            rf"{called}\s*(?::|说|是|要|必须|应该|会|says?\b|said\b|is\b|must\b|should\b|will\b)"
            rf"|(?:我是|作为|我叫|i am|i'm|as|my name is)\s*{called}",
            plain,
        )
    )
