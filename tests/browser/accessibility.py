"""What axe-core, the checker of most accessibility tools, says of a page.

Only what hinders people (its impacts `serious` and `critical`) against WCAG 2.1, levels A and AA.
"""

from collections.abc import Iterator
from typing import Any

from selenium_axe_python.axe import Axe

from tests.browser.conftest import Browser

_ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
_COLOURS = ["color-contrast", "link-in-text-block"]
_HINDERING = ("serious", "critical")


def faults(browser: Browser, *, colours_alone: bool = False) -> list[str]:
    """What is wrong on the page as it is shown now: rule, element and what to do, one text for each.
    `colours_alone` where nothing else is another than at the last look."""
    axe = Axe(browser.chrome)
    if not browser.chrome.execute_script("return Boolean(window.axe)"):
        axe.inject()  # type: ignore[no-untyped-call]
    # It is written into the script as Python shows it: texts, lists and numbers alone.
    rules = _COLOURS if colours_alone else _ALL
    found = axe.run(None, {"runOnly": rules, "resultTypes": ["violations"], "preload": 0})
    return list(_told(found["violations"]))


def _told(violations: list[dict[str, Any]]) -> Iterator[str]:
    for violation in violations:
        for node in violation["nodes"]:
            target = " ".join(map(str, node["target"]))
            if node["impact"] in _HINDERING:
                yield f"{violation['id']}: {target}\n{node['failureSummary']}"
