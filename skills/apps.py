from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SkillsConfig(AppConfig):
    name = "skills"
    verbose_name = _("skills")

    def ready(self) -> None:
        from core import context
        from skills import forgetting, index, tools

        context.register_section(index.text)
        tools.load()
        forgetting.load()
