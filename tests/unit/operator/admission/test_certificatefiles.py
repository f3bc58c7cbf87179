from __future__ import annotations

from pathlib import Path

from grove.operator.admission.certificatefiles import INTERVAL, FileCertificates
from grove.operator.admission.certificates import Bundle, issue
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.operator.admission.cluster import running


def write(folder: Path, bundle: Bundle) -> None:
    (folder / "tls.crt").write_bytes(bundle.certificate)
    (folder / "tls.key").write_bytes(bundle.key)


def test_files_are_waited_for_and_read_again_when_they_change(tmp_path: Path) -> None:
    async def scene(clock: VirtualClock) -> None:
        files = FileCertificates(tmp_path, clock=clock)
        first, second = issue(["a"], clock.wall()), issue(["a"], clock.wall())
        async with running(files):
            await clock.sleep(1)
            assert files.served.check() == (
                f"certificates are not ready yet: {tmp_path}/tls.crt cannot be read: No such file or directory; mount "
                "the certificate's Secret there"
            )
            write(tmp_path, first)
            await clock.sleep(INTERVAL)
            assert files.served.check() == ""
            assert files.served.pair == Bundle(first.certificate, first.key)
            assert files.served.authorities == b""
            write(tmp_path, second)
            await clock.sleep(INTERVAL)
            assert files.served.pair == Bundle(second.certificate, second.key)

    run(scene)


def test_a_pair_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    async def scene(clock: VirtualClock) -> None:
        files = FileCertificates(tmp_path, clock=clock)
        first, second = issue(["a"], clock.wall()), issue(["a"], clock.wall())
        write(tmp_path, Bundle(first.certificate, second.key))
        async with running(files):
            await clock.sleep(1)
            assert f"not ready yet: {tmp_path}: the certificate and its key are not usable" in files.served.check()
            write(tmp_path, first)
            await clock.sleep(INTERVAL)
            (tmp_path / "tls.crt").write_bytes(second.certificate)
            await clock.sleep(INTERVAL)
            assert files.served.pair == Bundle(first.certificate, first.key)
            assert files.served.check() == ""
            (tmp_path / "tls.key").write_bytes(second.key)
            await clock.sleep(INTERVAL)
            assert files.served.pair == Bundle(second.certificate, second.key)

    run(scene)
