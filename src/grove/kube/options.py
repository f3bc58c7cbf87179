"""What requests can be told: query parameters and the options of a deletion, as the API spells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Query: TypeAlias = list[tuple[str, str]]

Selector: TypeAlias = "str | Mapping[str, str]"
"""`app=router,tier!=cache` as it is, or a dict of what must be equal."""

VersionMatch = Literal["", "Exact", "NotOlderThan"]
FieldValidation = Literal["", "Strict", "Warn", "Ignore"]
Propagation = Literal["", "Background", "Foreground", "Orphan"]
PatchForm = Literal["merge", "json", "strategic"]

PATCH_TYPES: Mapping[PatchForm, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
APPLY_TYPE = "application/apply-patch+yaml"


class Preconditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A deletion goes through only if the object is still this one, and unchanged; else it is a Conflict."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The body of a deletion. A server that reads it passes over the same options in the query, also `dryRun`."""

    kind: str = msgspec.field(default_factory=lambda: "DeleteOptions")  # from a factory: never omitted
    api_version: str = msgspec.field(default_factory=lambda: "v1")
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()


def selector_text(selector: Selector) -> str:
    if isinstance(selector, str):
        return selector
    return ",".join(f"{key}={value}" for key, value in selector.items())


def select(labels: Selector, fields: Selector) -> Query:
    return present(labelSelector=selector_text(labels), fieldSelector=selector_text(fields))


def write(*, dry_run: bool, field_validation: str = "", field_manager: str = "") -> Query:
    return present(dryRun="All" if dry_run else "", fieldValidation=field_validation, fieldManager=field_manager)


def delete_options(
    *, propagation: Propagation, grace_period: int | None, dry_run: bool, uid: str = "", resource_version: str = ""
) -> DeleteOptions:
    conditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
    return DeleteOptions(
        grace_period_seconds=grace_period,
        preconditions=conditions if uid or resource_version else None,
        propagation_policy=propagation or None,
        dry_run=("All",) if dry_run else (),
    )


def present(**parameters: Any) -> Query:
    """The parameters that say something."""
    return [(name, _text(value)) for name, value in parameters.items() if value not in ("", None, False)]


def _text(value: object) -> str:
    return "true" if value is True else str(value)
