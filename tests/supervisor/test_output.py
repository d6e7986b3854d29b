"""What the child prints on its way to the log and into the tail. Called by pytest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from runner.outcome import Kind
from runner.tail import CHUNK_BYTES, TAIL_BYTES, Output, clip, last_line
from tests.supervisor.children import run, watched
from tests.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


class Pipe:
    """An output with the child's end in the test's hand."""

    def __init__(self) -> None:
        reader, self.fd = os.pipe()
        os.set_blocking(reader, False)
        self.passed: list[bytes] = []
        self.output = Output(reader, self.passed.append)

    def prints(self, data: bytes) -> None:
        os.write(self.fd, data)
        self.output.take_some()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    os.close(made.fd)
    os.close(made.output.source_fd)


@contextmanager
def full_log() -> Iterator[int]:
    """The reading end of this process's stderr, which is a full pipe meanwhile; no fixture, for pytest turns stderr away at each phase."""
    (reader, writer), kept = os.pipe(), os.dup(2)
    os.dup2(writer, 2)
    os.close(writer)
    os.set_blocking(reader, False)
    os.set_blocking(2, False)
    with suppress(BlockingIOError):
        while os.write(2, b"." * CHUNK_BYTES):
            pass
    try:
        yield reader
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(reader)


def test_a_line_is_passed_on_whole_however_it_comes(pipe: Pipe) -> None:
    pipe.prints(b"one\ntw")
    pipe.prints(b"o\nthree")

    assert pipe.passed == [b"one\n", b"two\n"]


def test_a_line_that_does_not_end_is_passed_on_after_a_while(pipe: Pipe) -> None:
    pipe.prints(b"50 %")

    pipe.output.flush()

    assert pipe.passed == [b"50 %"]


def test_a_line_longer_than_a_chunk_is_passed_on_in_pieces(pipe: Pipe) -> None:
    pipe.prints(b"x" * (CHUNK_BYTES + 10))

    assert pipe.passed == [b"x" * CHUNK_BYTES]
    assert len(pipe.output.held) == 10


def test_the_log_is_left_at_the_start_of_a_line(pipe: Pipe) -> None:
    pipe.prints(b"done\nno newline")

    pipe.output.finish()

    assert b"".join(pipe.passed) == b"done\nno newline\n"
    assert pipe.output.tail == b"done\nno newline"


def test_the_tail_keeps_the_last_bytes_exactly(pipe: Pipe) -> None:
    data = os.urandom(3 * TAIL_BYTES)
    for start in range(0, len(data), 1000):
        pipe.prints(data[start : start + 1000])

    pipe.output.finish()

    assert pipe.output.tail == data[-TAIL_BYTES:]
    assert b"".join(pipe.passed).removesuffix(b"\n") == data.removesuffix(b"\n")


def test_a_slow_reader_of_the_log_still_gets_the_last_lines() -> None:
    source, child = os.pipe()
    os.set_blocking(source, False)
    output = Output(source)
    os.write(child, b"the end\n")
    os.close(child)

    with full_log() as log:
        ending = Thread(target=output.finish, args=(10.0,))
        ending.start()
        until(lambda: output.blocked)
        os.read(log, 1_000_000)
        ending.join()
        printed = os.read(log, 100)

    assert printed == b"the end\n"
    os.close(source)


def test_output_is_passed_on_while_the_task_runs_also_half_a_line() -> None:
    with watched() as one:
        one.once_printed(b"half", lambda: one.supervisor.stop(Kind.RELEASED))

        assert one.run("half-a-line").kind is Kind.RELEASED


def test_stdout_and_stderr_are_one_stream_in_the_order_of_printing() -> None:
    assert run("prints", 200).tail == (b"x" * 99 + b"\n") * 2 + b"the end"


def test_a_handlers_logger_writes_the_tasks_id_with_each_line() -> None:
    assert b"INFO 206 resized" in run("logs", "resized").tail


@pytest.mark.parametrize(("text", "clipped"), [("short", "short"), ("ä" * 10, "ää..."), ("\udcff", "\\udcff"), ("x" * 8, "x" * 8)])
def test_a_text_is_clipped_by_bytes_and_never_inside_a_character(text: str, clipped: str) -> None:
    assert clip(text, 8) == clipped


@pytest.mark.parametrize(("text", "last"), [(b"", ""), (b"\n\n", ""), (b"one\ntwo\n\n", "two"), (b"\xff", "\ufffd")])
def test_the_last_line_is_the_last_that_says_something(text: bytes, last: str) -> None:
    assert last_line(text) == last
