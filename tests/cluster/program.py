"""One of Grove's long-running programs as a child process, and what tests ask it."""

import json
import os
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import yaml
from prometheus_client.parser import text_string_to_metric_families

from grove.testing.process import Process
from grove.testing.waiting import eventually

JSON = dict[str, Any]

PATIENCE = 60.0
"""For a machine that is busy with other things."""


class Program:
    """A process. Can be killed, and started again."""

    def __init__(self, name: str, kubeconfig: Path, directory: Path, configuration: JSON, *options: str) -> None:
        number = len(list(directory.iterdir()))
        self.name = name
        self.log = directory / f"{name}-{number}.log"
        file = directory / f"configuration-{number}.yaml"
        file.write_text(yaml.safe_dump(configuration))
        command = [sys.executable, "-m", "grove.cli.main", name, "--config", str(file)]
        command += ["--kubeconfig", str(kubeconfig), *options]
        self._process = Process(name, command, directory=directory, log=self.log)
        self._begin = 0

    def start(self) -> Self:
        self._begin = self.log.stat().st_size if self.log.exists() else 0
        self._process.start()
        return self

    def started(self) -> Self:
        """Starts it and waits until it is ready."""
        self.start()
        eventually(lambda: self.get("health", "/readyz"), lambda answer: answer[0] == 200, timeout=PATIENCE)
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    def text(self) -> str:
        """What it has logged since it was last started."""
        with self.log.open("rb") as file:
            file.seek(self._begin)
            return file.read().decode()

    def lines(self) -> list[JSON]:
        """The lines of the log that are JSON; the last one may not be whole yet."""
        found = []
        for line in self.text().splitlines():
            if line.startswith("{") and line.endswith("}"):
                found.append(json.loads(line))
        return found

    def says(self, event: str, **fields: object) -> JSON:
        """The line of the log of an event, when it is there."""

        def line() -> JSON | None:
            found = [one for one in self.lines() if one["event"] == event and fields.items() <= one.items()]
            assert found or self.exit_code is None, f"ended with {self.exit_code}: {self.text()}"
            return found[-1] if found else None

        found = eventually(line, timeout=PATIENCE, message=f"the {self.name} does not say {event!r}")
        assert found is not None
        return found

    def get(self, server: str, path: str, timeout: float = 10.0) -> tuple[int, str]:
        """Status and text of a page of one of its servers: health, metrics or profiling."""
        port = self.says("listening", server=server)["port"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """By the name of a metric: labels and value of each sample."""
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(self.get("metrics", "/metrics")[1]):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((sample.labels, sample.value))
        return found

    def value(self, name: str, **labels: str) -> float:
        """The sum of all samples of a metric with these labels."""
        return sum(value for found, value in self.metrics().get(name, []) if labels.items() <= found.items())

    def ended(self) -> int:
        """The exit code, when it is there."""
        eventually(lambda: self.exit_code is not None, timeout=PATIENCE, message="it goes on")
        code = self.exit_code
        assert code is not None
        return code

    def terminate(self) -> int:
        """What the kubelet does first; the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
