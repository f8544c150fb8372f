"""The console's own pages: a table of them, with what has to be done to see each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from tests.browser.busy_site import Rows
from tests.browser.conftest import PASSWORD, Browser
from tests.core.media.drawing import animation, picture
from tests.skills.packing import packed, skill_file

Act = Callable[[Browser, Path], None]
"""What is done on a page to see another one at the same address; the folder takes files to send."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: the name of its address, which row it is of (tests.browser.busy_site), what else the
    address has, who sees it (empty: a stranger), what leads to it on the page, and a word of what the
    browser's log may complain of."""

    view: str
    row: str = ""
    also: tuple[object, ...] = ()
    query: str = ""
    who: str = "operator"
    act: Act | None = None
    complaint: str = ""

    def address(self, rows: Rows) -> str:
        """Where it is; `{…}` in the query is the key of a row."""
        own = (rows[self.row].pk,) if self.row else ()
        keys = {name.replace(" ", "_"): row.pk for name, row in rows.items()}
        return reverse(self.view, args=(*own, *self.also)) + self.query.format_map(keys)

    def allows(self, complaint: str) -> bool:
        """Whether the browser's log may say this of it."""
        return bool(self.complaint) and self.complaint in complaint


def _send_pictures(browser: Browser, folder: Path) -> None:
    files = {
        "still.png": picture(size=(90, 60)),
        "moving.gif": animation(),
        "no.png": b"no picture",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    field = browser.find("[name=files]")
    field.send_keys("\n".join(str(folder / name) for name in files))
    field.submit()
    browser.find(".arise-picture")


def _send_skills(browser: Browser, folder: Path) -> None:
    archive = folder / "skills.zip"
    archive.write_bytes(packed([("kind/SKILL.md", skill_file("kind"))]))
    browser.find("[name=file]").send_keys(str(archive))
    button = browser.find("[name=look]")
    browser.press("[name=look]")
    browser.until_gone(button)


def _set_up(browser: Browser, _folder: Path) -> None:
    device = TOTPDevice.objects.get(user__username="operator")
    browser.find("[name=code]").send_keys(f"{totp(device.bin_key):06d}")
    browser.press("form .arise-button.main")
    browser.find(".arise-codes")


def _open_playground(browser: Browser, _folder: Path) -> None:
    browser.press("form .arise-button.main")
    browser.find("[data-playground] [data-state]")


def _pressed(css: str, then: str) -> Act:
    def press(browser: Browser, _folder: Path) -> None:
        browser.press(css)
        browser.find(then)

    return press


def _wrong_passwords(browser: Browser, _folder: Path) -> None:
    for _attempt in range(settings.AXES_FAILURE_LIMIT):
        browser.find("[name=username]").clear()
        browser.find("[name=username]").send_keys("nobody")
        field = browser.find("[name=password]")
        field.send_keys(PASSWORD)
        field.submit()
        browser.until_gone(field)


PAGES: Mapping[str, Page] = {
    "overview": Page("admin:index"),
    "bots": Page("admin:core_bot_changelist"),
    "bot": Page("admin:core_bot_change", "bot"),
    "bot-new": Page("admin:core_bot_add"),
    "chats": Page("admin:core_chat_changelist"),
    "chat": Page("admin:core_chat_change", "chat"),
    "chat-paused": Page("admin:core_chat_change", "paused"),
    "chat-history": Page("admin:core_chat_history", "chat"),
    "chat-delete": Page("admin:core_chat_delete", "chat"),
    "conversation": Page("admin:core_chat_conversation", "chat"),
    "chat-forget": Page("admin:core_chat_forget", "chat"),
    "members": Page("admin:core_member_changelist"),
    "member": Page("admin:core_member_change", "member"),
    "member-forget": Page("admin:core_member_forget", "member"),
    "items": Page("admin:core_inbounditem_changelist"),
    "item": Page("admin:core_inbounditem_change", "item"),
    "decisions": Page("admin:core_decision_changelist"),
    "decision": Page("admin:core_decision_change", "decision"),
    "turns": Page("admin:core_turn_changelist"),
    "turn": Page("admin:core_turn_change", "turn"),
    "rerun": Page("admin:core_turn_rerun", "turn"),
    "sent-log": Page("admin:core_sentmessage_changelist"),
    "sent": Page("admin:core_sentmessage_change", "said"),
    "sent-unknown": Page("admin:core_sentmessage_change", "message unknown"),
    "sent-edited": Page("admin:core_sentmessage_change", "message edited"),
    "outbox": Page("admin:core_outboxentry_changelist"),
    "outbox-pending": Page("admin:core_outboxentry_change", "entry pending"),
    "outbox-unknown": Page("admin:core_outboxentry_change", "entry unknown"),
    "outbox-held": Page("admin:core_outboxentry_change", "entry held"),
    "review": Page("admin:core_outboxentry_review"),
    "edit": Page("admin:core_outboxentry_edit", "entry held"),
    "recall": Page(
        "admin:core_outboxentry_confirm", also=("recall",), query="?entry={entry_sending}"
    ),
    "discard": Page("admin:core_outboxentry_confirm", also=("discard",), query="?chat={chat}"),
    "stickers": Page("admin:stickers_sticker_changelist"),
    "sticker": Page("admin:stickers_sticker_change", "sticker"),
    "sticker-review": Page("admin:stickers_sticker_change", "sticker review"),
    "sticker-rejected": Page("admin:stickers_sticker_change", "sticker rejected"),
    "sticker-take-down": Page(
        "admin:stickers_sticker_change",
        "sticker",
        act=_pressed("button[value=take_down]", "[name=confirmed]"),
    ),
    "try": Page("admin:stickers_sticker_try", query="?chat={chat}&q=well+done"),
    "funnel": Page("admin:stickers_sticker_funnel"),
    "upload": Page("admin:stickers_sticker_upload"),
    "upload-tray": Page("admin:stickers_sticker_upload", act=_send_pictures),
    "skills": Page("admin:skills_skill_changelist"),
    "skill": Page("admin:skills_skill_change", "skill"),
    "skill-new": Page("admin:skills_skill_add"),
    "skill-versions": Page("admin:skills_skill_versions", "skill"),
    "skill-import": Page("admin:skills_skill_import"),
    "skill-import-told": Page("admin:skills_skill_import", act=_send_skills),
    "connections": Page("admin:botgateway_connection_changelist"),
    "connection": Page("admin:botgateway_connection_change", "connection"),
    "refusals": Page("admin:botgateway_refusedconnection_changelist"),
    "refusal": Page("admin:botgateway_refusedconnection_change", "refusal"),
    "audit": Page("admin:auditlog_logentry_changelist"),
    "audit-entry": Page("admin:auditlog_logentry_change", "audit"),
    "users": Page("admin:auth_user_changelist"),
    "user": Page("admin:auth_user_change", "limited"),
    "user-new": Page("admin:auth_user_add"),
    "user-password": Page("admin:auth_user_password_change", "limited"),
    "groups": Page("admin:auth_group_changelist"),
    "group": Page("admin:auth_group_change", "group"),
    "limits": Page("admin:core_personlimit_changelist"),
    "limit": Page("admin:core_personlimit_change", "limit"),
    "limit-new": Page("admin:core_personlimit_add"),
    "app": Page("admin:app_list", also=("core",)),
    "preferences": Page("preferences"),
    "password": Page("admin:password_change"),
    "password-done": Page("admin:password_change_done"),
    "playground-start": Page("admin:core_bot_playground"),
    # The server of these tests speaks no WebSocket; test_playground has a whole site.
    "playground": Page("admin:core_bot_playground", act=_open_playground, complaint="WebSocket"),
    "second-factor": Page("second_factor"),
    "second-factor-set-up": Page("second_factor_set_up"),
    "second-factor-codes": Page("second_factor_set_up", act=_set_up),
    "second-factor-on": Page("second_factor"),
    "second-factor-ask": Page("second_factor_ask", who="cautious"),
    "overview-limited": Page("admin:index", who="limited"),
    "not-allowed": Page("admin:stickers_sticker_upload", who="limited", complaint="403"),
    "not-found": Page(
        "admin:core_chat_conversation", also=(999_999_999,), who="limited", complaint="404"
    ),
    "log-in": Page("admin:login", who=""),
    "locked": Page("admin:login", who="", act=_wrong_passwords, complaint="429"),
}
"""By the name that its pictures have. Later ones see what earlier ones did."""

NO_PAGES = {
    "overview",
    "search",
    "autocomplete",
    "jsi18n",
    "logout",
    "view_on_site",
    "core_chat_picture",
    "core_turn_curl",
    "core_turn_picture",
    "core_bot_pause",
    "core_chat_pause",
    "core_bot_playground_forget",
    "core_bot_playground_state",
    "core_outboxentry_decide",
    "core_outboxentry_settle",
    "stickers_sticker_act",
    "stickers_sticker_picture",
    "stickers_sticker_still",
    "stickers_sticker_tray",
    "stickers_sticker_tray_still",
}
"""Addresses without a page of their own: pictures, fragments, JSON, and acts whose page is another."""

THE_SAME_EVERYWHERE = ("add", "history", "delete")
"""Pages that Django makes for every model in one way: the table has those that differ, or one."""
