"""A login that comes beside the URL: any character survives, what the URL says itself wins, sentinels have their own."""

from __future__ import annotations

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as some

from runner.config import ProducerSettings, load
from runner.connect import connect
from runner.masking import masked
from runner.url import DEFAULT, from_environment, with_login

NASTY = "p@ss:w/rd?&#%[] é"


@pytest.mark.parametrize(
    ("url", "login", "wanted"),
    [
        ("redis://h:1/2", ("", ""), "redis://h:1/2"),
        ("redis://h:1/2", ("worker", "x"), "redis://worker:x@h:1/2"),
        ("rediss://h:1/2?ssl_ca_certs=/ca@1.crt", ("", "a@b"), "rediss://:a%40b@h:1/2?ssl_ca_certs=/ca@1.crt"),
        ("redis+cluster://a:1,b:2", ("w", "x"), "redis+cluster://w:x@a:1,b:2"),
        ("redis://me:mine@h", ("worker", "x"), "redis://me:mine@h"),
        ("redis+sentinel://a,b/main", ("w", "x", "s", "y"), "redis+sentinel://w:x@a,b/main?sentinel_username=s&sentinel_password=y"),
        ("redis+sentinel://a/main?db=1", ("", "", "", "y"), "redis+sentinel://a/main?db=1&sentinel_password=y"),
        ("redis+sentinel://a/main?sentinel_password=z", ("", "", "", "y"), "redis+sentinel://a/main?sentinel_password=z"),
        ("redis://h", ("", "", "s", "y"), "redis://h"),
    ],
)
def test_the_login_goes_to_its_place(url: str, login: tuple[str, ...], wanted: str) -> None:
    assert with_login(url, *login) == wanted


@given(some.text(some.characters(exclude_categories=["Cs"]), min_size=1), some.text(some.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_user_and_password_come_out_as_they_went_in(username: str, password: str) -> None:
    options = redis.connection.parse_url(with_login("redis://h:1/2", username, password))

    assert (options["username"], options["password"], options["host"], options["db"]) == (username, password, "h", 2)


def test_settings_give_the_whole_url_and_no_log_line_has_the_password() -> None:
    settings = load(ProducerSettings, {"RUNNER_REDIS_URL": "redis://h", "RUNNER_REDIS_USERNAME": "me", "RUNNER_REDIS_PASSWORD": NASTY})

    assert redis.connection.parse_url(settings.redis_url)["password"] == NASTY
    assert masked(settings.redis_url) == "redis://me:***@h"


def test_a_producer_in_a_pod_finds_the_login_beside_the_url() -> None:
    assert from_environment({}) == DEFAULT
    assert from_environment({"RUNNER_REDIS_URL": "redis://h", "RUNNER_REDIS_PASSWORD": "x"}) == "redis://:x@h"


def test_a_server_lets_such_a_login_in(url: str) -> None:
    with redis.Redis.from_url(url) as admin:
        admin.acl_setuser("nasty", enabled=True, passwords=[f"+{NASTY}"], commands=["+ping"])

    with connect(with_login(url, "nasty", NASTY), retry_s=1) as client:
        assert client.ping()
