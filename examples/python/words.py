"""Handlers of an example: counts words. Named in the chart as `handlers: [words]`; called by the worker, one task per pod."""

from __future__ import annotations

from collections import Counter

import runner


@runner.task("words.count")
def count(payload: dict[str, str]) -> dict[str, int]:
    """The ten most frequent words of `text`."""
    return dict(Counter(payload["text"].lower().split()).most_common(10))
