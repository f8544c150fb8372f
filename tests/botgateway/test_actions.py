"""Calls that go out, and what answers to them prove."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from botgateway import actions
from botgateway.actions import Response, UnsendablePart
from botgateway.frames import decode


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": text}}


@given(st.text(st.characters()))
def test_whatever_was_written_goes_out_as_one_text_segment(written: str) -> None:
    call = json.loads(actions.send_message("group", 20001, [_text(written)]).frame("c1"))
    assert call["action"] == "send_group_msg"
    assert call["echo"] == "c1"
    assert [segment["type"] for segment in call["params"]["message"]] == ["text"]


def test_text_with_a_cq_code_stays_literal() -> None:
    call = actions.send_group_msg(20001, [_text("[CQ:at,qq=all] &#91;")])
    assert call.params["message"] == [_text("[CQ:at,qq=all] &#91;")]


def test_chats_are_addressed_in_the_type_in_which_they_came() -> None:
    parts = [_text("hi")]
    assert actions.send_message("group", "g-1", parts).params["group_id"] == "g-1"
    private = actions.send_message("private", 10002, parts, {})
    assert private == actions.Call("send_private_msg", {"user_id": 10002, "message": parts})
    temporary = actions.send_message("private", 10004, parts, {"group_id": 20001})
    assert temporary.params["group_id"] == 20001


def test_other_parts_become_segments_and_a_quote_comes_first() -> None:
    parts = [
        {"type": "mention", "data": {"id": "10002", "name": "x"}},
        {"type": "face", "data": {"id": "76"}},
        {"type": "sticker", "data": {"id": "md5:00", "url": "https://example.invalid/1"}},
        {"type": "sticker", "data": {"emoji_id": "a1", "emoji_package_id": 5, "key": "k"}},
        {"type": "voice", "data": {"file": "base64://SUQz", "instead": []}},
        {"type": "reply", "data": {"id": "9"}},
    ]
    assert actions.to_segments(parts) == [
        {"type": "reply", "data": {"id": "9"}},
        {"type": "at", "data": {"qq": "10002"}},
        {"type": "face", "data": {"id": "76"}},
        {
            "type": "image",
            "data": {
                "file": "https://example.invalid/1",
                "sub_type": 1,
                "subType": 1,
                "summary": "[动画表情]",
            },
        },
        {
            "type": "mface",
            "data": {
                "emoji_package_id": 5,
                "emoji_id": "a1",
                "key": "k",
                "summary": "[动画表情]",
            },
        },
        {"type": "record", "data": {"file": "base64://SUQz"}},
    ]


def test_a_part_that_no_segment_stands_for_is_refused() -> None:
    for kind in ("forward", "voice"):
        with pytest.raises(UnsendablePart):
            actions.send_group_msg(1, [{"type": kind, "data": {}}])


def test_queries_have_no_parameters() -> None:
    queries = [actions.get_login_info(), actions.get_version_info(), actions.get_status()]
    assert [query.action for query in queries] == [
        "get_login_info",
        "get_version_info",
        "get_status",
    ]
    assert json.loads(queries[0].frame("e")) == {
        "action": "get_login_info",
        "params": {},
        "echo": "e",
    }


@pytest.mark.parametrize(
    ("call", "action", "params"),
    [
        (actions.get_supported_actions(), "get_supported_actions", {}),
        (
            actions.get_group_member_info(20001, 10002),
            "get_group_member_info",
            {"group_id": 20001, "user_id": 10002, "no_cache": True},
        ),
        (
            actions.get_group_member_list("g-1"),
            "get_group_member_list",
            {"group_id": "g-1", "no_cache": True},
        ),
        (actions.get_group_info(20001), "get_group_info", {"group_id": 20001}),
        (actions.get_msg(-5), "get_msg", {"message_id": -5}),
        (actions.delete_msg("BAAD=="), "delete_msg", {"message_id": "BAAD=="}),
        (
            actions.edit_msg(5, [_text("new")]),
            "edit_msg",
            {"message_id": 5, "message": [_text("new")]},
        ),
        (
            actions.get_group_msg_history(20001, 20),
            "get_group_msg_history",
            {"group_id": 20001, "count": 20},
        ),
        (
            actions.get_group_msg_history(20001, 5, "4101"),
            "get_group_msg_history",
            {"group_id": 20001, "count": 5, "message_seq": "4101"},
        ),
        (
            actions.get_group_msg_history(20001, 5, message_id=-9),
            "get_group_msg_history",
            {"group_id": 20001, "count": 5, "message_id": -9},
        ),
        (
            actions.get_friend_msg_history(10002, 5, 4101),
            "get_friend_msg_history",
            {"user_id": 10002, "count": 5, "message_seq": 4101},
        ),
        (
            actions.group_poke(20001, 10002),
            "group_poke",
            {"group_id": 20001, "user_id": 10002},
        ),
        (actions.friend_poke(10002), "friend_poke", {"user_id": 10002}),
        (actions.send_poke(10002), "send_poke", {"user_id": 10002}),
        (
            actions.send_poke(10002, 20001),
            "send_poke",
            {"user_id": 10002, "group_id": 20001},
        ),
        (
            actions.poke_by_segment(10002, 20001),
            "send_group_msg",
            {"group_id": 20001, "message": [{"type": "poke", "data": {"qq": "10002"}}]},
        ),
        (
            actions.poke_by_segment(10002),
            "send_private_msg",
            {"user_id": 10002, "message": [{"type": "poke", "data": {"qq": "10002"}}]},
        ),
        (
            actions.set_msg_emoji_like(5, "76"),
            "set_msg_emoji_like",
            {"message_id": 5, "emoji_id": "76", "set": True},
        ),
        (
            actions.set_group_reaction(20001, -5, "76", False),
            "set_group_reaction",
            {"group_id": 20001, "message_id": -5, "code": "76", "is_add": False},
        ),
        (
            actions.set_group_reaction(
                20001, -5, "76", emoji_parameter="emoji_id", flag_parameter="is_set"
            ),
            "set_group_reaction",
            {"group_id": 20001, "message_id": -5, "emoji_id": "76", "is_set": True},
        ),
        (actions.send_like(10002, 3), "send_like", {"user_id": 10002, "times": 3}),
    ],
)
def test_calls_have_the_parameters_that_implementations_read(
    call: actions.Call, action: str, params: dict[str, Any]
) -> None:
    assert json.loads(call.frame("e")) == {"action": action, "params": params, "echo": "e"}


def _answer(**fields: Any) -> Response:
    response = decode(json.dumps({"status": "failed", "data": None, "echo": "c", **fields}))
    assert isinstance(response, Response)
    return response


_EVENT = "NTEvent serviceAndMethod:NodeIKernelMsgService/sendMsg EventRet:\n"


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"retcode": 1200, "message": f'Timeout: {_EVENT}{{"result": 0}}'}, "unknown"),
        ({"retcode": 1200, "message": f'Timeout: {_EVENT}{{"result": 120}}'}, "unknown"),
        ({"retcode": 200, "message": f"Timeout: {_EVENT}"}, "unknown"),
        ({"retcode": 1200, "message": "发送超时"}, "unknown"),
        ({"retcode": 1200, "message": "something new"}, "unknown"),
        ({"retcode": 1200}, "unknown"),
        ({"retcode": 100, "msg": "SEND_MSG_API_ERROR", "wording": "请参考输出"}, "unknown"),
        ({"retcode": -1, "msg": "socket hang up"}, "unknown"),
        ({}, "unknown"),
        ({"retcode": 1200, "message": f'EventChecker Failed: {_EVENT}{{"result": 120}}'}, "failed"),
        ({"retcode": 1200, "wording": "您已被禁言"}, "failed"),
        ({"retcode": 1200, "message": "语音转换失败, 请检查语音文件是否正常"}, "failed"),
        ({"retcode": 1200, "message": "请先添加对方为好友"}, "failed"),
        ({"retcode": 1200, "message": "你已不在该群聊"}, "failed"),
        (
            {"retcode": 1200, "message": "消息体无法解析, 请检查是否发送了不支持的消息类型"},
            "failed",
        ),
        ({"retcode": -1, "msg": "send_group_msg not implemented"}, "failed"),
        ({"retcode": 1400, "message": "Timeout in a schema"}, "failed"),
        ({"retcode": 1404}, "failed"),
        ({"retcode": 404}, "failed"),
        ({"retcode": 9000}, "failed"),
        ({"retcode": 120}, "failed"),
        # NapCat
        ({"retcode": 1200, "message": f"Timeout: {_EVENT}{{}}"}, "unknown"),
        ({"retcode": 1200, "message": f'Timeout: {_EVENT}{{"result": 1}}'}, "unknown"),
        (
            {
                "retcode": 1200,
                "message": f'EventChecker Failed: {_EVENT}{{"result": -1, '
                '"errMsg": "rich media transfer failed"}}',
            },
            "unknown",
        ),
        (
            {
                "retcode": 200,
                "message": f'EventChecker Failed: {_EVENT}{{"result": 110, '
                '"errMsg": "发送失败，你已被移出该群，请重新加群。"}}',
            },
            "failed",
        ),
        ({"retcode": 1200, "message": f'EventChecker Failed: {_EVENT}{{"result":120}}'}, "failed"),
        ({"retcode": 1200, "message": "未知的消息类型：poke"}, "failed"),
        ({"retcode": 1200, "message": "Get Uid Error"}, "failed"),
        ({"retcode": 1200, "message": "消息1234567890不存在"}, "unknown"),
        ({"retcode": 1400, "message": "data must have required property 'group_id'"}, "failed"),
        ({"retcode": 1404, "message": "不支持的Api send_group_msg"}, "failed"),
        # LLOneBot
        ({"retcode": 1200, "message": "发送消息失败 (sequence=0)"}, "unknown"),
        ({"retcode": 1200, "message": "消息0不存在", "wording": "消息0不存在"}, "unknown"),
        ({"retcode": 1200, "message": "群20001不存在"}, "failed"),
        ({"retcode": 1404, "message": "send_group_msg API 不存在"}, "failed"),
        # Lagrange says nothing; what is thrown comes as 200, the server's own codes as they are.
        ({"retcode": 200}, "unknown"),
        ({"retcode": -1}, "unknown"),
        ({"retcode": 1}, "unknown"),
        ({"retcode": 110}, "failed"),
        ({"retcode": 9057}, "failed"),
        ({"retcode": 0, "status": "user not found in the buffer"}, "unknown"),
        ({"retcode": -137, "status": "upload failed, whatever became of it"}, "unknown"),
        # go-cqhttp and its fork
        (
            {"retcode": 100, "msg": "SEND_MSG_API_ERROR", "wording": "blocked by server code: 100"},
            "unknown",
        ),
        ({"retcode": 100}, "unknown"),
        ({"retcode": 100, "msg": "MESSAGE_NOT_FOUND", "message": "消息不存在"}, "unknown"),
        ({"retcode": 100, "msg": "GROUP_NOT_FOUND", "message": "群聊不存在"}, "failed"),
        ({"retcode": 100, "msg": "EMPTY_MSG_ERROR", "message": "消息为空"}, "failed"),
        ({"retcode": 404, "msg": "API_NOT_FOUND", "wording": "API不存在"}, "failed"),
        # onebots
        ({"retcode": -1, "msg": "Unknown action: send_group_msg"}, "failed"),
        ({"retcode": -1, "msg": "connect ETIMEDOUT 203.0.113.5:443"}, "unknown"),
        ({"retcode": 1500, "status": "error", "error": "internal"}, "unknown"),
        (
            {"retcode": 1500, "status": "error", "error": {"message": "group 1 timed out"}},
            "unknown",
        ),
        ({"retcode": 1500, "status": "error", "error": "群员不存在"}, "failed"),
        ({"retcode": 1404, "error": {"code": 1404, "message": "不支持的API"}}, "failed"),
        ({"retcode": 1400, "error": {"code": 1400, "message": "bad call"}}, "failed"),
        # SnowLuma
        ({"retcode": 100, "wording": "send failed"}, "unknown"),
        ({"retcode": 100, "wording": "message not found"}, "unknown"),
        ({"retcode": 1200, "wording": "internal error"}, "unknown"),
        ({"retcode": 1404, "wording": "unknown action: send_group_msg"}, "failed"),
        # whoever else
        ({"retcode": 1300, "message": "something new"}, "unknown"),
        ({"retcode": 34, "message": "Timeout"}, "unknown"),
        ({"retcode": 34, "message": "the bot is muted"}, "failed"),
        ({"retcode": "soon"}, "unknown"),
        ({"retcode": 34, "status": "error"}, "unknown"),
        ({"retcode": 34, "status": None}, "unknown"),
    ],
)
def test_a_failed_send_is_failed_only_where_that_is_certain(
    fields: dict[str, Any], state: str
) -> None:
    outcome = actions.send_outcome(_answer(**fields))
    assert outcome.state == state
    assert outcome.message_id is None
    assert outcome.reason


@pytest.mark.parametrize(
    ("data", "message_id"),
    [
        ({"message_id": 5}, 5),
        ({"message_id": "BAAD=="}, "BAAD=="),
        ({"message_id": 0}, None),
        ({"message_id": -1}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_sent_message_has_the_platforms_id_if_there_is_one(
    data: Any, message_id: int | str | None
) -> None:
    outcome = actions.send_outcome(_answer(status="ok", retcode=0, data=data))
    assert outcome.state == "sent"
    assert (outcome.message_id.wire() if outcome.message_id else None) == message_id


@pytest.mark.parametrize("retcode", ["0", 0.0])
def test_retcodes_may_be_text(retcode: Any) -> None:
    assert _answer(status="ok", retcode=retcode).ok
