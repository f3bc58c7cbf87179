import tempfile
from pathlib import Path

import pytest

from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane


def test_a_start_without_binaries_names_those_that_are_needed_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("GROVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(BinaryError) as error:
        ControlPlane.start(controller_manager=False)
    assert "kube-apiserver" in str(error.value)
    assert "kube-controller-manager" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
