"""What is written on ScaledJobs, as tables. Called by pytest."""

from __future__ import annotations

from typing import Any

import pytest

from runner.controller.notices import NUDGE, PAUSED, WHY, nudge, pause, reason, resume
from tests.controller.town import NOW_S, scaled

NOW = f"{int(NOW_S)}"
LONG_AGO, JUST_NOW = f"{int(NOW_S) - 3600} 1", f"{int(NOW_S) - 2} 1"


@pytest.mark.parametrize(
    ("ready", "notes", "expected"),
    [
        pytest.param("True", {}, None, id="all is well"),
        pytest.param("", {}, None, id="KEDA has not seen it yet"),
        pytest.param("False", {}, {NUDGE: f"{NOW} 1", PAUSED: "false"}, id="KEDA gave up"),
        pytest.param("Unknown", {}, {NUDGE: f"{NOW} 1", PAUSED: "false"}, id="KEDA does not know"),
        pytest.param("False", {NUDGE: JUST_NOW, PAUSED: "false"}, None, id="nudged just now"),
        pytest.param("False", {NUDGE: LONG_AGO, PAUSED: "false"}, {NUDGE: f"{NOW} 2", PAUSED: None}, id="nudged in vain"),
        pytest.param("False", {NUDGE: LONG_AGO}, {NUDGE: f"{NOW} 2", PAUSED: "false"}, id="nudged in vain, the other way round"),
        pytest.param("True", {NUDGE: JUST_NOW, PAUSED: "false"}, {NUDGE: None, PAUSED: None}, id="it helped"),
        pytest.param("True", {NUDGE: LONG_AGO}, {NUDGE: None, PAUSED: None}, id="half taken away"),
        pytest.param("False", {NUDGE: "what?"}, {NUDGE: f"{NOW} 1", PAUSED: "false"}, id="a mark that says nothing"),
        pytest.param("False", {PAUSED: "true"}, None, id="a person paused it"),
        pytest.param("True", {PAUSED: "true"}, None, id="a person paused it, and KEDA says Ready"),
        pytest.param("False", {PAUSED: "false"}, None, id="a person wrote that it is not paused"),
        pytest.param("False", {NUDGE: JUST_NOW, PAUSED: "true"}, {NUDGE: None}, id="a person paused it after our nudge"),
        pytest.param("True", {NUDGE: LONG_AGO, PAUSED: ""}, {NUDGE: None}, id="a person paused it with no value"),
    ],
)
def test_a_nudge_pauses_nothing_and_lifts_no_persons_pause(ready: str, notes: dict[str, str], expected: dict[str, Any] | None) -> None:
    assert nudge(scaled(ready=ready, annotations=notes), NOW_S) == expected


@pytest.mark.parametrize(("times", "after_s"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 600), (50, 600)])
def test_nudges_in_vain_come_ever_later(times: int, after_s: int) -> None:
    at = [scaled(ready="False", annotations={NUDGE: f"{int(NOW_S) - past} {times}"}) for past in (after_s - 1, after_s)]

    assert [nudge(one, NOW_S) is not None for one in at] == [False, True]


def test_a_pause_says_why_and_of_which_specification() -> None:
    assert pause(scaled(generation=3), "it fails") == {WHY: "3 it fails", PAUSED: "true", NUDGE: None}
    assert pause(scaled(generation=3, annotations={PAUSED: "false", NUDGE: JUST_NOW}), "it fails") is not None
    assert pause(scaled(annotations={PAUSED: "true"}), "it fails") is None
    assert reason(scaled(annotations={WHY: "3 it fails", PAUSED: "true"})) == "it fails"
    assert reason(scaled(annotations={PAUSED: "true"})) == ""
    assert reason(scaled(annotations={WHY: "3 it fails"})) == ""


@pytest.mark.parametrize(
    ("notes", "asked", "expected"),
    [
        pytest.param({WHY: "3 it fails", PAUSED: "true"}, False, None, id="nothing changed"),
        pytest.param({WHY: "2 it fails", PAUSED: "true"}, False, {WHY: None, PAUSED: None}, id="another image since"),
        pytest.param({WHY: "3 it fails", PAUSED: "true"}, True, {WHY: None, PAUSED: None}, id="a person asks"),
        pytest.param({WHY: "3 it fails"}, False, {WHY: None}, id="a person lifted it by hand"),
        pytest.param({WHY: "it fails", PAUSED: "true"}, False, None, id="a reason without a specification"),
        pytest.param({PAUSED: "true"}, False, None, id="a person's pause"),
        pytest.param({PAUSED: "true"}, True, None, id="a person's pause, and another person asks"),
        pytest.param({}, True, None, id="no pause"),
    ],
)
def test_a_pause_is_lifted_by_a_newer_specification_or_a_person(
    notes: dict[str, str], asked: bool, expected: dict[str, Any] | None
) -> None:
    assert resume(scaled(generation=3, annotations=notes), asked=asked) == expected
