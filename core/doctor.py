"""What `manage.py doctor` asks: any app registers its checks here, and nothing else changes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: what was looked at, how it stands, and what to do about it.

    `broken` means that something needed does not work (exit code 1); `warning` does not.
    """

    name: str
    state: Literal["ok", "warning", "broken"]
    message: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]
_checks: list[Check] = []


def register(check: Check) -> Check:
    """Add a check (usable as a decorator); checks run in the order of registration."""
    _checks.append(check)
    return check


def findings() -> Iterable[Finding]:
    """Run every check. A check that itself fails is a finding, not a crash."""
    for check in _checks:
        try:
            yield from check()
        except Exception as error:  # noqa: BLE001  (whatever a check meets, the others still run)
            yield Finding(check.__name__, "broken", f"{type(error).__name__}: {error}")
