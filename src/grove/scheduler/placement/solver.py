"""The exact solver: OR-Tools in a process of its own, so that neither its threads nor its faults touch the engine.

`Solver` is given to placements as `Options.exact`. The worker is started when it is first asked, and again when it
died. Its limit is in units of work, not in seconds: the same question has the same answer. Run as a program, this
module is the worker.
"""

from __future__ import annotations

import select
import subprocess
import sys
from typing import IO, Final

import msgspec

from grove.scheduler.placement.exact import Question, Solution

WORK: Final = 0.5
"""Units of work for one question, about seconds of one core."""
_PATIENCE: Final = 60.0
"""Seconds after which a worker that says nothing is taken for dead."""
_ATTEMPTS: Final = 3
"""Deaths in a row after which it is not asked again."""
_HEADER: Final = 8

MISSING: Final = "the exact solver is not installed: pip install 'grove[solver]'"


class Request(msgspec.Struct, frozen=True, array_like=True):
    """A question and how much work its answer may take."""

    question: Question
    work: float


class Solver:
    """Asks the worker, one question at a time."""

    def __init__(self, work: float = WORK) -> None:
        self._work = work
        self._worker: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self.asked = 0
        self.trouble = ""
        """Why it cannot be asked; empty: it can."""

    def __call__(self, question: Question) -> Solution:
        """Its answer; unknown where it cannot be asked."""
        if self._deaths >= _ATTEMPTS or self.trouble == MISSING:
            return Solution("unknown", trouble=self.trouble)
        self.asked += 1
        try:
            answer = self._ask(question)
        except (OSError, EOFError, msgspec.DecodeError) as fault:
            self._deaths += 1
            self.trouble = f"the exact solver died: {fault or type(fault).__name__}"
            self.close()
            return Solution("unknown", trouble=self.trouble)
        self._deaths = 0
        self.trouble = answer.trouble
        return answer

    def _ask(self, question: Question) -> Solution:
        if self._worker is None:
            self._worker = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        _send(self._worker.stdin, msgspec.msgpack.encode(Request(question, self._work)))
        if not select.select([self._worker.stdout], [], [], _PATIENCE)[0]:
            raise EOFError("it does not answer")
        return msgspec.msgpack.decode(_receive(self._worker.stdout), type=Solution)

    def close(self) -> None:
        """Ends the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()


def _send(pipe: IO[bytes], body: bytes) -> None:
    pipe.write(len(body).to_bytes(_HEADER, "big") + body)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    size = pipe.read(_HEADER)
    if len(size) < _HEADER:
        raise EOFError("its pipe is closed")
    return pipe.read(int.from_bytes(size, "big"))


# The worker


def solve(request: Request) -> Solution:
    """Asks OR-Tools, here and now."""
    try:
        from grove.scheduler.placement.satmodel import answer
    except ImportError:
        return Solution("unknown", trouble=MISSING)
    return answer(request.question, request.work)


def work() -> None:
    """Answers questions until the pipe is closed."""
    while True:
        try:
            body = _receive(sys.stdin.buffer)
        except EOFError:
            return
        _send(sys.stdout.buffer, msgspec.msgpack.encode(solve(msgspec.msgpack.decode(body, type=Request))))


if __name__ == "__main__":
    work()
