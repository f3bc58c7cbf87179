"""What a field means: for `grove explain`, which also looks inside pod specs, and for the reference page."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from grove.api import schema
from grove.api.fields import JSON, FieldInfo, Struct, fields_of, is_struct, unwrap
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.api.kinds.meta import ObjectMeta

_INTRODUCTION: Final = (
    "Made from the declarations in `src/grove/api/kinds` by `make docs`; do not edit it. `grove explain` prints the "
    "same, and looks into pod specs too. Fields marked *fixed* cannot change once the object exists; *alias for* marks "
    "another spelling that is read and stored as the field named."
)


class Explanation(msgspec.Struct, frozen=True):
    """A field and the fields inside it."""

    path: str
    kind: Kind
    type: str
    doc: str
    facts: tuple[str, ...]
    """Default, bounds and the like, each in a few words."""
    fields: tuple[Explanation, ...]


class UnknownFieldError(LookupError):
    """There is no such kind or field; says what there is."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def explain(dotted: str, *, depth: int = 1) -> Explanation:
    """The explanation of `pcs`, `pcs.spec.template.cliques` and the like, with the fields inside down to `depth`."""
    word, *steps = dotted.split(".")
    kind = catalog.named(word)
    if kind is None:
        known = ", ".join(dict.fromkeys(one for each in catalog.KINDS for one in (each.short_names or (each.name,))))
        raise UnknownFieldError(f"there is no kind {word}", f"use one of {known}")
    node = schema.of_kind(kind)
    required = False
    walked = [word]
    for step in steps:
        properties = _inside(node).get("properties", {})
        if step not in properties:
            close = difflib.get_close_matches(step, properties, n=1, cutoff=0.5)
            here = ".".join(walked)
            remedy = f"did you mean {here}.{close[0]}?" if close else f"see grove explain {here}"
            raise UnknownFieldError(f"{here} has no field {step}", remedy)
        required = step in _inside(node).get("required", ())
        node = properties[step]
        walked.append(step)
    return _explanation(".".join(walked), kind, node, required, depth)


def _explanation(path: str, kind: Kind, node: JSON, required: bool, depth: int) -> Explanation:
    inside = _inside(node)
    needed = inside.get("required", ())
    fields = (
        tuple(
            _explanation(f"{path}.{name}", kind, one, name in needed, depth - 1)
            for name, one in inside.get("properties", {}).items()
        )
        if depth > 0
        else ()
    )
    return Explanation(path, kind, type_text(node), node.get("description", ""), tuple(_facts(node, required)), fields)


def _inside(node: JSON) -> JSON:
    """The object that a field holds: itself, or what its list or map is made of."""
    while "properties" not in node:
        if "items" in node:
            node = node["items"]
        elif isinstance(node.get("additionalProperties"), dict):
            node = node["additionalProperties"]
        else:
            break
    return node


def type_text(node: JSON) -> str:
    """The type in a word: `integer`, `[]object`, `map[string]quantity`."""
    if node.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in node else "integer or string"
    if node.get("type") == "array":
        return f"[]{type_text(node['items'])}"
    if "additionalProperties" in node:
        return f"map[string]{type_text(node['additionalProperties'])}"
    if node.get("pattern") == schema.DURATION_PATTERN:
        return "duration"
    return str(node.get("type", "any"))


def _facts(node: JSON, required: bool) -> Iterator[str]:
    if required and "default" not in node:
        yield "required"
    if "default" in node:
        yield f"default {node['default']!r}" if isinstance(node["default"], str) else f"default {node['default']}"
    if "enum" in node:
        yield f"one of {', '.join(map(str, node['enum']))}"
    for key, words in (
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "at least so many characters:"),
        ("maxLength", "at most so many characters:"),
        ("minItems", "at least so many entries:"),
    ):
        if key in node:
            yield f"{words} {node[key]}"


def markdown() -> str:
    """The reference page of all kinds."""
    lines = [
        "# API reference",
        "",
        _INTRODUCTION,
        "",
    ]
    lines += [f"- [{kind.name}](#{anchor(kind)}) `{kind.api_version}`" for kind in catalog.KINDS]
    for kind in catalog.KINDS:
        lines += ["", f'<a id="{anchor(kind)}"></a>', f"## {kind.name} (`{kind.api_version}`)", ""]
        lines += [schema.documentation(kind.struct), ""]
        lines += [_served_text(kind), "", "| Field | Type | | Meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{path}` | {type_} | {facts} | {meaning} |" for path, type_, facts, meaning in _rows(kind.struct, "")
        ]
    return "\n".join(lines) + "\n"


def anchor(kind: Kind) -> str:
    """The anchor of a kind on the reference page."""
    return kind.crd_name.replace(".", "-") if kind.served else kind.name.lower()


def _served_text(kind: Kind) -> str:
    if not kind.served:
        return "A file, not an object of a cluster."
    short = f", short `{', '.join(kind.short_names)}`" if kind.short_names else ""
    scale = ", can be scaled" if kind.scale else ""
    return f"`{kind.crd_name}`{short}; {kind.scope.lower()}{scale}."


def _rows(struct: type[Struct], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for info in fields_of(struct):
        if info.type is ObjectMeta or (not prefix and info.json_name in ("apiVersion", "kind")):
            continue
        path = f"{prefix}{info.json_name}"
        inner, suffix = _inner(info)
        node = schema.of_field(info)
        kubernetes = _kubernetes_type(info)
        type_ = f"{type_text(node)} ({kubernetes})" if kubernetes else type_text(node)
        yield path, type_, ", ".join(_marks(info, node)), info.declared.doc or schema.documentation(struct)
        if inner is not None:
            yield from _rows(inner, f"{path}{suffix}.")


def _marks(info: FieldInfo, node: JSON) -> Iterator[str]:
    yield from _facts(node, info.required)
    if info.declared.immutable:
        yield "*fixed*"
    if info.declared.alias_for:
        yield f"alias for `{info.declared.alias_for}`"


def _inner(info: FieldInfo) -> tuple[type[Struct] | None, str]:
    bare: Any = info.type
    suffix = ""
    if typing.get_origin(bare) is tuple:
        bare, suffix = unwrap(typing.get_args(bare)[0])[0], "[]"
    return (bare, suffix) if is_struct(bare) else (None, "")


def _kubernetes_type(info: FieldInfo) -> str:
    declared, bare = info.declared, info.type
    if typing.get_origin(bare) is tuple:
        _, declared = unwrap(typing.get_args(bare)[0])
    return (declared.embeds or "").rpartition(".")[2] if declared.embeds else ""
