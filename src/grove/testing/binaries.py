"""Finds the binaries of a Kubernetes control plane: in $KUBEBUILDER_ASSETS, in Grove's cache, on PATH, in this order.

The cache and PATH are searched for a version that is new enough, and others are passed over: a laptop's old kubectl
must not decide what the tests test. $KUBEBUILDER_ASSETS is the user's explicit word: what lies there is taken, and if
it is too old that is an error, not a silent choice of something else. What is not there (envtest has no controller
manager) is searched for in the other places.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Version = tuple[int, int, int]

# The API server that Grove is written against, and the first etcd that it may ask for the progress of a watch.
MINIMUM: Mapping[str, Version] = {
    "etcd": (3, 6, 0),
    "kube-apiserver": (1, 36, 0),
    "kube-controller-manager": (1, 36, 0),
    "kube-scheduler": (1, 36, 0),
    "kubectl": (1, 36, 0),
}


class BinaryError(Exception):
    """A binary is missing or too old; the message names each, and what to do."""


@dataclass(frozen=True)
class Place:
    """A directory that may hold binaries; `explicit` when the user named it for this purpose."""

    directory: Path
    explicit: bool = False


def find_binaries(
    names: Sequence[str] = tuple(MINIMUM), environment: Mapping[str, str] = os.environ
) -> dict[str, Path]:
    """Where each binary is; one error for all that are not found."""
    places = list(search_places(environment))
    found: dict[str, Path] = {}
    missing: list[str] = []
    for name in names:
        passed_over: list[str] = []
        path = find_binary(name, places, passed_over)
        if path is None:
            missing.append(f"  {name} {version_text(MINIMUM[name])} or newer" + "".join(passed_over))
        else:
            found[name] = path
    if missing:
        searched = "$KUBEBUILDER_ASSETS, Grove's cache and PATH"
        raise BinaryError(
            f"not found in {searched}:\n" + "\n".join(missing) + "\nrun `make kubernetes` to build all of them"
        )
    return found


def find_binary(name: str, places: Sequence[Place], passed_over: list[str]) -> Path | None:
    """The first that will do; what was there but would not is added to `passed_over`, for the error message."""
    for place in places:
        path = place.directory / name
        if not (path.is_file() and os.access(path, os.X_OK)):
            continue
        version = ask_version(path)
        if version is not None and version >= MINIMUM[name]:
            return path
        said = "does not say its version" if version is None else f"is {version_text(version)}"
        if place.explicit:
            raise BinaryError(
                f"KUBEBUILDER_ASSETS: {path} {said}; {version_text(MINIMUM[name])} or newer is needed\n"
                "point it at newer binaries, or unset it and run `make kubernetes`"
            )
        passed_over.append(f" ({path} {said})")
    return None


def search_places(environment: Mapping[str, str]) -> Iterator[Place]:
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        if not Path(assets).is_dir():
            raise BinaryError(f"KUBEBUILDER_ASSETS: {assets} is not a directory; correct it, or unset it")
        yield Place(Path(assets).absolute(), explicit=True)
    built = cache_directory(environment) / "kubernetes"
    if built.is_dir():
        for directory in sorted(built.iterdir(), key=lambda path: parse_version(path.name) or (0, 0, 0), reverse=True):
            if not directory.name.startswith("."):  # a build that is going on, or was killed
                yield Place(directory / "bin")
    for entry in environment.get("PATH", os.defpath).split(os.pathsep):
        if entry:
            yield Place(Path(entry).absolute())


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where `make kubernetes` puts what it builds: the rule of tools/kubernetes/build.py."""
    if own := environment.get("GROVE_CACHE_DIR"):
        return Path(own)
    base = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "grove"


def ask_version(path: Path) -> Version | None:
    """What the binary says of itself; None if it cannot be run or says something else."""
    question = ["version", "--client"] if path.name == "kubectl" else ["--version"]
    try:
        answer = subprocess.run([path, *question], capture_output=True, text=True, errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stdout) if answer.returncode == 0 else None


def parse_version(text: str) -> Version | None:
    """The first `1.2.3` in a text, however it is dressed up: `Kubernetes v1.36.3`, `etcd Version: 3.6.8`."""
    match = re.search(r"(?<![\d.])(\d+)\.(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def version_text(version: Version) -> str:
    return ".".join(map(str, version))
