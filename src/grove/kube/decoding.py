"""From the bytes of an answer straight to what the caller asked for: a struct of what it reads, or a plain dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias

import msgspec
from typing_extensions import TypeVar

from grove.api import codec
from grove.api.fields import Struct
from grove.kube.errors import UnexpectedAnswer

T = TypeVar("T", default=dict[str, Any])

JSON: Any = dict[str, Any]
"""The type of an object of which all is wanted. (Any, so that it can be the default of a `type[T]`.)"""

Body: TypeAlias = "Mapping[str, Any] | msgspec.Struct | list[Any] | bytes"
"""What can be sent: a dict, a struct, the operations of a JSON patch, or JSON as it is."""

EventType = Literal["ADDED", "MODIFIED", "DELETED"]

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class ListAnswer(msgspec.Struct, Generic[T]):
    """A list as it comes; an empty one may be null."""

    items: list[T] | None = None
    metadata: ListMeta = ListMeta()


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list, or several put together."""

    items: list[T]
    resource_version: str
    """The version of the whole list, the same on every page: where a watch goes on."""
    next: str = ""
    """What asks for the next page; empty on the last."""
    remaining: int | None = None
    """How many objects follow, where the server says."""


class Event(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """A change of an object."""

    type: EventType
    object: T


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """Nothing has changed up to this version: a watch that goes on may go on from here."""

    resource_version: str
    initial_events_end: bool = False
    """The objects that were there when the watch began have all been sent."""


class _BookmarkMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _BookmarkObject(msgspec.Struct, frozen=True):
    metadata: _BookmarkMeta = _BookmarkMeta()


class _OtherEvent(msgspec.Struct, frozen=True):
    type: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")


class _Head(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""


_HEAD = msgspec.json.Decoder(_Head)
_OTHER = msgspec.json.Decoder(_OtherEvent)
_BOOKMARK = msgspec.json.Decoder(_BookmarkObject)


class Decoders:
    """The decoders of the types that a client was asked for; making one takes longer than using it."""

    def __init__(self) -> None:
        self._made: dict[Any, msgspec.json.Decoder[Any]] = {}

    def object(self, body: bytes, type: type[T], context: str) -> T:
        return _decode(self._decoder(type), body, context)  # type: ignore[no-any-return]

    def page(self, body: bytes, type: type[T], context: str) -> Page[T]:
        answer: ListAnswer[T] = _decode(self._decoder(ListAnswer[type]), body, context)  # type: ignore[valid-type]
        meta = answer.metadata
        return Page(answer.items or [], meta.resource_version, meta.next, meta.remaining_item_count)

    def events(self, type: type[T]) -> msgspec.json.Decoder[Event[T]]:
        """For the usual events: envelope and object in one pass. It refuses bookmarks and errors by their type."""
        return self._decoder(Event[type])  # type: ignore[valid-type]

    def _decoder(self, wanted: Any) -> msgspec.json.Decoder[Any]:
        decoder = self._made.get(wanted)
        if decoder is None:
            decoder = self._made[wanted] = msgspec.json.Decoder(wanted)
        return decoder


def other_event(line: bytes, context: str) -> tuple[str, bytes]:
    """The type of an event that is no change of an object, and the object as JSON."""
    event = _decode(_OTHER, line, context)
    return event.type, bytes(event.object)


def bookmark(body: bytes, context: str) -> Bookmark:
    meta = _decode(_BOOKMARK, body, context).metadata
    return Bookmark(meta.resource_version, (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true")


def is_status(body: bytes) -> bool:
    """Whether an answer is a Status and not an object: a deletion may answer with either."""
    try:
        head = _HEAD.decode(body)
    except msgspec.DecodeError:
        return False
    return head.kind == "Status" and head.api_version == "v1"


def encode(body: Body) -> bytes:
    """The JSON of what is to be sent; Grove's own structs leave out what is absent."""
    if isinstance(body, bytes):
        return body
    return codec.encode_json(body) if isinstance(body, Struct) else msgspec.json.encode(body)


def _decode(decoder: msgspec.json.Decoder[Any], body: bytes, context: str) -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # Of an object nothing is shown: it may be a secret. What is none is a page of something else.
        start = "with {" if body.startswith(b"{") else repr(body[:80].decode(errors="replace"))
        raise UnexpectedAnswer(
            f"{context}: the answer is not what was asked for: {error} (it begins {start})"
        ) from error
