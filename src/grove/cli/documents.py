"""Manifests with the place of every value: YAML and JSON, read the way Kubernetes reads them.

Kubernetes turns YAML into JSON: timestamps stay text, `yes` and `on` are true, keys may not be said twice, `---`
separates documents, and a List stands for its items.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path as FilePath
from typing import Any, Final

import msgspec
import yaml

from grove.api.errors import Path
from grove.api.fields import JSON

STDIN: Final = "-"
SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
MAX_NODES: Final = 250_000
"""Beyond it a document is refused: aliases of aliases can make a small file endless."""

_MERGE: Final = "tag:yaml.org,2002:merge"


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in a file, counted from one."""

    line: int
    column: int


class SyntaxProblem(msgspec.Struct, frozen=True):
    """Why a text is not a manifest."""

    position: Position
    detail: str
    remedy: str


class Document(msgspec.Struct, frozen=True):
    """One object of a file."""

    source: str
    tree: JSON
    positions: dict[Path, Position]
    start: Position
    problems: tuple[SyntaxProblem, ...] = ()

    def position_of(self, path: Path) -> Position:
        """Where the path stands, or the nearest thing around it that stands in the file."""
        return next((self.positions[one] for one in path.parents() if one in self.positions), self.start)


class UnreadableError(Exception):
    """A file can't be read."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"cannot read {source}: {reason}")


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """YAML as Kubernetes resolves it: no timestamps, no base-60 numbers, exponents without a dot."""


_UNWANTED: Final = frozenset({"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _UNWANTED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+([eE][-+]?[0-9]+)?)$"),
    list("-+0123456789."),
)


def find(arguments: Iterable[str]) -> Iterator[str]:
    """The files that the arguments mean: themselves, those in folders and below, `-` for standard input."""
    for argument in arguments:
        path = FilePath(argument)
        if argument == STDIN or not path.is_dir():
            yield argument
            continue
        found = sorted(one for one in path.rglob("*") if one.suffix in SUFFIXES and one.is_file())
        if not found:
            raise UnreadableError(argument, "there are no .yaml, .yml or .json files in this folder")
        yield from map(str, found)


def read(source: str) -> list[Document]:
    """The documents of a file."""
    try:
        text = sys.stdin.read() if source == STDIN else FilePath(source).read_text(encoding="utf-8")
    except OSError as error:
        raise UnreadableError(source, (error.strerror or str(error)).lower()) from error
    except UnicodeDecodeError as error:
        raise UnreadableError(source, "it is not UTF-8 text") from error
    return parse(text, "<stdin>" if source == STDIN else source)


def parse(text: str, source: str) -> list[Document]:
    """The documents of a text."""
    documents: list[Document] = []
    loader = _Loader(text)
    try:
        while loader.check_node():
            documents.extend(_document(loader, loader.get_node(), source))
    except yaml.YAMLError as error:
        documents.append(_broken(error, source))
    finally:
        loader.dispose()
    return documents


def _broken(error: yaml.YAMLError, source: str) -> Document:
    mark = getattr(error, "problem_mark", None)
    position = _position(mark) if mark is not None else Position(1, 1)
    detail = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    problem = SyntaxProblem(position, f"{context}: {detail}" if context else detail, "correct the YAML here")
    return Document(source, {}, {}, position, (problem,))


def _document(loader: Any, node: yaml.Node, source: str) -> Iterator[Document]:
    if isinstance(node, yaml.ScalarNode) and not node.value:
        return  # nothing between two separators
    reader = _Reader(loader)
    tree = reader.value(node, Path())
    start = _position(node.start_mark)
    problems = tuple(reader.problems)
    if not isinstance(tree, dict):
        problems += (SyntaxProblem(start, "a manifest is an object: apiVersion, kind, metadata …", "write one"),)
        yield Document(source, {}, reader.positions, start, problems)
        return
    items = tree.get("items")
    if tree.get("kind") == "List" and isinstance(items, list):
        yield from _items(items, reader, start, source)
        return
    yield Document(source, tree, reader.positions, start, problems)


def _items(items: list[Any], reader: _Reader, start: Position, source: str) -> Iterator[Document]:
    for number, item in enumerate(items):
        prefix = ("items", number)
        positions = {
            Path(path.steps[2:]): position for path, position in reader.positions.items() if path.steps[:2] == prefix
        }
        problems = tuple(reader.problems) if number == 0 else ()
        yield Document(
            source, item if isinstance(item, dict) else {}, positions, positions.get(Path(), start), problems
        )


class _Reader:
    """Turns nodes into plain values and notes where each stands."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._left = MAX_NODES
        self.positions: dict[Path, Position] = {}
        self.problems: list[SyntaxProblem] = []

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._left -= 1
        if self._left < 0:
            raise yaml.constructor.ConstructorError(
                None, None, "the document is too large once its aliases are written out", node.start_mark
            )
        self.positions.setdefault(path, _position(node.start_mark))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, path.index(number)) for number, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> JSON:
        self._check_duplicates(node, path)
        if any(key.tag == _MERGE for key, _ in node.value):
            self._loader.flatten_mapping(node)
        tree: JSON = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node.value)
            # The place of a field is its key: that is what the eye looks for.
            self.positions[path.field(key)] = _position(key_node.start_mark)
            tree[key] = self.value(value_node, path.field(key))
        return tree

    def _check_duplicates(self, node: yaml.MappingNode, path: Path) -> None:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = str(key_node.value)
            if key in seen and key_node.tag != _MERGE:
                self.problems.append(
                    SyntaxProblem(
                        _position(key_node.start_mark),
                        f"{path.field(key)}: the key is there twice",
                        "keep one of the two",
                    )
                )
            seen.add(key)

    def _scalar(self, node: yaml.Node) -> Any:
        value = self._loader.construct_object(node, deep=True)
        if isinstance(value, bool | int | str) or value is None:
            return value
        if isinstance(value, float):
            return int(value) if value.is_integer() else value
        return str(node.value)


def _position(mark: yaml.Mark) -> Position:
    return Position(mark.line + 1, mark.column + 1)
