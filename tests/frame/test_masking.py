"""No password reaches a log line or a message, however badly its URL is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.masking import masked


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("redis://:hush@host/0", "redis://:***@host/0"),
        ("rediss://me:hush@host:6380/1?ssl_ca_certs=/ca.pem", "rediss://me:***@host:6380/1?ssl_ca_certs=/ca.pem"),
        ("redis://hush@host", "redis://***@host"),
        ("me:hush@host", "me:***@host"),
        ("unix:///run/redis.sock?db=0&password=hush", "unix:///run/redis.sock?db=0&password=***"),
        ("redis+sentinel://me:hush@a:1,b:2/main/0?sentinel_password=hush", "redis+sentinel://me:***@a:1,b:2/main/0?sentinel_password=***"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert masked(url) == shown


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), max_size=8))
def test_an_unquoted_password_is_hidden_too(around: str) -> None:
    assert "HUSH" not in masked(f"redis://me:{around}HUSH{around}@host/0")
