"""Builds the control plane that the tests run against: kube-apiserver, its controllers and scheduler, kubectl, etcd.

Run by `make kubernetes` with any Python from 3.11 on, so it imports the standard library only. Versions are read from
the go.mod beside it. The binaries go to a cache outside the repository, in a directory named after their versions that
appears whole or not at all: it is built beside its place and renamed. `grove.testing.binaries` looks for it there.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO

MODULE = Path(__file__).resolve().parent

COMMANDS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}

# The five binaries are 360 MB; linking the largest needs room for itself once more.
NEEDED_BYTES = 600 * 1024 * 1024

OTHERWISE = (
    "to do without a build, point KUBEBUILDER_ASSETS at a directory with kube-apiserver, kube-controller-manager,"
    " kube-scheduler, kubectl {kubernetes} and etcd {etcd} or newer, or put them on PATH"
)


class BuildError(Exception):
    """The build cannot go on; the message says what is missing and what would help."""


@dataclass(frozen=True)
class Versions:
    """What go.mod asks for, each as `1.2.3`."""

    kubernetes: str
    etcd: str
    go: str

    @property
    def name(self) -> str:
        """Names the cache directory; holds both versions, so a new etcd under an old Kubernetes is a new directory."""
        return f"{self.kubernetes}-etcd-{self.etcd}"

    @property
    def otherwise(self) -> str:
        return OTHERWISE.format(kubernetes=self.kubernetes, etcd=self.etcd)


def read_versions(go_mod: str) -> Versions:
    def find(pattern: str, what: str) -> str:
        match = re.search(pattern, go_mod, re.MULTILINE)
        if match is None:
            raise BuildError(f"tools/kubernetes/go.mod names no version of {what}")
        return match[1]

    return Versions(
        kubernetes=find(r"^\s*(?:require )?k8s\.io/kubernetes v(\S+)", "k8s.io/kubernetes"),
        etcd=find(r"^\s*(?:require )?go\.etcd\.io/etcd/server/v3 v(\S+)", "etcd"),
        go=find(r"^go (\S+)", "go"),
    )


def cache_directory(environment: dict[str, str]) -> Path:
    """Where Grove keeps what can be made again; `grove.testing.binaries` follows the same rule, and a test compares."""
    if own := environment.get("GROVE_CACHE_DIR"):
        return Path(own)
    base = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "grove"


def link_flags(version: str) -> str:
    """Kubernetes learns its version from the linker; without these it calls itself v0.0.0-master."""
    major, minor = version.split(".")[:2]
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "unknown",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    settings = [f"-X {package}.{key}={value}" for package in packages for key, value in values.items()]
    return " ".join(["-s", "-w", *settings])


def is_older(go_version: str, needed: str) -> bool:
    """Whether what `go env GOVERSION` prints is older than what go.mod needs; an unreleased Go counts as new."""
    match = re.match(r"go(\d+)\.(\d+)", go_version)
    if match is None:
        return False
    major, minor = needed.split(".")[:2]
    return (int(match[1]), int(match[2])) < (int(major), int(minor))


class Progress:
    """Says how far the build is: one line that rewrites itself on a terminal, a line per tenth in a log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rewrites = stream.isatty()
        self._tenth = -1

    def line(self, text: str) -> None:
        self._stream.write(f"\r\033[K{text}\n" if self._rewrites else f"{text}\n")
        self._stream.flush()

    def status(self, text: str) -> None:
        """A passing remark: only a terminal shows it."""
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\033[K{text[:width]}")
            self._stream.flush()

    def start(self) -> None:
        self._tenth = 0

    def step(self, command: str, done: int, total: int, package: str) -> None:
        self.status(f"{command}: package {done} of {total}: {package}")
        tenth = done * 10 // max(total, 1)
        if not self._rewrites and tenth > self._tenth:
            self._tenth = tenth
            self.line(f"{command}: package {done} of {total}")


def run(arguments: list[str], on_line: Callable[[str], None]) -> str:
    """Runs go in the module and gives its standard output; each line of standard error goes to on_line as it comes."""
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    tail: deque[str] = deque(maxlen=25)
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            arguments, cwd=MODULE, env=environment, stdout=output, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        try:
            assert process.stderr is not None
            with process.stderr as lines:
                for line in lines:
                    tail.append(line.rstrip())
                    on_line(tail[-1])
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        output.seek(0)
        if code == 0:
            return output.read()
    said = "\n".join(f"    {line}" for line in tail)
    message = f"`{' '.join(arguments[:2])} … {arguments[-1]}` failed with code {code}; its last lines:\n{said}"
    if "no space left on device" in said:
        message += "\nthe disk is full: make room, or move GOCACHE, TMPDIR or GROVE_CACHE_DIR to another disk"
    raise BuildError(message)


def find_go(versions: Versions) -> str:
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"Go is not on PATH; building needs Go {versions.go} or newer\n{versions.otherwise}")
    try:
        # In the module's directory, where a Go that is too old but may fetch a newer one has done so.
        found = run([go, "env", "GOVERSION"], lambda _: None).strip()
    except BuildError as error:
        raise BuildError(f"Go {versions.go} or newer is needed: {error}\n{versions.otherwise}") from error
    if is_older(found, versions.go):
        raise BuildError(f"{go} is {found}; building needs Go {versions.go} or newer\n{versions.otherwise}")
    return go


