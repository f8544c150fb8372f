"""The talker says the same whenever it is asked the same, and nothing twice."""

from typing import Any

from tests.faults.talker import Talker, digest

TOOLS = [{"function": {"name": name}} for name in ("send_message", "stay_silent")]


def request(mark: str, *answers: dict[str, Any]) -> dict[str, Any]:
    """A turn about a question, after these steps."""
    messages = [
        {"role": "system", "content": "be"},
        {"role": "user", "content": f"<earlier>\nq9.9\n</earlier>\n<new>\nq9.8 {mark}\n</new>"},
    ]
    for answer in answers:
        told = {"role": "tool", "content": '{"ok": true, "handle": "m1"}'}
        messages += [answer, *(told for _ in answer.get("tool_calls", ()))]
    return {"messages": messages, "tools": TOOLS}


def answer(talker: Talker, asked: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = talker.answer(asked).body["choices"][0]["message"]
    return message


def test_the_same_request_gets_the_same_answer_and_is_known_again() -> None:
    talker = Talker(seed=1)
    assert answer(talker, request("q1.1")) == answer(talker, request("q1.1"))
    first, second = talker.asked
    assert first.digest == second.digest


def test_each_turn_ends_and_all_its_texts_differ() -> None:
    talker = Talker(seed=1)
    texts = []
    for number in range(20):
        steps: list[dict[str, Any]] = []
        while len(steps) < 5:
            said = answer(talker, request(f"q1.{number}", *steps))
            sends = [
                call["function"]["arguments"]
                for call in said.get("tool_calls", ())
                if call["function"]["name"] == "send_message"
            ]
            if not sends:
                break
            texts += sends
            steps.append(said)
        assert 1 <= len(steps) < 5
    assert len(texts) == len(set(texts)) > 20


def test_a_result_is_the_same_in_another_order_of_its_keys() -> None:
    one, other = '{"ok": true, "handle": "m1"}', '{"handle": "m1", "ok": true}'
    assert digest([{"role": "tool", "content": one}]) == digest(
        [{"content": other, "role": "tool"}]
    )
