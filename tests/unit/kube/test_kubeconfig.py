"""Kubeconfigs: where they are looked for, how several become one, and everything a user of them can say."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from grove.kube.connection import Connection, in_cluster
from grove.kube.credentials import Identity
from grove.kube.errors import ConnectionConfigError
from grove.kube.kubeconfig import connect, without_proxy
from grove.kube.tls import make_context
from tests.unit.kube.kubeconfigs import CA, Clock, client_certificate, content, encoded, write


def identity(connection: Connection) -> Identity:
    return asyncio.run(connection.credentials.identity())


def made(folder: Path, document: Any, **environment: str) -> Connection:
    return connect(str(write(folder / "config", document)), environment=environment)


# Which file


def test_the_named_file_counts_before_the_environment(tmp_path: Path) -> None:
    named = write(tmp_path / "named", content(name="named"))
    other = write(tmp_path / "other", content(name="other"))
    found = connect(str(named), environment={"KUBECONFIG": str(other), "HOME": str(tmp_path)})
    assert found.server == "https://named.example:6443"


def test_home_is_looked_at_last(tmp_path: Path) -> None:
    write(tmp_path / ".kube/config", content(name="home"))
    assert connect(environment={"HOME": str(tmp_path)}).server == "https://home.example:6443"


def test_a_pod_speaks_to_its_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "account"
    for name, text in (("token", "t1\n"), ("ca.crt", CA.decode()), ("namespace", "grove-system")):
        write(folder / name, text)
    environment = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    found = in_cluster(environment=environment, folder=folder)
    assert (found.server, found.ca, found.namespace) == ("https://10.96.0.1:443", CA, "grove-system")
    assert identity(found).token == "t1"


def test_an_address_of_ipv6_stands_in_brackets(tmp_path: Path) -> None:
    for name in ("token", "ca.crt"):
        write(tmp_path / name, "x")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster(environment=environment, folder=tmp_path).server == "https://[fd00::1]:443"


def test_nothing_anywhere_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(ConnectionConfigError, match=r"\.kube/config is not there"):
        connect(environment={"HOME": str(tmp_path)})
    with pytest.raises(ConnectionConfigError, match="KUBERNETES_SERVICE_HOST"):
        in_cluster(environment={})
    with pytest.raises(ConnectionConfigError, match="automountServiceAccountToken"):
        in_cluster(
            environment={"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}, folder=tmp_path / "none"
        )


def test_a_missing_named_file_is_an_error_even_inside_a_cluster(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(ConnectionConfigError, match="nowhere is not there"):
        connect(str(tmp_path / "nowhere"), environment=environment)
    with pytest.raises(ConnectionConfigError, match="nowhere is not there"):
        connect(environment={**environment, "KUBECONFIG": str(tmp_path / "nowhere")})


# Several files


def test_of_several_files_the_first_counts_entry_by_entry(tmp_path: Path) -> None:
    first = write(tmp_path / "a", content(name="x", user={"token": "first"}) | {"current-context": ""})
    second = write(tmp_path / "b", content(name="x", user={"token": "second"}, namespace="ignored"))
    third = write(tmp_path / "c", content(name="y", user={"token": "third"}))
    listed = f"{tmp_path / 'missing'}:{first}:{second}:{third}"
    merged = connect(environment={"KUBECONFIG": listed})
    assert (identity(merged).token, merged.namespace) == ("first", "default")
    assert identity(connect(context="y", environment={"KUBECONFIG": listed})).token == "third"


def test_a_context_may_join_what_stands_in_different_files(tmp_path: Path) -> None:
    clusters = write(tmp_path / "clusters", content(name="x") | {"users": [], "contexts": []})
    users = write(tmp_path / "users", content(name="x", user={"token": "t"}) | {"clusters": []})
    found = connect(environment={"KUBECONFIG": f"{clusters}:{users}"})
    assert (found.server, identity(found).token) == ("https://x.example:6443", "t")


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    write(tmp_path / "a/token", "in a")
    write(tmp_path / "a/ca.crt", CA.decode())
    document = content(cluster={"certificate-authority": "ca.crt"}, user={"tokenFile": "token"})
    found = connect(str(write(tmp_path / "a/config", document)))
    assert (identity(found).token, found.ca) == ("in a", CA)


# Clusters


def test_all_that_a_cluster_can_say(tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": encoded(CA), "tls-server-name": "api", "proxy-url": "http://proxy:3128"}
    found = made(tmp_path, content(cluster=cluster, namespace="team"))
    assert (found.ca, found.server_name, found.proxy, found.namespace) == (CA, "api", "http://proxy:3128", "team")
    context = make_context(found, None)
    assert (context.check_hostname, context.verify_mode.name) == (True, "CERT_REQUIRED")
    assert len(context.get_ca_certs()) == 1


def test_a_server_is_believed_unseen_only_when_told_so(tmp_path: Path) -> None:
    found = made(tmp_path, content(cluster={"insecure-skip-tls-verify": True}))
    context = make_context(found, None)
    assert (context.check_hostname, context.verify_mode.name) == (False, "CERT_NONE")


def test_yaml_is_read_as_well(tmp_path: Path) -> None:
    text = """
