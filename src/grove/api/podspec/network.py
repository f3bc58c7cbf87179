"""How a pod is named and resolves names: hostname, DNS, host aliases."""

from __future__ import annotations

import ipaddress
from typing import Final

from grove.api import grammar
from grove.api.grammar import Fault
from grove.api.podspec.tree import Node, judge_always

DNS_POLICIES: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
MAX_NAMESERVERS: Final = 3
MAX_SEARCHES: Final = 32
MAX_SEARCH_LENGTH: Final = 2048
HOSTNAME_LENGTH: Final = 64


def check(spec: Node) -> None:
    """The names of a pod and how it resolves others."""
    spec.judge("hostname", grammar.label)
    spec.judge("subdomain", grammar.label)
    _check_override(spec)
    spec.choose("dnsPolicy", DNS_POLICIES)
    _check_dns(spec)
    for alias in spec.each("hostAliases"):
        found = alias.text("ip")
        if found is not None:
            judge_always(alias.at("ip"), found, address, alias.problems)
        for where, hostname in alias.texts("hostnames"):
            judge_always(where, hostname, grammar.subdomain, alias.problems)


def address(text: str) -> Fault | None:
    """An IP address that everyone reads alike."""
    remedy = "write an address such as 10.9.8.7 or 2001:db8::ffff"
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return Fault("must be a valid IP address", remedy)
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            return Fault("must be a valid IP address without a zone", remedy)
        if found.ipv4_mapped is not None:
            return Fault("must not be an IPv4-mapped IPv6 address", f"write {found.ipv4_mapped}")
    return None


def _check_override(spec: Node) -> None:
    override = spec.text("hostnameOverride")
    if not spec.has("hostnameOverride") or override is None:
        return
    where = spec.at("hostnameOverride")
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.flag(key):
            spec.problems.forbidden(where, f"may not be specified when {key} is true", f"remove it, or {key}")
    if len(override) > HOSTNAME_LENGTH:
        spec.problems.invalid(where, override, f"must be no more than {HOSTNAME_LENGTH} characters", "shorten it")
    judge_always(where, override, grammar.subdomain, spec.problems)


def _check_dns(spec: Node) -> None:
    config = spec.child("dnsConfig")
    if spec.text("dnsPolicy") == "None" and (config is None or not config.items("nameservers")):
        where = spec.at("dnsConfig") if config is None else config.at("nameservers")
        spec.problems.required(
            where,
            "must provide at least one DNS nameserver when `dnsPolicy` is None",
            "set dnsConfig.nameservers, or another dnsPolicy",
        )
        return
    if config is None:
        return
    servers = list(config.texts("nameservers"))
    if len(servers) > MAX_NAMESERVERS:
        config.problems.invalid(
            config.at("nameservers"),
            [server for _, server in servers],
            f"must not have more than {MAX_NAMESERVERS} nameservers",
            "keep the first three",
        )
    for where, server in servers:
        judge_always(where, server, address, config.problems)
    searches = list(config.texts("searches"))
    if len(searches) > MAX_SEARCHES or len(" ".join(search for _, search in searches)) > MAX_SEARCH_LENGTH:
        config.problems.invalid(
            config.at("searches"),
            len(searches),
            f"must not have more than {MAX_SEARCHES} search paths or {MAX_SEARCH_LENGTH} characters",
            "remove some",
        )
    for where, search in searches:
        judge_always(where, search, grammar.search_domain, config.problems)
    for option in config.each("options"):
        option.need("name", "name the option, such as ndots", detail="must not be empty")
