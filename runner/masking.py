"""Hide the passwords of a URL, on its way to a log line or an error message. Called by logs, connect and configcheck."""

from __future__ import annotations

import re

_USERINFO = re.compile(r"^([^/@?]*://|)([^:@/]*)(:?).*@", re.DOTALL)
"""Up to the last `@` of all, because people forget to quote an `@`, `/` or `?` in a password."""
_QUERY = re.compile(r"((?:^|[?&])\w*(?:password|token|secret)=)[^&]*", re.IGNORECASE)


def masked(url: str) -> str:
    """The URL with `***` for its passwords; a user part without a password is hidden too, it may be one."""
    hidden = _USERINFO.sub(lambda m: f"{m[1]}{m[2] if m[3] else ''}{m[3]}***@", url)
    return _QUERY.sub(r"\1***", hidden)
