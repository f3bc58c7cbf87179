"""The operator's configuration, as commands read it from a file."""

from __future__ import annotations

from grove.api import admission
from grove.api.errors import FieldWarning, Problems
from grove.api.kinds import catalog
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.cli import documents
from grove.cli.failure import Failure


def read(path: str) -> OperatorConfiguration:
    """The configuration in a file. Raises Failure."""
    return read_with_warnings(path)[0]


def read_with_warnings(path: str) -> tuple[OperatorConfiguration, list[FieldWarning]]:
    """The same, with what is passed over in it."""
    try:
        found = documents.read(path)
    except documents.UnreadableError as error:
        raise Failure(str(error), "check the path, or pass - to read standard input") from error
    for one in found:
        if one.problems or admission.kind_of(one.tree) is not catalog.OPERATOR_CONFIGURATION:
            continue
        problems = Problems()
        configuration = admission.operator_configuration(one.tree, problems)
        if configuration is None or problems.errors:
            first = problems.errors[0]
            raise Failure(f"{path}: {first}", first.remedy)
        return configuration, problems.warnings
    raise Failure(f"{path} holds no OperatorConfiguration", "pass the file that the operator is started with")
