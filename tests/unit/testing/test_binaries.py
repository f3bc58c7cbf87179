from pathlib import Path

import pytest

from grove.testing.binaries import MINIMUM, BinaryError, ask_version, find_binaries, parse_version


def fake(directory: Path, name: str, says: str, code: int = 0) -> Path:
    """An executable that answers any question with the same words."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is found yet."""
    return {"GROVE_CACHE_DIR": str(tmp_path / "cache"), "PATH": str(tmp_path / "path")}


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "kubernetes" / "1.36.3-etcd-3.6.8" / "bin"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Kubernetes v1.36.3", (1, 36, 3)),
        ("etcd Version: 3.6.8\nGit SHA: none\nGo Version: go1.26.8", (3, 6, 8)),
        ("Client Version: v1.36.0-rc.1\nKustomize Version: v5.8.1", (1, 36, 0)),
        ("1.36.3-etcd-3.6.8", (1, 36, 3)),
        ("v10.200.3000", (10, 200, 3000)),
        ("v1.36", None),
        ("", None),
    ],
)
def test_the_first_version_in_a_text_counts(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == version


def test_a_binary_that_fails_or_cannot_run_has_no_version(tmp_path: Path) -> None:
    broken = tmp_path / "not-a-program"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    assert ask_version(broken) is None
    assert ask_version(fake(tmp_path, "etcd", "etcd Version: 3.6.8", code=1)) is None


def test_explicit_assets_come_before_the_cache_and_the_cache_before_path(
    tmp_path: Path, places: dict[str, str], cached: Path
) -> None:
    on_path = fake(tmp_path / "path", "etcd", "etcd Version: 3.7.0")
    assert find_binaries(["etcd"], places) == {"etcd": on_path}
    built = fake(cached, "etcd", "etcd Version: 3.6.8")
    assert find_binaries(["etcd"], places) == {"etcd": built}
    explicit = fake(tmp_path / "assets", "etcd", "etcd Version: 3.6.0")
    assert find_binaries(["etcd"], places | {"KUBEBUILDER_ASSETS": str(explicit.parent)}) == {"etcd": explicit}


def test_the_newest_build_of_the_cache_is_taken_and_an_unfinished_one_never(
    tmp_path: Path, places: dict[str, str]
) -> None:
    builds = tmp_path / "cache" / "kubernetes"
    fake(builds / "1.36.9-etcd-3.6.8" / "bin", "kubectl", "Client Version: v1.36.9")
    newest = fake(builds / "1.36.10-etcd-3.6.8" / "bin", "kubectl", "Client Version: v1.36.10")
    fake(builds / ".building-1.99.0" / "bin", "kubectl", "Client Version: v1.99.0")
    assert find_binaries(["kubectl"], places) == {"kubectl": newest}


def test_a_binary_that_is_too_old_is_passed_over_on_path(tmp_path: Path, places: dict[str, str]) -> None:
    fake(tmp_path / "old", "kubectl", "Client Version: v1.32.4")
    new = fake(tmp_path / "new", "kubectl", "Client Version: v1.36.1")
    path = f"{tmp_path / 'old'}::{tmp_path / 'new'}"
    assert find_binaries(["kubectl"], places | {"PATH": path}) == {"kubectl": new}


def test_explicit_assets_that_are_too_old_are_an_error(tmp_path: Path, places: dict[str, str], cached: Path) -> None:
    fake(cached, "kube-apiserver", "Kubernetes v1.36.3")
    old = fake(tmp_path / "assets", "kube-apiserver", "Kubernetes v1.35.9")
    with pytest.raises(BinaryError, match=rf"KUBEBUILDER_ASSETS: {old} is 1\.35\.9; 1\.36\.0 or newer"):
        find_binaries(["kube-apiserver"], places | {"KUBEBUILDER_ASSETS": str(old.parent)})


def test_what_explicit_assets_lack_is_found_elsewhere(tmp_path: Path, places: dict[str, str], cached: Path) -> None:
    (tmp_path / "assets").mkdir()
    built = fake(cached, "kube-scheduler", "Kubernetes v1.36.3")
    environment = places | {"KUBEBUILDER_ASSETS": str(tmp_path / "assets")}
    assert find_binaries(["kube-scheduler"], environment) == {"kube-scheduler": built}


def test_explicit_assets_that_are_no_directory_are_an_error(tmp_path: Path, places: dict[str, str]) -> None:
    with pytest.raises(BinaryError, match="is not a directory"):
        find_binaries(["etcd"], places | {"KUBEBUILDER_ASSETS": str(tmp_path / "gone")})


def test_one_error_names_all_that_is_missing_and_what_to_do(tmp_path: Path, places: dict[str, str]) -> None:
    old = fake(tmp_path / "path", "kubectl", "Client Version: v1.32.4")
    fake(tmp_path / "path", "etcd", "etcd Version: 3.6.8")
    with pytest.raises(BinaryError) as error:
        find_binaries(environment=places)
    message = str(error.value)
    assert all(f"  {name} 1.36.0 or newer" in message for name in MINIMUM if name != "etcd")
    assert "  etcd" not in message
    assert f"({old} is 1.32.4)" in message
    assert message.endswith("run `make kubernetes` to build all of them")
