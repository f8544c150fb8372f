"""The first operator: made once with the first tables; a password that we made is shown once."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError

# There while a made password has not reached the screen: a start that was killed in between would
# else leave an operator whose password nobody knows. It names the operator, never the password.
UNSHOWN = "operator-not-shown"


@dataclass(frozen=True, slots=True)
class FirstOperator:
    """`password` is empty where the operator chose it (ARISE_ADMIN_PASSWORD): it is not echoed."""

    username: str
    password: str


def ensure(home: Path) -> FirstOperator | None:
    """Make the first operator of an empty site; None where there are operators already."""
    users = get_user_model().objects
    username: str = settings.ARISE_ADMIN_USERNAME
    unshown = home / UNSHOWN
    if users.exists():
        stuck = users.filter(username=username, last_login=None).first()
        if stuck is None or not unshown.exists():
            return None
        password = secrets.token_urlsafe(12)
        stuck.set_password(password)
        stuck.save(update_fields=["password"])
        return FirstOperator(username, password)
    given: str = settings.ARISE_ADMIN_PASSWORD
    password = given or secrets.token_urlsafe(12)
    if not given:
        unshown.write_text(f"{username}\n", encoding="utf-8")
    try:
        users.create_superuser(username=username, email="", password=password)
    except IntegrityError:  # another start on the same database was quicker
        unshown.unlink(missing_ok=True)
        return None
    return FirstOperator(username, "" if given else password)


def shown(home: Path) -> None:
    """The password has been printed; from now on nobody prints one again."""
    (home / UNSHOWN).unlink(missing_ok=True)
