"""The configurations of Grove's programs, as commands read them from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from grove.api import admission
from grove.api.errors import FieldWarning, Problems
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.cli import documents
from grove.cli.failure import Failure

T = TypeVar("T")


def read(path: str) -> OperatorConfiguration:
    """The operator's configuration in a file. Raises Failure."""
    return read_with_warnings(path)[0]


def read_with_warnings(path: str) -> tuple[OperatorConfiguration, list[FieldWarning]]:
    """The same, with what is passed over in it."""
    return _read(path, catalog.OPERATOR_CONFIGURATION, admission.operator_configuration, "operator")


def of_scheduler(path: str) -> tuple[SchedulerConfiguration, list[FieldWarning]]:
    """The scheduler's configuration in a file, with what is passed over in it. Raises Failure."""
    return _read(path, catalog.SCHEDULER_CONFIGURATION, admission.scheduler_configuration, "scheduler")


def _read(
    path: str, kind: Kind, decode: Callable[[JSON, Problems], T | None], program: str
) -> tuple[T, list[FieldWarning]]:
    try:
        found = documents.read(path)
    except documents.UnreadableError as error:
        raise Failure(str(error), "check the path, or pass - to read standard input") from error
    for one in found:
        if one.problems or admission.kind_of(one.tree) is not kind:
            continue
        problems = Problems()
        configuration = decode(one.tree, problems)
        if configuration is None or problems.errors:
            first = problems.errors[0]
            raise Failure(f"{path}: {first}", first.remedy)
        return configuration, problems.warnings
    raise Failure(f"{path} holds no {kind.name}", f"pass the file that the {program} is started with")
