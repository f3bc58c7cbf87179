"""The parts of tools/kubernetes/build.py that need no Go."""

import fcntl
import io
from pathlib import Path

import pytest

from grove.testing import binaries
from tools.kubernetes import build
from tools.kubernetes.build import COMMANDS, BuildError, Progress, Versions

GO_MOD = """\
module example

go 1.26.0

require (
	go.etcd.io/etcd/server/v3 v3.6.8
	k8s.io/kubernetes v1.36.3
)

require k8s.io/kubernetes-fork v9.9.9 // indirect
"""

VERSIONS = Versions(kubernetes="1.36.3", etcd="3.6.8", go="1.26.0")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_binaries(directory: Path) -> None:
    directory.mkdir(parents=True)
    for command in COMMANDS:
        (directory / command).touch()


def test_versions_are_read_from_go_mod() -> None:
    assert build.read_versions(GO_MOD) == VERSIONS


def test_the_versions_of_the_real_go_mod_are_new_enough_for_the_tests() -> None:
    versions = build.read_versions((build.MODULE / "go.mod").read_text())
    needed = {"etcd": versions.etcd} | {name: versions.kubernetes for name in COMMANDS if name != "etcd"}
    for name, version in needed.items():
        assert (binaries.parse_version(version) or ()) >= binaries.MINIMUM[name]


def test_a_go_mod_without_kubernetes_is_an_error() -> None:
    with pytest.raises(BuildError, match=r"no version of k8s\.io/kubernetes"):
        build.read_versions("module example\n\ngo 1.26.0\n")


def test_what_is_built_is_what_is_looked_for() -> None:
    assert set(COMMANDS) == set(binaries.MINIMUM)


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"GROVE_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/grove"),
        ({"GROVE_CACHE_DIR": "", "XDG_CACHE_HOME": ""}, "/home/someone/.cache/grove"),
        ({}, "/home/someone/.cache/grove"),
    ],
)
def test_what_is_built_is_put_where_it_is_looked_for(
    environment: dict[str, str], directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert build.cache_directory(environment) == Path(directory)
    assert binaries.cache_directory(environment) == Path(directory)


def test_the_linker_is_told_the_version_for_server_and_client() -> None:
    flags = build.link_flags("1.36.3")
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X {package}.gitVersion=v1.36.3" in flags
        assert f"-X {package}.gitMajor=1" in flags
        assert f"-X {package}.gitMinor=36" in flags


@pytest.mark.parametrize(
    ("found", "older"),
    [("go1.26.8", False), ("go1.25.9", True), ("go1.9", True), ("go2.0", False), ("devel go1.27-abc", False)],
)
def test_go_is_too_old_by_its_numbers(found: str, older: bool) -> None:
    assert build.is_older(found, "1.26.0") is older


def test_a_log_gets_a_line_per_tenth() -> None:
    log = io.StringIO()
    progress = Progress(log)
    progress.start()
    for done in range(1, 41):
        progress.step("etcd", done, 40, "some/package")
    lines = log.getvalue().splitlines()
    assert lines[0] == "etcd: package 4 of 40"
    assert lines[-1] == "etcd: package 40 of 40"
    assert len(lines) == 10


def test_a_terminal_gets_one_line_that_rewrites_itself() -> None:
    terminal = Terminal()
    progress = Progress(terminal)
    progress.step("etcd", 1, 40, "some/package")
    progress.step("etcd", 2, 40, "x" * 1000)
    progress.line("etcd: built")
    drawn = terminal.getvalue().split("\r\033[K")
    assert drawn[1] == "etcd: package 1 of 40: some/package"
    assert len(drawn[2]) < 200
    assert drawn[3] == "etcd: built\n"


def test_what_is_built_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    there = tmp_path / "kubernetes" / "1.36.3-etcd-3.6.8" / "bin"
    make_binaries(there)
    assert build.build(VERSIONS, tmp_path, Progress(io.StringIO())) == there


def test_without_go_the_error_names_the_version_and_the_alternatives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"(?s)Go 1\.26\.0 or newer.*KUBEBUILDER_ASSETS.*1\.36\.3.*3\.6\.8.*PATH"):
        build.build(VERSIONS, tmp_path, Progress(io.StringIO()))
    assert not (tmp_path / "kubernetes" / VERSIONS.name).exists()


def test_an_old_go_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.21.0\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=rf"{go} is go1\.21\.0; building needs Go 1\.26\.0"):
        build.find_go(VERSIONS)


def test_a_failed_build_shows_the_end_of_what_was_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    go.write_text(
        "#!/bin/sh\n"
        "case $1 in env) echo go1.26.8;; list) echo some/package;;\n"
        "build) echo 'write x: no space left on device' >&2; exit 1;; esac\n"
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    cache = tmp_path / "cache"
    with pytest.raises(BuildError, match=r"(?s)failed with code 1.*no space left on device.*the disk is full"):
        build.build(VERSIONS, cache, Progress(io.StringIO()))
    assert {path.name for path in (cache / "kubernetes").iterdir()} == {".lock"}


def test_a_build_appears_whole_and_clears_away_what_a_killed_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_binaries(tmp_path / "kubernetes" / ".building-killed" / "bin")

    def compile_command(go: str, command: str, version: str, into: Path, seen: set[str], progress: Progress) -> None:
        assert not (tmp_path / "kubernetes" / VERSIONS.name).exists()
        (into / command).touch()

    monkeypatch.setattr(build, "find_go", lambda _: "go")
    monkeypatch.setattr(build, "compile_command", compile_command)
    directory = build.build(VERSIONS, tmp_path, Progress(io.StringIO()))
    assert {path.name for path in directory.iterdir()} == set(COMMANDS)
    assert {path.name for path in (tmp_path / "kubernetes").iterdir()} == {".lock", VERSIONS.name}


def test_no_room_is_an_error_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "NEEDED_BYTES", 1 << 60)
    with pytest.raises(BuildError, match="GROVE_CACHE_DIR"):
        build.build(VERSIONS, tmp_path, Progress(io.StringIO()))


def test_two_builds_exclude_each_other(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with build.exclusive(lock, Progress(io.StringIO())), lock.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
