import pytest

from grove.api import outline, reference
from grove.api.kinds import catalog


@pytest.mark.parametrize("kind", catalog.KINDS, ids=lambda kind: f"{kind.name}.{kind.group}")
def test_every_field_of_ours_is_on_the_reference_page_with_its_meaning(kind: catalog.Kind) -> None:
    section = reference.markdown().split(f'<a id="{reference.anchor(kind)}">')[1].split("<a id=")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert rows
    assert all(row[3].removesuffix(" |").strip() for row in rows)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pcs.spec.replicas", "integer"),
        ("pcs.spec.template.cliques", "[]object"),
        ("pcs.spec.template.terminationDelay", "duration"),
        ("pcs.spec.template.cliques.labels", "map[string]string"),
        ("gq.spec.limit", "map[string]quantity"),
        ("pcs.spec.template.cliques.spec.podSpec.containers.ports.containerPort", "integer"),
        ("pcs.spec.template.cliques.spec.podSpec.containers.livenessProbe.httpGet.port", "integer or string"),
    ],
)
def test_types_are_named_in_a_word(path: str, text: str) -> None:
    assert reference.explain(path).type == text


def test_depth_limits_what_is_inside() -> None:
    found = reference.explain("pcs", depth=2)
    spec = next(field for field in found.fields if field.path == "pcs.spec")
    assert spec.fields
    assert all(not field.fields for field in spec.fields)


def test_a_sentence_counts_pods_and_gangs() -> None:
    assert outline.sentence({"apiVersion": "v1", "kind": "ConfigMap"}) == ""
