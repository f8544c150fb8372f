"""What other tests left in the audit is none of a forgotten one's traces."""

import pytest
from auditlog.models import LogEntry


@pytest.fixture(autouse=True)
def _nothing_audited_before(db: None) -> None:
    """Flows commit, and take away what they made; the audit keeps that they did."""
    LogEntry.objects.all().delete()
