"""The forms of names in Kubernetes: each rule takes a text and tells its fault, or None where it follows the rule."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SEARCH: Final = re.compile(r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PORT: Final = re.compile(r"(?=[-0-9]*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_VARIABLE: Final = re.compile(r"[ -<>-~]+")

LABEL_LENGTH: Final = 63
SUBDOMAIN_LENGTH: Final = 253
PORT_NAME_LENGTH: Final = 15


class Fault(NamedTuple):
    """What is wrong with a text, and what to do about it."""

    detail: str
    remedy: str


def label(text: str) -> Fault | None:
    """A DNS label: `my-name`."""
    if len(text) > LABEL_LENGTH:
        return _too_long(LABEL_LENGTH)
    if _LABEL.fullmatch(text):
        return None
    if _SUBDOMAIN.fullmatch(text):
        return Fault("must not contain dots", "replace the dots with '-'")
    return Fault(
        "must consist of lower case letters, digits or '-', and start and end with a letter or digit",
        "use a name such as my-name",
    )


def subdomain(text: str) -> Fault | None:
    """A DNS subdomain, as most objects are named: `example.com`."""
    if len(text) > SUBDOMAIN_LENGTH:
        return _too_long(SUBDOMAIN_LENGTH)
    if _SUBDOMAIN.fullmatch(text):
        return None
    return Fault(
        "must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit",
        "use a name such as my-name or example.com",
    )


def caseless_subdomain(text: str) -> Fault | None:
    """A DNS subdomain in which upper case stands for lower case."""
    return subdomain(text.lower())


def search_domain(text: str) -> Fault | None:
    """A domain that the resolver tries; a dot may end it, and underscores may stand in it."""
    if text == ".":
        return None
    bare = text.removesuffix(".")
    if len(bare) > SUBDOMAIN_LENGTH:
        return _too_long(SUBDOMAIN_LENGTH)
    if _SEARCH.fullmatch(bare):
        return None
    return Fault(
        "must consist of lower case letters, digits, '_', '-' or '.', and start and end with a letter or digit",
        "use a domain such as svc.cluster.local",
    )


def qualified(text: str) -> Fault | None:
    """A label key, and what is written like one: `name` or `example.com/name`."""
    prefix, slash, name = text.rpartition("/")
    if slash and not prefix:
        return Fault("prefix part must be non-empty", "remove the leading '/' or write a domain before it")
    if slash and (fault := subdomain(prefix)) is not None:
        return Fault(f"prefix part {fault.detail}", "write a domain before the '/', as in example.com/name")
    if len(name) > LABEL_LENGTH:
        return Fault(f"name part must be no more than {LABEL_LENGTH} characters", "shorten it")
    if not _QUALIFIED.fullmatch(name):
        return Fault(
            "name part must consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit",
            "use a name such as my.name or example.com/my-name",
        )
    return None


def label_value(text: str) -> Fault | None:
    """The value of a label, which may be empty."""
    if len(text) > LABEL_LENGTH:
        return _too_long(LABEL_LENGTH)
    if not text or _QUALIFIED.fullmatch(text):
        return None
    return Fault(
        "must be empty or consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit",
        "use a value such as my-value or v1.2",
    )


def port(text: str) -> Fault | None:
    """The name of a port (RFC 6335), lower case only: `http`."""
    if len(text) > PORT_NAME_LENGTH:
        return _too_long(PORT_NAME_LENGTH)
    if _PORT.fullmatch(text):
        return None
    return Fault(
        "must consist of lower case letters, digits and single '-' between them, with at least one letter",
        "use a name such as http or grpc-2",
    )


def variable(text: str) -> Fault | None:
    """The name of an environment variable: anything printable but '='."""
    if _VARIABLE.fullmatch(text):
        return None
    return Fault("must consist only of printable ASCII characters other than '='", "use a name such as MY_NAME")


def config_key(text: str) -> Fault | None:
    """A key of a ConfigMap or a Secret."""
    if len(text) > SUBDOMAIN_LENGTH:
        return _too_long(SUBDOMAIN_LENGTH)
    if not _CONFIG_KEY.fullmatch(text):
        return Fault("must consist of letters, digits, '-', '_' or '.'", "use a key such as config.yaml")
    if text == "." or text.startswith(".."):
        return Fault("must not be '.' or start with '..'", "use a key such as config.yaml")
    return None


def header(text: str) -> Fault | None:
    """The name of an HTTP header."""
    if _HEADER.fullmatch(text):
        return None
    return Fault("must consist of letters, digits or '-'", "use a name such as X-Probe")


def name_prefix(text: str) -> Fault | None:
    """A subdomain that may end in '-', because a name may be made by adding to it."""
    return subdomain(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _too_long(length: int) -> Fault:
    return Fault(f"must be no more than {length} characters", "shorten it")


def is_label(text: str) -> bool:
    """Whether the text is a DNS label: what host names are made of."""
    return label(text) is None


def is_subdomain(text: str) -> bool:
    """Whether the text is a DNS subdomain: what most objects may be called."""
    return subdomain(text) is None


def is_qualified(text: str) -> bool:
    """Whether the text is a label key, or something written like one."""
    return qualified(text) is None


def is_label_value(text: str) -> bool:
    """Whether the text can be the value of a label."""
    return label_value(text) is None
