"""Hides what must not be shown: passwords of a URL, codes that steer a terminal. Called by logs, connect, configcheck, cli and dev."""

from __future__ import annotations

import re

_USERINFO = re.compile(r"^([^/@?]*://|)([^:@/]*)(:?).*@", re.DOTALL)
"""Up to the last `@` of all, because people forget to quote an `@`, `/` or `?` in a password."""
_QUERY = re.compile(r"((?:^|[?&])\w*(?:password|token|secret)=)[^&]*", re.IGNORECASE)


def masked(url: str) -> str:
    """The URL with `***` for its passwords; a user part without a password is hidden too, it may be one."""
    hidden = _USERINFO.sub(lambda m: f"{m[1]}{m[2] if m[3] else ''}{m[3]}***@", url)
    return _QUERY.sub(r"\1***", hidden)


def harmless(text: str) -> str:
    """Text that anybody may have pushed, without what steers a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
