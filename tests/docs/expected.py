"""Whether a command printed what a page shows, apart from what differs at every run. Called by the scene of a page.

Times, ages, fractions and new ids may differ, and `…` stands for anything, alone on a line for any lines. An id that a page shows
is remembered, so that a later command can name it.
"""

from __future__ import annotations

import re

ULID = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
AGE = r"\b\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b"
VARYING = re.compile(rf"(?P<id>\b{ULID}\b)|(?P<age>{AGE})|(?P<number>\b\d+\.\d+\b|\b\d{{13}}\b)|(?P<any>…)|(?P<gap>\s+)")
INSTEAD = {"age": r"[\d.]+ ?(?:ms|s|min|h|d)", "number": r"[\d.e-]+", "any": ".*", "gap": r"\s+"}


def differs(shown: str, printed: str, ids: dict[str, str]) -> str:
    """Empty if they agree, else both; `ids` learns what the page's ids are in this run."""
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    real = "".join(f"{line.strip()}\n" for line in printed.splitlines() if line.strip())
    new: dict[str, str] = {}
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else f"{_pattern(line, ids, new)}\n" for line in lines)
    found = re.fullmatch(pattern, real)
    if not found:
        return f"the page shows\n{shown}\nbut it printed\n{printed}"
    ids.update({one: found[group] for one, group in new.items()})
    return ""


def _pattern(line: str, ids: dict[str, str], new: dict[str, str]) -> str:
    parts, at = [], 0
    for one in VARYING.finditer(line):
        parts += [re.escape(line[at : one.start()]), _instead(one, ids, new)]
        at = one.end()
    return "".join([*parts, re.escape(line[at:])])


def _instead(one: re.Match[str], ids: dict[str, str], new: dict[str, str]) -> str:
    if one.lastgroup != "id":
        return INSTEAD[str(one.lastgroup)]
    if one[0] in ids:
        return re.escape(ids[one[0]])
    if one[0] in new:
        return f"(?P={new[one[0]]})"
    new[one[0]] = f"id{len(new)}"
    return f"(?P<{new[one[0]]}>{ULID})"
