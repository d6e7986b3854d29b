"""Commands about queues: queue declare, queue apply, queue ls, queue resume. Called by cli."""

from __future__ import annotations

import ast
import inspect
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.common import Json, examples, opened_broker
from runner.cli.completion import queue_names
from runner.cli.output import say_json, say_table
from runner.cli.pods import resume
from runner.errors import UndeclaredQueueError
from runner.queue import Declaration

if TYPE_CHECKING:
    from runner.broker import Broker

NewName = Annotated[str, typer.Argument(help="Its name, without prefix.", autocompletion=queue_names)]
Reset = Annotated[bool, typer.Option("--reset", help="What is not given takes its default, also where it was declared otherwise.")]
NOT_GIVEN = ("name", "rev", "layout")
LS = ("queue", "mode", "priorities", "lease_s", "timeout_s", "max_retries", "max_length")


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    queue = typer.Typer(help="Declare and list queues.", rich_markup_mode=None)
    queue.command(
        epilog=examples(
            "runner queue declare emails --mode stream",
            "runner queue declare images --mode list --priorities urgent,bulk --timeout-s 120",
            "runner queue declare emails --max-retries 5",
        )
    )(declare)
    queue.command("apply", epilog=examples("runner queue apply queues.json"))(apply)
    queue.command("ls", epilog=examples("runner queue ls", "runner queue ls --json | jq '.[].name'"))(ls)
    queue.command("resume", epilog=examples("runner queue resume emails --namespace shop"))(resume)
    app.add_typer(queue, name="queue")


def _meanings() -> dict[str, str]:
    """The line under each field of Declaration, which is where its meaning is written down once."""
    (cls,) = ast.parse(inspect.getsource(Declaration)).body
    said, last = {}, ""
    for node in getattr(cls, "body", ()):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            said[last] = f"{node.value.value!s} "
    return said


def _options() -> dict[str, Any]:
    """An option per field of Declaration, None where it is not given."""
    meanings = _meanings()
    options = {}
    for field in fields(Declaration):
        if field.name not in NOT_GIVEN:
            default: Any = field.default
            many = isinstance(default, tuple)
            shown = ",".join(default) if many else default
            kind: Any = str if many else type(default)
            options[field.name] = Annotated[
                kind | None, typer.Option(help=f"{meanings.get(field.name, '')}[{shown if shown != '' else 'none'}]")
            ]
    return options


def declare(name: str, reset: bool = False, as_json: bool = False, **given: Any) -> None:
    """Declare a queue, or change one: of a declared queue, what is not given stays as it is (--reset: takes its default)."""
    values = {key: value for key, value in given.items() if value is not None}
    for field in fields(Declaration):
        if field.name in values and isinstance(field.default, tuple):
            values[field.name] = tuple(part.strip() for part in values[field.name].split(",") if part.strip())
    with opened_broker() as broker:
        old = _declared(broker, name)
        declaration = _wanted(name, old, reset, values)
        same = declaration == old and name in broker.names()
        made = declaration if same else broker.declare(declaration).declaration
    changed = _changes(old, made) if old else []
    if as_json:
        return say_json(asdict(made) | {"changed": changed})
    print(f"{made.name}: {made.mode}, priorities {', '.join(made.priorities)}, rev {made.rev}")
    for one in changed:
        print("  {option}: {before} -> {after}".format(**one))
    return print("  nothing changed: it was declared so already") if old and not changed else None


def _declared(broker: Broker, name: str) -> Declaration | None:
    """As it is; what its other options are was once decided, by whoever gives only one now."""
    try:
        return broker.open(name).declaration
    except UndeclaredQueueError:
        return None


def _wanted(name: str, old: Declaration | None, reset: bool, values: dict[str, Any]) -> Declaration:
    if old is None or reset:
        return Declaration(name, **values)
    if old.default_priority not in values.get("priorities", old.priorities):
        values = {"default_priority": ""} | values  # none of the new ones: chosen anew
    return replace(old, **values)


def _changes(old: Declaration, new: Declaration) -> list[dict[str, str]]:
    before, after = old.to_fields(), new.to_fields()
    changed = [key for key in after if key not in NOT_GIVEN and before[key] != after[key]]
    return [{"option": key, "before": before[key] or "none", "after": after[key] or "none"} for key in changed]


def apply(file: Annotated[str, typer.Argument(help="JSON: a map from names to what differs from the defaults.")]) -> None:
    """Declare the queues of a file; one that is declared so already is left alone."""
    from runner import declare as declarations

    wanted = declarations.read(file)
    with opened_broker() as broker:
        known = broker.names()
        for one in wanted:
            print(f"{one.name}: {'declared' if declarations.make_true(broker, one, known) else 'declared already'}")


def _sign(command: Any) -> None:
    """Give `declare` the signature that typer reads."""
    hints: dict[str, Any] = {"name": NewName, "reset": Reset, "as_json": Json, **_options()}
    defaults = {"name": inspect.Parameter.empty, "reset": False, "as_json": False}
    kind = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(
        [inspect.Parameter(key, kind, annotation=hint, default=defaults.get(key)) for key, hint in hints.items()]
    )
    command.__annotations__ = hints


_sign(declare)


def ls(as_json: Json = False) -> None:
    """List the declared queues; of the priorities, the default one has a star."""
    with opened_broker() as broker:
        found = [asdict(queue.declaration) for queue in broker.queues()]
    if as_json:
        return say_json(found)
    return say_table(LS, [[one["name"], one["mode"], _starred(one), *(one[column] for column in LS[3:])] for one in found])


def _starred(one: dict[str, Any]) -> str:
    return ",".join(f"{name}*" if name == one["default_priority"] else name for name in one["priorities"])
