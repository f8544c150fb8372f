"""A skill's text as a person reads it: Markdown turned into HTML that can do nothing."""

from collections.abc import MutableMapping, Sequence
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from skills import cutting

MAX_CHARS = 50_000
_SCHEMES = ("http://", "https://", "mailto:")


def html(text: str) -> SafeString:
    """The beginning of a Markdown text, at most MAX_CHARS of it, as HTML.

    HTML inside the text stays text, and so does every link but http and mailto. Pictures
    are not fetched: a stranger's server would learn who looks.
    """
    # The renderer writes every tag itself and escapes all that comes from the text.
    return mark_safe(str(_markdown.render(cutting.cut(text, MAX_CHARS))))  # noqa: S308


def _open_link(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: Any,
    env: MutableMapping[str, Any],
) -> str:
    """Links leave for another page, which is not told where from."""
    tokens[index].attrs |= {"rel": "noopener noreferrer nofollow", "target": "_blank"}
    return str(renderer.renderToken(tokens, index, options, env))


class _Markdown(MarkdownIt):
    """Takes the links that lead to other places, and leaves all others as text."""

    def validateLink(self, url: str) -> bool:
        return url.lower().startswith(_SCHEMES)


_markdown = _Markdown("commonmark", {"html": False})
_markdown.enable(["table", "strikethrough"]).disable("image")
_markdown.add_render_rule("link_open", _open_link)
