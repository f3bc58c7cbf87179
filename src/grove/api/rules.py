"""The rules that structs declare (in the CRD: CEL), checked on a tree in Python."""

from __future__ import annotations

import typing
from typing import Any

from grove.api.errors import FieldError, Path, Problems, Reason
from grove.api.fields import JSON, Field, Rule, Struct, fields_of, is_struct, unwrap


def check(tree: JSON, struct: type[Struct], path: Path, problems: Problems, *, is_update: bool = False) -> None:
    """Reports every rule of the struct, and of the structs inside it, that the tree breaks."""
    for rule in struct.RULES:
        if not (rule.on_create_only and is_update) and not rule.holds(tree):
            problems.errors.append(_broken(rule, tree, path))
    for info in fields_of(struct):
        if info.json_name in tree:
            _check_value(
                tree[info.json_name], info.type, info.declared, path.field(info.json_name), problems, is_update
            )


def _check_value(value: Any, bare: Any, declared: Field, path: Path, problems: Problems, is_update: bool) -> None:
    if declared.embeds is not None:
        return
    if is_struct(bare) and isinstance(value, dict):
        check(value, bare, path, problems, is_update=is_update)
    elif typing.get_origin(bare) is tuple and isinstance(value, list):
        item_type, item_declared = unwrap(typing.get_args(bare)[0])
        for position, item in enumerate(value):
            _check_value(item, item_type, item_declared, path.index(position), problems, is_update)


def _broken(rule: Rule, tree: JSON, path: Path) -> FieldError:
    steps = tuple(step for step in rule.field_path.split(".") if step)
    value: Any = tree
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return FieldError(path.field(*steps), Reason(rule.reason), rule.message, rule.remedy, value)
