"""Markdown as the console shows it: nothing that does anything."""

from html.parser import HTMLParser

import pytest

from skills import preview

HARMLESS = {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "a", "em", "strong", "s", "code", "pre",
    "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"href", "title", "rel", "target", "class", "start", "style"}


class Seen(HTMLParser):
    """What a browser would find in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name: value or "" for name, value in attrs}


def test_markdown_is_shown_as_what_it_means() -> None:
    html = preview.html("# Rules\n\n- *one*\n- `two`\n\n|a|b|\n|-|-|\n|1|2|\n")
    assert set(Seen(html).tags) >= {"h1", "ul", "li", "em", "code", "table", "td"}


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onclick=alert(1)>b</b>",
        "![x](http://stranger.example/pixel.png)",
        "![x][y]\n\n[y]: http://stranger.example/pixel.png",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java&#x0A;script:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](//stranger.example)",
        "<javascript:alert(1)>",
        '[x](http://a.example/"onmouseover="alert(1))',
        '[x](http://a.example "\\"onmouseover=\\"alert(1)")',
        '```"><script>alert(1)</script>\nx\n```',
        "<!-- --><style>*{display:none}</style>",
        "|<script>|\n|-|\n|<iframe>|",
        "&lt;script&gt;",
        "<svg/onload=alert(1)>",
    ],
)
def test_nothing_in_a_text_becomes_code_or_fetches_anything(text: str) -> None:
    seen = Seen(preview.html(text))
    assert set(seen.tags) <= HARMLESS
    assert set(seen.attributes) <= ATTRIBUTES
    assert seen.attributes.get("href", "http").startswith("http")


def test_links_are_not_told_where_from() -> None:
    attributes = Seen(preview.html("[x](https://a.example)")).attributes
    assert "noreferrer" in attributes["rel"]


def test_a_preview_is_bounded() -> None:
    assert len(preview.html("word " * 100_000)) < 2 * preview.MAX_CHARS
