"""What is forgotten with a chat: which skills the model read there. Skills are the operators' own."""

from django.utils.translation import gettext_lazy as _

from core.forgetting import batches, registry
from skills.models import SkillReads


def _of_chat(chat_id: int) -> registry.Counts:
    return {"skill_reads": batches.delete(SkillReads.objects.filter(chat=chat_id))}


def load() -> None:
    """Register it; called once, when the app is ready."""
    registry.register(registry.Part({"skill_reads": _("counts of skills read")}, _of_chat))
