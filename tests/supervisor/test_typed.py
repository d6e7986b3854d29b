"""A handler that declares its payload: what it gets, and what becomes of a payload that is none. Called by pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runner.errors import HandlersError
from runner.outcome import Ending, Kind
from runner.wire import write
from tests.supervisor.children import run, watched
from tests.supervisor.models import Size
from tests.supervisor.shapes import Box, Fit, Resize

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
TYPED, MODELLED = "tests.supervisor.handlers_typed", "tests.supervisor.handlers_modelled"
GOOD = {"at": "2025-11-30T12:00:00+01:00", "took": "PT1M30S", "fit": "cover", "price": "1.10", "boxes": [{"width": 3}]}


def typed(type: str, payload: Any, module: str = TYPED) -> Ending:
    return run(type, payload, module=module)


def sent(type: str, payload: Any, module: str, encoding: str) -> Ending:
    """With the body that a producer makes of it."""
    with watched(module) as one:
        return one.run(type, body=write(type, payload, task_id="1", created_ms=1, encoding=encoding))


def test_a_dataclass_is_made_of_the_payload_before_the_handler_runs() -> None:
    ending = typed("resize", {**GOOD, "unheard_of": 1})

    assert json.loads(ending.result) == {"at": "2025-11-30 11:00:00+00:00", "took": 90.0, "fit": "COVER", "boxes": 1, "note": None}


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
def test_what_a_producer_submits_is_what_the_handler_gets(encoding: str) -> None:
    payload = Resize(datetime(2025, 11, 30, 11, tzinfo=UTC), timedelta(seconds=90), Fit.COVER, Decimal("1.10"), [Box(1), Box(2)], "ü")

    assert json.loads(sent("resize", payload, TYPED, encoding).result)["note"] == "ü"
    assert sent("size", Size(w=3, password="1"), MODELLED, encoding).result == b"3"


@pytest.mark.parametrize(
    ("type", "payload", "detail"),
    [
        ("resize", None, "`payload` is null, not an object"),
        ("resize", {k: v for k, v in GOOD.items() if k != "fit"}, "`payload.fit` is missing"),
        ("resize", GOOD | {"boxes": [{"width": "hush"}]}, "`payload.boxes[0].width` is a string, not a whole number"),
        ("resize", GOOD | {"fit": "hush"}, '`payload.fit` is none of "cover"'),
        ("resize", GOOD | {"at": "2025-11-30T12:00:00", "took": []}, "`payload.at` is a time without a zone; `payload.took` is an array, "),
        ("resize", GOOD | {"boxes": [{"width": 0}]}, "`payload.boxes[0]` is refused by Box: ValueError: width is at least 1"),
        ("boxes", {"a b": {"width": 1, "secret": "hush"}}, "`payload['a b']` is refused by Crate: ValueError, in words that quote"),
    ],
)
def test_a_payload_that_is_none_is_dead_at_once_by_its_field(type: str, payload: Any, detail: str) -> None:
    ending = typed(type, payload)

    assert ending.kind is Kind.UNREADABLE
    assert ending.detail.startswith(detail)
    assert "hush" not in ending.detail + ending.tail.decode()


@pytest.mark.parametrize(
    ("payload", "detail"),
    [
        ({"w": "wide"}, "`payload.w`: Input should be a valid integer, unable to parse string as an integer"),
        ({"w": 0}, "`payload.w`: Input should be greater than 0"),
        ({}, "`payload.w`: Field required"),
        ({"w": 1, "password": "hush"}, "`payload.password`: value_error"),
        ([], "`payload`: Input should be an object"),
    ],
)
def test_a_model_tells_its_own_faults_without_the_values(payload: Any, detail: str) -> None:
    ending = typed("size", payload, MODELLED)

    assert (ending.kind, ending.detail) == (Kind.UNREADABLE, detail)


def test_annotations_that_say_no_more_than_json_are_not_checked() -> None:
    assert typed("documented", ["not", "a", "dict"]).result == b'["not","a","dict"]'


def test_a_child_whose_handlers_declare_dataclasses_loads_no_pydantic() -> None:
    code = f"import sys\nfrom runner import handlers\nhandlers.load(['{TYPED}'])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)

    assert not {"pydantic", "orjson", "msgpack", "redis"} & {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def f(p: Nowhere): ...", "handler f in module 'wanting': the type of parameter 'p' cannot be resolved: name 'Nowhere'"),
        ("class C: ...\ndef f(p: list[C]): ...", "C is a class that no payload can be: make it a dataclass or a pydantic model"),
        ("@dataclass\nclass D:\n    x: Nowhere\ndef f(p: D): ...", "the type of D cannot be resolved: name 'Nowhere' is not defined"),
        ("def f(p: str | datetime): ...", "str | datetime.datetime has alternatives that look alike in a payload"),
        ("def f(p: dict[int, datetime]): ...", "a dict with other keys than strings is a type that no payload can be"),
        ("@dataclass\nclass D:\n    x: InitVar[int]\ndef f(p: D): ...", "D.x is an InitVar, which is never written: make it a field"),
        ("class M(BaseModel):\n    b: bytes\ndef f(p: M): ...", "M reads the bytes of field 'b' from UTF-8 text, while tasks carry"),
        ("class M(BaseModel):\n    b: Nowhere\ndef f(p: M): ...", "M cannot be resolved: name 'Nowhere' is not defined"),
        ("class E(Enum):\n    A = '1'\n    B = Decimal(1)\ndef f(p: E): ...", "are written alike: give them other values"),
    ],
)
def test_a_type_that_no_payload_can_be_is_told_before_anything_is_claimed(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "from __future__ import annotations\nimport runner\nfrom pydantic import BaseModel\n"
    head += "".join(f"from {name} import *\n" for name in ("dataclasses", "datetime", "decimal", "enum"))
    at = code.index("def f")
    (tmp_path / "wanting.py").write_text(f'{head}{code[:at]}@runner.task("f")\n{code[at:]}\n')
    monkeypatch.chdir(tmp_path)
    with watched("wanting") as one:
        one.supervisor.start()

        with pytest.raises(HandlersError) as raised:
            one.supervisor.await_ready()

        assert said in str(raised.value)
        assert "\n" not in str(raised.value)
