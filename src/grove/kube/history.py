"""What a store knows of the past, to tell news from echoes: which of two versions is newer, and who is dead.

`Ordered` compares resource versions as integers. A resource version is the revision of etcd at which the object was
written, one counter for the whole store: of two objects of one resource, the one with the greater number was written
later, also if one is a later incarnation of the name. Kubernetes promises that since 1.35 for every resource it serves
(KEP-5504, and conformance tests it); it holds only within one resource, since each may have an etcd of its own. API
servers that others build may use any text: for them there is `Opaque`, which compares for equality only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Protocol, TypeVar

V = TypeVar("V")

GRAVES: Final = 65_536
"""So many deletions are remembered; beyond, the oldest are forgotten. Only a server without bookmarks gets there."""


def number(version: str) -> int | None:
    """A resource version as Kubernetes writes one, or None: a positive decimal integer without leading zeros."""
    return int(version) if version.isascii() and version.isdigit() and version[0] != "0" else None


def are_numbers(versions: Sequence[str]) -> bool:
    """Whether `number` knows all of them; all at once, since there may be many."""
    digits = "".join(versions)
    return not versions or (digits.isascii() and digits.isdigit() and min(versions) >= "1")


class History(Protocol):
    """Judges what arrives against what is held under the same name. `held` is a version, None for nothing."""

    @property
    def graves(self) -> int:
        """How many deletions are remembered."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing of the past is known: then everything is news."""

    def is_news(self, uid: str, version: str, held: str | None) -> bool:
        """Whether a version that a watch delivered is newer than what is known."""

    def is_news_written(self, uid: str, version: str, held: str | None) -> bool:
        """The same of a version that a write of our own returned."""

    def is_news_listed(self, uid: str, version: str, held: str | None, revision: str) -> bool:
        """The same of a version in a list of that revision."""

    def is_gone(self, uid: str, version: str, held: str, held_uid: str) -> bool:
        """Whether the deletion of `uid` at `version` means that what is held under its name is gone."""

    def is_gone_from_list(self, version: str, revision: str) -> bool:
        """Whether an object that is held in that version, and not in a list of that revision, is gone."""

    def bury(self, uid: str, version: str) -> None:
        """The object was deleted at this version."""

    def bury_unseen(self, uid: str, known: str | None, is_held: bool) -> None:
        """We deleted the object, and the server has not said at which version; `known` is the last one known."""

    def wrote(self, uid: str, version: str) -> None:
        """A version that a write of our own returned is held now."""

    def listed(self, uids: Collection[str], revision: str) -> None:
        """A list of that revision was taken over."""

    def completed(self, revision: str) -> None:
        """A bookmark: everything up to this revision has been delivered."""


