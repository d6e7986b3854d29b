"""Dead letters on the command line: listed, counted, chosen, run again and dropped, however many there are. Called by pytest."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from runner.broker import Broker, Queue, Settled
from runner.cli.moments import moment_ms
from runner.errors import ConfigError
from runner.queue import Declaration
from tests.cli.conftest import Say
from tests.controller import bulk
from tests.making import claim, dead

NOW_MS = 1_000_000_000_000
ROOT = Path(__file__).parents[2]


def body(kind: str) -> bytes:
    return json.dumps({"type": kind}).encode()


def four(queue: Queue) -> list[str]:
    """Four letters of two types; their entries."""
    given = (("crash", "a"), ("fatal", "b"), ("crash", "b"), ("timeout", "a"))
    return [dead(queue, f"x{n}", f"t{n}", reason=reason, body=body(kind)) for n, (reason, kind) in enumerate(given)]


def ids(said: Say, *options: str) -> list[str]:
    return [one["id"] for one in json.loads(said("dead", "ls", "--json", *options)[1])]


def test_letters_are_listed_newest_first_by_what_was_asked(queue: Queue, said: Say) -> None:
    entries = four(queue)
    at = entries[2].split("-")[0]

    assert ids(said) == ["x3", "x2", "x1", "x0"]
    assert ids(said, "--reason", "crash", "--type", "b", "--queue", "emails") == ["x2"]
    assert ids(said, "--max", "1") == ["x3"]
    assert ids(said, "--until", "1h") == [] == ids(said, "--since", "2100-01-01")
    assert set(ids(said, "--since", "1h")) == {"x0", "x1", "x2", "x3"} == set(ids(said, "--newer-than", "1h"))
    shown = json.loads(said("dead", "ls", "--json")[1])[1]
    assert (shown["entry"].split("-")[0], shown["reason"], shown["body"], shown["attempts"]) == (at, "crash", '{"type": "b"}', [])
    assert "fatal" in said("dead", "ls", "--reason", "fatal")[1]


def test_since_begins_with_the_very_moment_and_until_ends_before_it(queue: Queue, said: Say) -> None:
    for name in ("1000-0", "2000-3", "3000-0"):
        (fields,) = [dict(row[1]) for row in queue.client.xrange("{emails}:dead", dead(queue, name, name))]
        queue.client.delete("{emails}:dead")
        queue.client.hset("{emails}:lost", name, json.dumps({k.decode(): v.decode() for k, v in fields.items()}))
    for name, fields in sorted(queue.client.hgetall("{emails}:lost").items()):
        queue.client.xadd("{emails}:dead", json.loads(fields), id=name)

    assert ids(said, "--since", "1970-01-01T00:00:02Z") == ["3000-0", "2000-3"]
    assert ids(said, "--until", "1970-01-01T00:00:02") == ["1000-0"]
    assert said("dead", "replay", "--since", "1970-01-01T00:00:02", "--until", "1970-01-01T00:00:03")[1] == "1 found, 1 replayed\n"
    assert claim(queue).id == "2000-3"


def test_letters_are_counted_by_type_reason_and_day(queue: Queue, said: Say) -> None:
    four(queue)
    dead(queue, "x4", "t4", reason="crash", body=b"\xff")

    counted = json.loads(said("dead", "stats", "--json")[1])

    assert (counted["dead"], counted["by_type"], counted["by_reason"]) == (
        5,
        {"a": 2, "b": 2, "-": 1},
        {"crash": 3, "fatal": 1, "timeout": 1},
    )
    assert sum(counted["by_day"].values()) == 5
    assert {(one["type"], one["reason"], one["dead"]) for one in counted["groups"]} >= {("a", "crash", 1), ("-", "crash", 1)}
    lines = [line.split() for line in said("dead", "stats")[1].splitlines()]
    assert ["emails", "b", "fatal", "1", "0", "s", "ago", "0", "s", "ago"] in lines


def test_what_matches_is_run_again(queue: Queue, said: Say) -> None:
    four(queue)

    assert said("dead", "replay", "--reason", "crash", "--dry-run") == (0, "2 found, 0 replayed\n", "")
    assert said("dead", "replay", "--type", "b", "--max", "1")[1].startswith("1 found, 1 replayed, and --max is reached")
    assert said("dead", "replay", "x3", "x0") == (0, "2 found, 2 replayed\n", "")
    assert {claim(queue, f"u{n}").id for n in range(3)} == {"x0", "x1", "x3"}
    code, _, err = said("dead", "replay", "x1")
    assert code == 1 and "it is claimed" in err
    assert "no queue knows it" in said("dead", "replay", "nothing")[2]


def test_what_another_program_put_there_is_told_and_stops_nothing(queue: Queue, said: Say) -> None:
    four(queue)
    entry = queue.client.xadd("{emails}:dead", {"what": "ever"}).decode()

    assert f"XDEL '{{emails}}:dead' {entry}" in said("dead", "ls")[1]
    assert ids(said, "--reason", "timeout") == ["x3"]
    assert said("dead", "replay", "--all")[1] == "4 found, 4 replayed\n"


@pytest.mark.parametrize("mode", ["stream"])
def test_a_queue_that_cannot_be_read_hides_no_letter_of_another(queue: Queue, said: Say) -> None:
    four(queue)
    Broker(queue.client).declare(Declaration("newer"))
    queue.client.hset("{newer}:queue", "layout", 99)

    code, out, err = said("dead", "ls", "--json")
    assert (code, len(json.loads(out)), err.count("\n")) == (1, 4, 1) and "layout 99" in err
    code, out, _ = said("dead", "replay", "--all")
    assert (code, out) == (1, "4 found, 4 replayed\n")


def test_a_queue_whose_keys_are_of_another_type_hides_no_letter_of_another(queue: Queue, said: Say) -> None:
    four(queue)
    Broker(queue.client).declare(Declaration("other"))
    queue.client.set("{other}:dead", "a text")

    code, out, err = said("dead", "ls", "--json")

    assert (code, len(json.loads(out)), err.count("\n")) == (1, 4, 1) and "WRONGTYPE" in err


def test_purging_without_a_terminal_needs_a_yes(queue: Queue, said: Say) -> None:
    four(queue)

    code, _, err = said("dead", "purge", "--all")
    assert code == 2 and "add --yes" in err and queue.measure().dead == 4
    assert said("dead", "purge", "--all", "--dry-run")[1] == "4 found, 0 purged\n"
    assert json.loads(said("dead", "purge", "x0", "--yes", "--json")[1]) == {"found": 1, "purged": 1, "dry_run": False}
    assert said("dead", "purge", "--all", "--yes")[1] == "3 found, 3 purged\n"


@pytest.mark.parametrize("mode", ["stream"])
@pytest.mark.parametrize(("answer", "left"), [(b"n\n", 4), (b"y\n", 0)])
def test_purging_on_a_terminal_asks(queue: Queue, answer: bytes, left: int) -> None:
    four(queue)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "runner.cli", "dead", "purge", "--all"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.write(ours, answer)
    _, err = process.communicate(timeout=30)
    for end in (ours, theirs):
        os.close(end)

    assert b"Drop 4 dead letters for good?" in err
    assert (process.returncode, queue.measure().dead) == (int(left > 0), left)


WRONG = [
    (("ls", "--reason", "frob"), "'frob' is no reason for a dead letter"),
    (("ls", "--since", "yesterday"), "--since is 'yesterday', allowed is a time ago such as 90s"),
    (("replay", "--newer-than", "3 weeks"), "--newer-than is '3 weeks'"),
    (("replay",), "name the ids of dead tasks, options that choose some, or --all"),
    (("purge", "x", "--all"), "--all does not go with them"),
    (("purge", "x", "--type", "a"), "--type does not go with them"),
    (("replay", "--all", "--max", "0"), "(see `runner dead replay --help`)"),
]


@pytest.mark.parametrize("mode", ["stream"])
@pytest.mark.parametrize(("args", "line"), WRONG, ids=[" ".join(args) for args, _ in WRONG])
def test_what_is_wrong_is_one_line_and_exit_code_2(queue: Queue, said: Say, args: tuple[str, ...], line: str) -> None:
    code, out, err = said("dead", *args)

    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert line in err


@pytest.mark.parametrize(
    ("text", "ago_s"),
    [("90s", 90), ("30min", 1800), ("5m", 300), ("1.5h", 5400), ("3 d", 259_200), ("1w", 604_800), ("2001-09-09T01:46:40", 0)],
)
def test_a_moment_is_so_long_ago_or_a_time(text: str, ago_s: int) -> None:
    assert moment_ms(text, NOW_MS, "--since") == NOW_MS - ago_s * 1000


@pytest.mark.parametrize("text", ["", "h", "-2h", "2001-13-01", "1e3s", "9999999999w"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--since is"):
        moment_ms(text, NOW_MS, "--since")


def buried(queue: Queue, number: int) -> None:
    """So many letters."""
    bulk.submit(queue, number, body=body("image.resize"))
    for at in range(0, number, 200):
        held = bulk.claim(queue, 200, f"pod-{at}")
        queue.bury([Settled(name, token, reason="crash", attempt=b'{"attempt":1}') for name, token in held])


PEAK = """
import re, sys
from pathlib import Path
from runner.cli import run
run(sys.argv[1:])
print(re.findall(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[0], file=sys.stderr)
"""


def peak_mib(*args: str) -> int:
    """The most memory that a command took, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, cwd=ROOT
    )
    return int(done.stderr.split()[-1]) // 1024


@pytest.mark.parametrize("mode", ["stream"])
def test_100_000_letters_take_no_more_memory_than_200(queue: Queue, full: bool) -> None:
    if not full:
        pytest.skip("takes a minute: make test-all")
    few = Broker(queue.client).declare(Declaration("few", mode="stream"))
    buried(few, 200)
    buried(queue, 100_000)
    queue.client.config_resetstat()
    before_mib = peak_mib("dead", "ls", "--json", "--queue", "few", "--max", "1000000")

    for args in (("ls", "--json"), ("ls", "--type", "image.resize"), ("stats",), ("replay", "--type", "image.resize", "--since", "1d")):
        many = () if args[0] == "stats" else ("--max", "1000000")
        assert peak_mib("dead", *args, "--queue", "emails", *many) < before_mib + 12, args

    assert queue.measure().dead == 0
    assert queue.client.info("commandstats")["cmdstat_evalsha"]["usec_per_call"] < 10_000
