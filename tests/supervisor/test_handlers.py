"""How handlers are registered. Called by pytest."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from runner.errors import HandlersError
from runner.handlers import Registry, Retry


@pytest.fixture
def registry() -> Registry:
    return Registry()


def context_for(registry: Registry, function: Any) -> bool:
    registry.task("t")(function)
    handler = registry.find("t", None)
    assert handler
    return handler.takes_context


@pytest.mark.parametrize(
    ("function", "takes_context"),
    [
        (lambda payload: 0, False),
        (lambda payload, context: 0, True),
        (lambda payload, ctx: 0, True),
        (lambda payload, context=None: 0, True),
        (lambda payload, size=3: 0, False),
        (lambda *args: 0, False),
        (partial(lambda size, payload: 0, 3), False),
        (print, False),
    ],
)
def test_a_handler_gets_a_context_if_its_second_parameter_asks_for_one(registry: Registry, function: Any, takes_context: bool) -> None:
    assert context_for(registry, function) is takes_context


def test_the_decorated_function_stays_callable(registry: Registry) -> None:
    @registry.task("double")
    def double(payload: int) -> int:
        return 2 * payload

    assert double(4) == 8


def empty() -> None: ...
def greedy(a: int, b: int, c: int) -> None: ...
def yielding(payload: int) -> Any:
    yield payload


@pytest.mark.parametrize("function", [empty, greedy, yielding])
def test_a_function_that_could_never_run_is_refused_by_name(registry: Registry, function: Any) -> None:
    with pytest.raises(HandlersError, match=function.__name__):
        registry.task("t")(function)


def test_a_decorator_without_its_type_is_refused(registry: Registry) -> None:
    with pytest.raises(HandlersError, match="names its type"):
        registry.task(empty)  # type: ignore[arg-type]


def test_two_handlers_for_one_version_are_refused_with_the_place_of_the_first(registry: Registry) -> None:
    registry.task("t", versions=(1, 2))(print)

    with pytest.raises(HandlersError, match=r"'t' version 2 has two handlers, the first in module 'builtins'"):
        registry.task("t", versions=(2, 3))(print)


@pytest.mark.parametrize("versions", [(), ("1",)])
def test_versions_that_are_no_numbers_are_refused(registry: Registry, versions: Any) -> None:
    with pytest.raises(HandlersError, match="versions are whole numbers"):
        registry.task("t", versions=versions)


def test_a_version_finds_its_own_handler_then_the_one_for_any(registry: Registry) -> None:
    registry.task("t", versions=(1,))(abs)
    registry.task("t", versions=(3,))(len)

    assert [getattr(registry.find("t", v), "function", None) for v in (1, 2, 3, None)] == [abs, None, len, len]
    assert registry.types() == [("t", [1, 3])]

    registry.task("t")(print)

    assert [getattr(registry.find("t", v), "function", None) for v in (1, 2, 3, None)] == [abs, print, len, print]
    assert registry.types() == [("t", None)]


@pytest.mark.parametrize("after_s", [-1, float("nan"), float("inf")])
def test_a_retry_after_no_time_at_all_is_refused_where_it_is_raised(after_s: float) -> None:
    with pytest.raises(ValueError, match="after_s"):
        Retry(after_s=after_s)
