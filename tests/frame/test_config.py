"""Settings: what is good is read, what is wrong is one line, and the quick reader never differs from the authority."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import CommonSettings, ControllerSettings, WorkerSettings, load, variable
from runner.config import _valued as valued
from runner.configcheck import judge
from runner.errors import ConfigError

ROLES = (WorkerSettings, ControllerSettings)
TEXTS = st.one_of(
    st.sampled_from(["", " ", "0", "5", "-1", "1e3", "nan", "inf", "3600", "3601", "1_0", "٣", "007", "5.", ".5", " 5", "5\n", "0x10"]),
    st.sampled_from(["emails", "a:b", "{a}", "a.b,c", "a.b , c", "a,,b", "1a", "é", "info", "INFO", "x" * 101, "redis://h", "http://h"]),
    st.floats().map(str),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
)
ENVIRONMENTS = st.dictionaries(
    st.sampled_from(sorted({variable(one) for role in ROLES for one in fields(role)} | {"HOSTNAME", "runner_queue"})), TEXTS, max_size=5
)


def by_authority(kind: type[CommonSettings], environ: dict[str, str]) -> CommonSettings:
    said = judge({one.name: one for one in fields(kind)}, {one.name: variable(one) for one in fields(kind)}, environ)
    return kind(**{one.name: valued(one, said[one.name]) for one in fields(kind)})


@pytest.mark.parametrize("kind", ROLES)
@given(environ=ENVIRONMENTS)
def test_the_quick_reader_agrees_with_the_authority(kind: type[CommonSettings], environ: dict[str, str]) -> None:
    environ = {"RUNNER_QUEUE": "emails"} | environ
    try:
        expected: object = by_authority(kind, environ)
    except ConfigError as error:
        expected = str(error)

    try:
        found: object = load(kind, environ)
    except ConfigError as error:
        found = str(error)

    assert found == expected


def test_a_worker_needs_only_its_queue() -> None:
    settings = load(WorkerSettings, {"RUNNER_QUEUE": "emails", "HOSTNAME": "pod-1"})

    assert (settings.queue, settings.pod, settings.redis_url) == ("emails", "pod-1", "redis://localhost:6379/0")


def test_handlers_are_a_list_of_modules() -> None:
    assert load(WorkerSettings, {"RUNNER_QUEUE": "q", "RUNNER_HANDLERS": "app.images, app.mail"}).handlers == ("app.images", "app.mail")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("RUNNER_GRACE_S", "soon", "RUNNER_GRACE_S is 'soon' (input should be a valid number"),
        ("RUNNER_GRACE_S", "-1", "allowed is seconds, 0 to 3600"),
        ("RUNNER_PREFIX", "a:b", "RUNNER_PREFIX is 'a:b': allowed is nothing, or up to 100 letters"),
        ("RUNNER_QUEUE", "", "RUNNER_QUEUE is not set: allowed is the name of a declared queue"),
        ("RUNNER_LOG_LEVEL", "loud", "allowed is debug, info, warning, error"),
    ],
)
def test_a_wrong_setting_is_one_line_with_its_name_value_and_what_is_allowed(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(WorkerSettings, {"RUNNER_QUEUE": "emails", name: value})

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_address_does_not_show_its_password() -> None:
    with pytest.raises(ConfigError) as caught:
        load(WorkerSettings, {"RUNNER_QUEUE": "emails", "RUNNER_REDIS_URL": "http://me:hush@host"})

    assert "http://me:***@host" in str(caught.value)


def test_two_wrong_settings_are_both_named() -> None:
    with pytest.raises(ConfigError, match=r"RUNNER_QUEUE is .*; RUNNER_IDLE_S is "):
        load(WorkerSettings, {"RUNNER_QUEUE": "a b", "RUNNER_IDLE_S": "x"})


def test_good_settings_are_read_without_pydantic() -> None:
    reading = "from runner.config import *; load(WorkerSettings, {'RUNNER_QUEUE': 'a', 'RUNNER_IDLE_S': '40'})"
    code = f"import sys; {reading}; print('pydantic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
