"""Takes secrets out of anything that leaves the house: by value, by name, by form. Pure; called by bundle.

Rather too much than too little: a value whose name sounds like a secret, every value of a container's environment, every annotation that is
neither ours nor KEDA's, and whatever looks like a login in a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "***"
SHORTEST = 4
"""A shorter secret would take letters out of half of all words."""
SECRET = r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|authorization|(?:api|access|private|signing|encryption)[-_]?key)"
NAMED = re.compile(rf"{SECRET}|(?:^|[_-])pass$", re.IGNORECASE)
FORMS = (
    (re.compile(r"\b(?:bearer|basic)\s+[\w.~+/=-]+", re.IGNORECASE), HIDDEN),
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s\"']*@", re.IGNORECASE), rf"\1{HIDDEN}@"),
    (re.compile(rf"([\w-]*{SECRET}[\w-]*[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s,;&]+)", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(rf"(--?[\w-]*{SECRET}[\w-]*\s+)[^\s,;&]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), HIDDEN),
)
FOLDERS = ("PWD", "OLDPWD")
OUR_ANNOTATIONS = ("runner/", "autoscaling.keda.sh/", "scaledjob.keda.sh/", "cluster-autoscaler.kubernetes.io/", "karpenter.sh/")


def secrets_of(environ: Mapping[str, str], urls: Iterable[str]) -> list[str]:
    """The values that are secrets: of variables that sound like it, and the logins of URLs; the longest first."""
    found = {value for name, value in environ.items() if NAMED.search(name) and name not in FOLDERS}
    for url in (*urls, *(value for value in environ.values() if "://" in value)):
        login = url.partition("://")[2].rpartition("@")[0]
        found |= {login, login.partition(":")[2], *_query_secrets(url)}
    found |= {unquote(one) for one in found} | {quote(one, safe="") for one in found}
    return sorted((one for one in found if len(one) >= SHORTEST), key=len, reverse=True)


def _query_secrets(url: str) -> list[str]:
    try:
        query = urlsplit(url).query
    except ValueError:  # brackets of an address that is none: its login is found all the same
        return []
    return [value for name, _, value in (part.partition("=") for part in query.split("&")) if NAMED.search(name)]


class Redactor:
    """Takes these secrets, and all that looks like one, out of texts and data."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = list(secrets)

    def text(self, said: str) -> str:
        """A text without secrets."""
        for one in self._secrets:
            said = said.replace(one, HIDDEN)
        for form, instead in FORMS:
            said = form.sub(instead, said)
        return said

    def data(self, value: Any) -> Any:
        """Plain data without secrets; what is no plain data becomes a text."""
        if isinstance(value, Mapping):
            return self._map(value)
        if isinstance(value, (list, tuple)):
            return self._list(list(value))
        return value if value is None or isinstance(value, (bool, int, float)) else self.text(str(value))

    def _map(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        if set(value) == {"name", "value"}:  # a variable of a container
            return {"name": self.text(str(value["name"])), "value": HIDDEN}
        return {self.text(str(name)): self._part(str(name), part) for name, part in value.items()}

    def _part(self, name: str, part: Any) -> Any:
        if name == "annotations" and isinstance(part, Mapping):
            return {key: self.text(str(one)) if str(key).startswith(OUR_ANNOTATIONS) else HIDDEN for key, one in part.items()}
        secret = isinstance(part, (str, bytes)) and NAMED.search(name) and not name.endswith("FromEnv") and name != "secretName"
        return HIDDEN if secret else self.data(part)

    def _list(self, values: list[Any]) -> list[Any]:
        """Arguments of a command, too, of which one may be the secret that the one before it names."""
        names = [isinstance(one, str) and one.startswith("-") and "=" not in one and bool(NAMED.search(one)) for one in values]
        return [HIDDEN if at and names[at - 1] and isinstance(one, str) else self.data(one) for at, one in enumerate(values)]