clusters: [{name: c, cluster: {server: "https://c"}}]
contexts: [{name: x, context: {cluster: c}}]
current-context: x
"""
    assert made(tmp_path, text).server == "https://c"


@pytest.mark.parametrize(
    ("exempt", "host", "expected"),
    [
        ("", "api.example", False),
        ("", "127.0.0.1", True),
        ("", "localhost", True),
        ("*", "api.example", True),
        ("example", "api.example", True),
        (".example", "api.example", True),
        ("xample", "api.example", False),
        ("other, api.example", "api.example", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8,nonsense/99", "11.1.2.3", False),
        ("fd00::/8", "fd00::1", True),
    ],
)
def test_who_is_reached_without_a_proxy(exempt: str, host: str, expected: bool) -> None:
    assert without_proxy(host, exempt) is expected


def test_the_environments_proxy_is_used_unless_the_host_is_exempt(tmp_path: Path) -> None:
    assert made(tmp_path, content(), HTTPS_PROXY="http://p:1").proxy == "http://p:1"
    assert made(tmp_path, content(), HTTPS_PROXY="http://p:1", NO_PROXY=".example").proxy == ""


# Users


def test_a_token(tmp_path: Path) -> None:
    assert identity(made(tmp_path, content(user={"token": "t"}))) == Identity("t")


def test_nobody_at_all(tmp_path: Path) -> None:
    assert identity(made(tmp_path, content())) == Identity()


def test_a_token_file_counts_before_a_token_and_is_read_again(tmp_path: Path) -> None:
    token, clock = write(tmp_path / "token", "one\n"), Clock()
    path = write(tmp_path / "config", content(user={"token": "fixed", "tokenFile": str(token)}))
    credentials = connect(str(path), now=clock).credentials

    def now() -> str:
        return asyncio.run(credentials.identity()).token

    assert now() == "one"
    token.write_text("two")
    assert now() == "one"
    clock.time += 60
    assert now() == "two"
    token.unlink()
    clock.time += 60
    assert now() == "two"


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    token = write(tmp_path / "token", "one")
    credentials = made(tmp_path, content(user={"tokenFile": str(token)})).credentials
    first = asyncio.run(credentials.identity())
    assert credentials.refused(first) is False
    token.write_text("two")
    assert credentials.refused(first) is True
    assert asyncio.run(credentials.identity()).token == "two"
    assert credentials.refused(first) is True


@pytest.mark.parametrize("inline", [True, False])
def test_a_client_certificate(tmp_path: Path, inline: bool) -> None:
    pair = client_certificate()
    write(tmp_path / "c.pem", pair.certificate.decode())
    write(tmp_path / "k.pem", pair.key.decode())
    user = (
        {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}
        if inline
        else {"client-certificate": "c.pem", "client-key": "k.pem"}
    )
    found = made(tmp_path, content(user=user))
    shown = identity(found)
    assert shown.certificate is not None
    assert (shown.certificate.certificate, shown.certificate.key) == (pair.certificate, pair.key)
    make_context(found, shown.certificate)
    assert "PRIVATE" not in repr(shown) + repr(shown.certificate)


def test_whom_the_user_acts_for_is_said(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"x/y": ["1", "2"]}}
    assert made(tmp_path, content(user=user)).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-x%2Fy", "1"),
        ("Impersonate-Extra-x%2Fy", "2"),
    )


def test_over_plain_http_no_secret_is_sent(tmp_path: Path) -> None:
    assert identity(made(tmp_path, content(cluster={"server": "http://c"}, user={"token": "t"}))) == Identity()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "basic": ({"user": {"username": "u", "password": "geheim"}}, "no basic authentication since"),
    "provider": ({"user": {"auth-provider": {"name": "oidc"}}}, "auth-provider oidc: .* use the exec plugin"),
    "half a pair": ({"user": {"client-certificate-data": "eA=="}}, "belong together"),
    "no base64": ({"user": {"client-certificate-data": "geheim!", "client-key-data": "x"}}, "data is not base64"),
    "no text": ({"user": {"token": 5}}, "token must be a text, not int"),
    "groups without user": ({"user": {"as-groups": ["a"]}}, "need `as`"),
    "no url": ({"cluster": {"server": "example"}}, "'example' is not an https:// URL"),
    "ca missing": ({"cluster": {"certificate-authority": "none.crt"}}, r"none\.crt cannot be read"),
    "contradiction": (
        {"cluster": {"insecure-skip-tls-verify": True, "certificate-authority-data": "eA=="}},
        "contradict each other",
    ),
    "socks": ({"cluster": {"proxy-url": "socks5://u:geheim@p"}}, "only http:// and https:// proxies"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_we_cannot_do_is_refused_and_no_secret_is_told(tmp_path: Path, case: str) -> None:
    arguments, why = REFUSED[case]
    with pytest.raises(ConnectionConfigError, match=why) as raised:
        made(tmp_path, content(**arguments))
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ("a: [", r"line \d: this is not YAML"),
        ("users: [{name: u, user: {token: 'geheim", "this is not YAML"),
        ("[]", "kind must be Config"),
        ({"kind": "Pod"}, "kind must be Config"),
        ({"clusters": {"a": 1}}, "clusters must be a list"),
        ({}, "no current-context; name one of: there are none"),
        (content() | {"current-context": "two"}, "no context 'two'; there are: one"),
        (content() | {"clusters": []}, "names the cluster 'one', which is not there"),
        (content() | {"users": []}, "names the user 'one', which is not there"),
    ],
)
def test_a_file_that_makes_no_sense_says_where_and_why(tmp_path: Path, document: Any, why: str) -> None:
    with pytest.raises(ConnectionConfigError, match=why) as raised:
        made(tmp_path, document)
    assert "geheim" not in str(raised.value)


def test_an_authority_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConnectionConfigError, match="certificate-authority holds no certificate"):
        make_context(made(tmp_path, content(cluster={"certificate-authority-data": encoded(b"nothing")})), None)
