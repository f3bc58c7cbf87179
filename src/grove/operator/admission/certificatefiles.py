"""Certificates that others supply as files: a mounted Secret of cert-manager, for one.

Files tell nobody when they change, so they are read again and again; what is read is small. A pair that does not fit
together, as in the moment between two writes, is passed over: what was served before stays.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from grove.kube.clock import Clock
from grove.operator.admission import tls
from grove.operator.admission.certificates import Bundle
from grove.operator.admission.certificatesecret import CERTIFICATE, KEY
from grove.operator.admission.served import Served

log = logging.getLogger(__name__)

INTERVAL: Final = 10.0
"""Seconds. The kubelet itself takes up to a minute to bring a changed Secret into a pod."""


class FileCertificates:
    """A runnable: follows `tls.crt` and `tls.key` in a folder."""

    def __init__(self, folder: Path, *, clock: Clock, interval: float = INTERVAL) -> None:
        self.name = "webhook-certificates"
        self.served = Served()
        self._folder = folder
        self._clock = clock
        self._interval = interval

    async def run(self) -> None:
        while True:
            self._look()
            await self._clock.sleep(self._interval)

    def _look(self) -> None:
        try:
            pair = Bundle((self._folder / CERTIFICATE).read_bytes(), (self._folder / KEY).read_bytes())
            if pair != self.served.pair:
                tls.context(pair)
        except OSError as error:
            self._report(f"{error.filename} cannot be read: {error.strerror}; mount the certificate's Secret there")
        except tls.UnusableCertificate as error:
            self._report(f"{self._folder}: {error}")
        else:
            if pair != self.served.pair:
                log.info("webhook certificate read", extra={"folder": str(self._folder)})
            self.served.take(pair)

    def _report(self, problem: str) -> None:
        if problem != self.served.problem:
            log.error("webhook certificate not available", extra={"problem": problem})
        self.served.problem = problem
