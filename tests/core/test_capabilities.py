from collections.abc import Iterator

import pytest

from core import capabilities
from core.models import CapabilitySetting, Chat


@pytest.fixture
def able() -> Iterator[None]:
    """A host that can recall, poke and name people."""

    @capabilities.register_probe
    def probe(chat: Chat) -> capabilities.CapabilitySet:
        return capabilities.CapabilitySet(frozenset({"recall", "poke_send"}), frozenset({"user"}))

    yield
    capabilities._probes.remove(probe)


def setting(target: str, name: str, *, allowed: bool) -> CapabilitySetting:
    return CapabilitySetting(target=target, name=name, allowed=allowed)


@pytest.mark.usefixtures("able")
def test_what_the_platform_can_holds_until_the_operator_says_no() -> None:
    rows = [setting("cap", "poke_send", allowed=False), setting("tag", "recall", allowed=False)]
    holds = capabilities.effective(Chat(), rows)
    assert [name for name, on in holds.capabilities.items() if on] == ["recall"]
    assert holds.tags == {"all": False, "user": True, "face": False}


@pytest.mark.usefixtures("able")
def test_an_operator_can_not_allow_what_the_platform_can_not() -> None:
    holds = capabilities.effective(Chat(), [setting("cap", "voice", allowed=True)])
    assert holds.capabilities["voice"] is False


def test_a_chat_that_no_host_speaks_for_can_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "_probes", [])
    holds = capabilities.effective(Chat(), [setting("cap", "quote", allowed=True)])
    assert set(holds.capabilities) == set(capabilities.CAPABILITIES)
    assert not any(holds.capabilities.values())
    assert not any(holds.tags.values())
