"""The syntax of the expressions that choose devices: a part of CEL. Pure.

What a cluster's drivers and users write is short: comparisons of attributes and capacities, joined by and, or, not.
Everything else is refused by name, so that no device is ever chosen by an expression that was half understood.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias


class Unsupported(ValueError):
    """The expression is none that Grove understands; says what of it."""


class Literal(NamedTuple):
    value: str | int | bool


class Name(NamedTuple):
    name: str


class Field(NamedTuple):
    """`of.name`"""

    of: Node
    name: str


class Index(NamedTuple):
    """`of[key]`"""

    of: Node
    key: Node


class Call(NamedTuple):
    """`name(arguments)`, or `of.name(arguments)`"""

    of: Node | None
    name: str
    arguments: tuple[Node, ...]


class Listed(NamedTuple):
    """`[items]`"""

    items: tuple[Node, ...]


class Operation(NamedTuple):
    """`!`, `&&`, `||`, `?`, or a comparison."""

    operator: str
    operands: tuple[Node, ...]


Node: TypeAlias = "Literal | Name | Field | Index | Call | Listed | Operation"

DEEPEST: Final = 64
COMPARISONS: Final = ("==", "!=", "<=", ">=", "<", ">", "in")
_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<raw>[rR](?:"[^"\n]*"|'[^'\n]*'))
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>-?[0-9]+(?![0-9.eExXuU]))
      | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
      | (?P<sign>==|!=|<=|>=|&&|\|\||[<>!?:.,()\[\]])
    )""",
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "`": "`", "?": "?"}


class Read(NamedTuple):
    """An attribute or capacity of a device that an expression looks at."""

    table: str
    domain: str
    name: str


class _Token(NamedTuple):
    kind: str
    text: str


def parse(expression: str) -> Node:
    """Raises Unsupported."""
    reader = _Parser(_tokens(expression))
    found = reader.expression()
    if reader.next.kind != "end":
        raise Unsupported(f"`{reader.next.text}` after a whole expression")
    return found


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unsupported(f"`{text[at:].strip()[:20]}` in it")
        kind = match.lastgroup or ""
        found.append(_Token(kind, match[kind]))
        at = match.end()
    return found


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = [*tokens, _Token("end", "")]
        self._at = 0
        self._depth = 0

    @property
    def next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> str:
        """The next token, if it is one of these signs or words."""
        token = self.next
        if token.kind in ("sign", "name") and token.text in texts:
            self._at += 1
            return token.text
        return ""

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise Unsupported(f"`{self.next.text}` where `{text}` should be")

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unsupported("expressions nested so deep")
        found = self._joined("||")
        if self._take("?"):
            yes = self.expression()
            self._need(":")
            found = Operation("?", (found, yes, self.expression()))
        self._depth -= 1
        return found

    def _joined(self, operator: str) -> Node:
        parts = [self._joined("&&") if operator == "||" else self._comparison()]
        while self._take(operator):
            parts.append(self._joined("&&") if operator == "||" else self._comparison())
        return parts[0] if len(parts) == 1 else Operation(operator, tuple(parts))

    def _comparison(self) -> Node:
        found = self._unary()
        while operator := self._take(*COMPARISONS):
            found = Operation(operator, (found, self._unary()))
        return found

    def _unary(self) -> Node:
        turns = 0
        while self._take("!"):
            turns += 1
        found = self._member()
        for _ in range(2 - turns % 2 if turns else 0):  # two say what a hundred say
            found = Operation("!", (found,))
        return found

    def _member(self) -> Node:
        found = self._primary()
        while sign := self._take(".", "["):
            if sign == "[":
                found = Index(found, self.expression())
                self._need("]")
                continue
            name = self.next
            if name.kind != "name":
                raise Unsupported(f"`.{name.text}`")
            self._at += 1
            found = Call(found, name.text, self._arguments()) if self._take("(") else Field(found, name.text)
        return found

    def _primary(self) -> Node:
        token = self.next
        self._at += 1
        match token.kind:
            case "string":
                return Literal(_unescaped(token.text[1:-1]))
            case "raw":
                return Literal(token.text[2:-1])
            case "number":
                return Literal(int(token.text))
            case "name" if token.text in ("true", "false"):
                return Literal(token.text == "true")
            case "name":
                return Call(None, token.text, self._arguments()) if self._take("(") else Name(token.text)
            case "sign" if token.text == "(":
                found = self.expression()
                self._need(")")
                return found
            case "sign" if token.text == "[":
                return Listed(self._items("]"))
        raise Unsupported(f"`{token.text}`" if token.text else "an end where more should follow")

    def _arguments(self) -> tuple[Node, ...]:
        return self._items(")")

    def _items(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(end):
            if found:
                self._need(",")
            found.append(self.expression())
        return tuple(found)


def _unescaped(text: str) -> str:
    parts = text.split("\\")
    # Between two backslashes that stand together is an empty part: the second is what was escaped.
    found, escapes = [parts[0]], iter(parts[1:])
    for part in escapes:
        if not part:
            found.append("\\" + next(escapes, ""))
        elif part[0] in _ESCAPES:
            found.append(_ESCAPES[part[0]] + part[1:])
        else:
            raise Unsupported(f"`\\{part[0]}` in a text")
    return "".join(found)


def reads(node: Node) -> frozenset[Read] | None:
    """What of a device, beside its driver, an expression looks at; None: that does not show."""
    match node:
        case Literal() | Field(Name("device"), "driver"):
            return frozenset()
        case Field(Index(Field(Name("device"), table), Literal(str(domain))), name):
            return frozenset({Read(table, domain, name)})
        case Index(Index(Field(Name("device"), table), Literal(str(domain))), Literal(str(name))):
            return frozenset({Read(table, domain, name)})
        case Operation("in", (Literal(str(name)), Index(Field(Name("device"), table), Literal(str(domain))))):
            return frozenset({Read(table, domain, name)})
        case Operation(_, parts) | Listed(parts) | Call(None, _, parts):
            return _all(parts)
        case Call(of, name, parts) if of is not None and (of, name) != (Name("cel"), "bind"):
            return _all((of, *parts))
    return None


def _all(parts: tuple[Node, ...]) -> frozenset[Read] | None:
    found: frozenset[Read] = frozenset()
    for part in parts:
        one = reads(part)
        if one is None:
            return None
        found |= one
    return found