class Ordered:
    """Versions are numbers.

    - An object is newer if its number is greater, whoever tells: a watch, a list, our own write.
    - A uid that was deleted stays so: nothing up to the number of its deletion is news. What we deleted ourselves is
      dead until a watch or a list tells the number. Under a selector neither can: an object that leaves the selection
      looks deleted, and may come in again before our deletion. There it is dead for good, as far as GRAVES go.
    - `complete`: a list or a bookmark has promised that everything up to this number was delivered. What is not held
      and not newer is dead; so graves up to here need not be remembered. The number of an event is no such promise
      here, although API servers keep the order: this way a store also survives a watch that does not.
    """

    def __init__(self, *, selects: bool = False) -> None:
        self.complete = 0
        self._selects = selects
        self._dead: dict[str, int] = {}
        self._unseen: dict[str, int | None] = {}

    @property
    def graves(self) -> int:
        return len(self._dead) + len(self._unseen)

    @property
    def is_blank(self) -> bool:
        return not (self.complete or self._dead or self._unseen)

    def is_news(self, uid: str, version: str, held: str | None) -> bool:
        at = int(version)
        if held is None:
            return at > self.complete and self._lives(uid, at)
        return at > int(held) and self._lives(uid, at)

    is_news_written = is_news

    def is_news_listed(self, uid: str, version: str, held: str | None, revision: str) -> bool:
        if int(revision) < self.complete:
            return self.is_news(uid, version, held)
        at = int(version)
        return (held is None or at > int(held)) and self._lives(uid, at)

    def is_gone(self, uid: str, version: str, held: str, held_uid: str) -> bool:
        return int(version) >= int(held)  # of another incarnation too: it had to go before this one could come

    def is_gone_from_list(self, version: str, revision: str) -> bool:
        return int(version) <= int(revision)  # newer ones were created after the list was made

    def bury(self, uid: str, version: str) -> None:
        if not self._selects:
            self._unseen.pop(uid, None)
        at = int(version)
        if at > self.complete:
            self._dead[uid] = max(at, self._dead.get(uid, 0))
            _bound(self._dead)

    def bury_unseen(self, uid: str, known: str | None, is_held: bool) -> None:
        at = None if known is None else int(known)
        is_known_dead = uid in self._dead or (not is_held and at is not None and at <= self.complete)
        if self._selects or not is_known_dead:
            self._unseen[uid] = at
            _bound(self._unseen)

    def wrote(self, uid: str, version: str) -> None:
        """Nothing to remember: the number tells."""

    def listed(self, uids: Collection[str], revision: str) -> None:
        at = int(revision)
        for uid, known in [] if self._selects else list(self._unseen.items()):
            if known is not None and known <= at and uid not in uids:
                del self._unseen[uid]  # it was there at `known` and is not at `revision`: it died before
        self.completed(revision)

    def completed(self, revision: str) -> None:
        self.complete = max(self.complete, int(revision))
        for uid in [uid for uid, at in self._dead.items() if at <= self.complete]:
            del self._dead[uid]

    def _lives(self, uid: str, at: int) -> bool:
        return uid not in self._unseen and at > self._dead.get(uid, 0)


class Opaque:
    """Versions are texts: equal or not. The order in which a watch tells is all the order there is.

    - After a write of our own, news of the object are echoes until the watch has delivered that very version.
    - What we deleted ourselves is dead until the watch has delivered the deletion.
    - A list is the truth, and ends every such wait; a stale one can take back what we wrote.
    """

    def __init__(self) -> None:
        self._awaited: dict[str, str] = {}
        self._dead: dict[str, None] = {}

    @property
    def graves(self) -> int:
        return len(self._dead)

    @property
    def is_blank(self) -> bool:
        return not (self._awaited or self._dead)

    def is_news(self, uid: str, version: str, held: str | None) -> bool:
        awaited = self._awaited.get(uid)
        if awaited == version:
            del self._awaited[uid]
        return awaited is None and uid not in self._dead and version != held

    def is_news_written(self, uid: str, version: str, held: str | None) -> bool:
        return uid not in self._dead and version != held

    def is_news_listed(self, uid: str, version: str, held: str | None, revision: str) -> bool:
        return version != held

    def is_gone(self, uid: str, version: str, held: str, held_uid: str) -> bool:
        return uid == held_uid

    def is_gone_from_list(self, version: str, revision: str) -> bool:
        return True

    def bury(self, uid: str, version: str) -> None:
        self._awaited.pop(uid, None)
        self._dead.pop(uid, None)

    def bury_unseen(self, uid: str, known: str | None, is_held: bool) -> None:
        self._awaited.pop(uid, None)
        self._dead[uid] = None
        _bound(self._dead)

    def wrote(self, uid: str, version: str) -> None:
        self._awaited[uid] = version

    def listed(self, uids: Collection[str], revision: str) -> None:
        self._awaited.clear()
        self._dead.clear()

    def completed(self, revision: str) -> None:
        """A bookmark tells nothing where versions have no order."""


def _bound(graves: dict[str, V]) -> None:
    while len(graves) > GRAVES:
        del graves[next(iter(graves))]