def compile_command(go: str, command: str, version: str, into: Path, seen: set[str], progress: Progress) -> None:
    """Builds one binary. What earlier commands compiled is in `seen`, so the count is of packages new to this one."""
    package = COMMANDS[command]
    progress.status(f"{command}: listing packages")
    listed = run([go, "list", "-mod=readonly", "-deps", package], progress.status).split()
    new = {name for name in listed if name not in seen and name != "unsafe"}  # unsafe is never compiled
    seen.update(new)
    done = 0

    def on_line(line: str) -> None:
        nonlocal done
        if line in new:
            done += 1
            progress.step(command, done, len(new), line)
            if done == len(new):
                progress.status(f"{command}: linking")
        else:
            progress.status(line)

    progress.start()
    flags = ["-mod=readonly", "-trimpath", "-v", "-ldflags", link_flags(version)]
    run([go, "build", *flags, "-o", str(into / command), package], on_line)
    progress.line(f"{command}: built")


@contextlib.contextmanager
def exclusive(lock: Path, progress: Progress) -> Iterator[None]:
    """One build at a time per cache; the kernel lets go of the lock when a build dies, however it dies."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.line("another build is running; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_built(directory: Path) -> bool:
    return all((directory / "bin" / command).is_file() for command in COMMANDS)


def build(versions: Versions, cache: Path, progress: Progress) -> Path:
    """The directory of the binaries, which are built unless they are there."""
    target = cache / "kubernetes" / versions.name
    if is_built(target):
        return target / "bin"
    target.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(target.parent / ".lock", progress):
        if is_built(target):
            return target / "bin"
        # Whoever holds the lock is the only builder: an unfinished directory was left by one that was killed.
        for leftover in target.parent.glob(".building-*"):
            shutil.rmtree(leftover)
        free = shutil.disk_usage(target.parent).free
        if free < NEEDED_BYTES:
            megabytes = f"{free >> 20} MB free, {NEEDED_BYTES >> 20} MB needed"
            raise BuildError(f"no room in {cache}: {megabytes}\nmake room, or set GROVE_CACHE_DIR to another disk")
        go = find_go(versions)
        progress.line(f"building Kubernetes {versions.kubernetes} and etcd {versions.etcd} in {target}")
        progress.line("on two cores this takes about seven minutes; half a minute when Go has compiled it before")
        seen: set[str] = set()
        with tempfile.TemporaryDirectory(prefix=".building-", dir=target.parent) as name:
            building = Path(name) / "kubernetes"
            (building / "bin").mkdir(parents=True)
            for command in COMMANDS:
                compile_command(go, command, versions.kubernetes, building / "bin", seen, progress)
            if target.exists():  # someone removed a binary by hand
                shutil.rmtree(target)
            building.rename(target)
    return target / "bin"


def terminated(_signal: int, _frame: object) -> NoReturn:
    """Lets SIGTERM unwind like Ctrl-C, so that go is stopped and the unfinished directory removed."""
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    signal.signal(signal.SIGTERM, terminated)
    progress = Progress(sys.stderr)
    try:
        versions = read_versions((MODULE / "go.mod").read_text())
        directory = build(versions, cache_directory(dict(os.environ)), progress)
    except (BuildError, OSError) as error:
        progress.line(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        progress.line("interrupted; what is compiled stays in Go's own cache")
        return 130
    print(f"Kubernetes {versions.kubernetes} and etcd {versions.etcd} are in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
