"""Which devices an expression chooses: a part of CEL, as kube-scheduler evaluates it. Pure.

Known are `device.driver`, `device.attributes["domain"].name` and `device.capacity["domain"].name`; texts, whole
numbers, truth values, `quantity(…)` and `semver(…)`; `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `&&`, `||`, `!`, `? :`;
`has(…)` and `cel.bind(…)`; `startsWith`, `endsWith`, `contains`; `compareTo`, `isGreaterThan` and `isLessThan`.

As in CEL an error in one operand of `&&` and `||` is of no account where the other decides.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from grove.api import quantities
from grove.scheduler.celsyntax import (
    Call,
    Field,
    Index,
    Listed,
    Literal,
    Name,
    Node,
    Operation,
    Unsupported,
    parse,
    reads,
)
from grove.scheduler.devices import Attribute, Device

__all__ = ["EvaluationError", "Selector", "Unsupported", "compiled"]


class EvaluationError(ValueError):
    """The expression has no value for this device: it speaks of what the device has not."""


class Quantity(NamedTuple):
    nano: int


@functools.total_ordering
class Version:
    """A semantic version; what was built of it does not matter."""

    def __init__(self, text: str) -> None:
        match = _VERSION.fullmatch(text)
        if match is None:
            raise EvaluationError(f'"{text}" is no version')
        self._numbers = tuple(int(part) for part in match.group(1, 2, 3))
        before = match[4]
        # A version without a part after a dash comes after all that have one; numbers come before words.
        parts = (_part(one) for one in before.split(".")) if before else ()
        self._before = (not before, *parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self._numbers, self._before


def _part(text: str) -> tuple[bool, int, str]:
    return (False, int(text), "") if text.isdigit() else (True, 0, text)


_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)

Value: TypeAlias = "str | int | bool | Quantity | Version | tuple[Value, ...] | Mapping[str, Value]"
Scope: TypeAlias = Mapping[str, Value]
Run: TypeAlias = Callable[[Scope], Value]


class Selector:
    """A compiled expression."""

    def __init__(self, expression: str) -> None:
        try:
            self._run = _compiled(parse(expression), frozenset({"device"}))
        except Unsupported as error:
            raise Unsupported(f"the expression `{expression}` has {error}, which Grove does not know") from None
        self._expression = expression
        self.reads = reads(parse(expression))
        """All that the answer depends on beside the driver; None: it may be anything of the device."""

    def chooses(self, driver: str, device: Device) -> bool:
        """Raises EvaluationError."""
        found = self._run({"device": _seen(driver, device)})
        if not isinstance(found, bool):
            raise EvaluationError(f"`{self._expression}` is neither true nor false")
        return found


@functools.lru_cache(maxsize=1024)
def compiled(expression: str) -> Selector:
    """Raises Unsupported."""
    return Selector(expression)


def _seen(driver: str, device: Device) -> Value:
    attributes: dict[str, dict[str, Value]] = {}
    for name, attribute in (device.attributes or {}).items():
        domain, _, own = name.rpartition("/")
        value = _value(attribute)
        if value is not None:
            attributes.setdefault(domain or driver, {})[own] = value
    capacity: dict[str, dict[str, Value]] = {}
    for name, found in (device.capacity or {}).items():
        domain, _, own = name.rpartition("/")
        capacity.setdefault(domain or driver, {})[own] = Quantity(quantities.nano(found.value))
    return {"driver": driver, "attributes": _Domains(attributes), "capacity": _Domains(capacity)}


def _value(attribute: Attribute) -> Value | None:
    """None: it is of a kind that came after us."""
    for found in (attribute.int_, attribute.bool_, attribute.string):
        if found is not None:
            return found
    return None if attribute.version is None else Version(attribute.version)


class _Domains(dict[str, "dict[str, Value]"]):
    """A domain that nobody has spoken of has nothing in it."""

    def __missing__(self, key: str) -> dict[str, Value]:
        return {}


# From syntax to functions


def _compiled(node: Node, known: frozenset[str]) -> Run:
    match node:
        case Literal(value):
            return lambda _: value
        case Name(name):
            if name not in known:
                raise Unsupported(f"the name `{name}`")
            return lambda scope: scope[name]
        case Field(of, name):
            return _looked_up(_compiled(of, known), lambda _: name)
        case Index(of, key):
            return _looked_up(_compiled(of, known), _compiled(key, known))
        case Listed(items):
            runs = [_compiled(item, known) for item in items]
            return lambda scope: tuple(run(scope) for run in runs)
        case Operation(operator, operands):
            return _operation(operator, [_compiled(one, known) for one in operands])
    return _call(node, known)


def _looked_up(of: Run, key: Run) -> Run:
    def run(scope: Scope) -> Value:
        found, name = of(scope), key(scope)
        if not isinstance(found, Mapping) or not isinstance(name, str):
            raise EvaluationError(f"`{name}` is looked for where nothing has a name")
        try:
            return found[name]
        except KeyError:
            raise EvaluationError(f"there is no `{name}`") from None

    return run


def _operation(operator: str, operands: list[Run]) -> Run:
    match operator:
        case "&&":
            return lambda scope: _joined(operands, scope, decides=False)
        case "||":
            return lambda scope: _joined(operands, scope, decides=True)
        case "!":
            return lambda scope: not _truth(operands[0](scope))
        case "?":
            return lambda scope: operands[1](scope) if _truth(operands[0](scope)) else operands[2](scope)
        case "==":
            return lambda scope: _equal(operands[0](scope), operands[1](scope))
        case "!=":
            return lambda scope: not _equal(operands[0](scope), operands[1](scope))
        case "in":
            return lambda scope: _is_in(operands[0](scope), operands[1](scope))
    return lambda scope: _ORDER[operator](_compared(operands[0](scope), operands[1](scope)))


_ORDER: Final[Mapping[str, Callable[[int], bool]]] = {
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


def _joined(operands: list[Run], scope: Scope, *, decides: bool) -> bool:
    error: EvaluationError | None = None
    for operand in operands:
        try:
            if _truth(operand(scope)) == decides:
                return decides
        except EvaluationError as one:
            error = error or one
    if error is not None:
        raise error
    return not decides


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError("what is neither true nor false is asked whether it is")
    return value


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple) and type(one) is type(other) is tuple:
        return len(one) == len(other) and all(map(_equal, one, other))
    return type(one) is type(other) and one == other


def _is_in(one: Value, others: Value) -> bool:
    if isinstance(others, Mapping):
        return one in others
    if type(others) is tuple:
        return any(_equal(one, other) for other in others)
    raise EvaluationError("`in` is asked of what has nothing in it")


def _compared(one: Value, other: Value) -> int:
    if type(one) is not type(other) or isinstance(one, Mapping) or type(one) is tuple:
        raise EvaluationError("things of different kinds are compared")
    return (one > other) - (one < other)  # type: ignore[operator]


# Functions


def _call(node: Call, known: frozenset[str]) -> Run:
    match node:
        case Call(None, "has", (Field(of, name),)):
            within = _compiled(of, known)
            return lambda scope: _is_in(name, within(scope))
        case Call(Name("cel"), "bind", (Name(name), value, then)):
            bound, run = _compiled(value, known), _compiled(then, known | {name})
            return lambda scope: run({**scope, name: bound(scope)})
        case Call(None, name, (argument,)) if name in _MAKES:
            return _made(_MAKES[name], _compiled(argument, known))
        case Call(of, name, (argument,)) if of is not None and name in _METHODS:
            subject, operand, method = _compiled(of, known), _compiled(argument, known), _METHODS[name]
            return lambda scope: method(subject(scope), operand(scope))
    raise Unsupported(f"the function `{node.name}` of {len(node.arguments)} arguments")


def _made(make: Callable[[str], Value], argument: Run) -> Run:
    def run(scope: Scope) -> Value:
        text = argument(scope)
        if not isinstance(text, str):
            raise EvaluationError("a quantity or a version is made of a text")
        return make(text)

    return run


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(quantities.nano(text))
    except quantities.InvalidQuantity as error:
        raise EvaluationError(str(error)) from error


_MAKES: Final[Mapping[str, Callable[[str], Value]]] = {"quantity": _quantity, "semver": Version}


def _of_amounts(compare: Callable[[int], Value]) -> Callable[[Value, Value], Value]:
    def run(one: Value, other: Value) -> Value:
        if not isinstance(one, Quantity | Version):
            raise EvaluationError("only quantities and versions are compared by that function")
        return compare(_compared(one, other))

    return run


def _of_texts(judge: Callable[[str, str], bool]) -> Callable[[Value, Value], Value]:
    def run(one: Value, other: Value) -> Value:
        if not isinstance(one, str) or not isinstance(other, str):
            raise EvaluationError("only texts begin, end or contain texts")
        return judge(one, other)

    return run


_METHODS: Final[Mapping[str, Callable[[Value, Value], Value]]] = {
    "compareTo": _of_amounts(lambda sign: sign),
    "isGreaterThan": _of_amounts(lambda sign: sign > 0),
    "isLessThan": _of_amounts(lambda sign: sign < 0),
    "startsWith": _of_texts(str.startswith),
    "endsWith": _of_texts(str.endswith),
    "contains": _of_texts(lambda one, other: other in one),
}
