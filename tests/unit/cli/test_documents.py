from pathlib import Path as FilePath

import pytest

from grove.api.errors import Path
from grove.cli import documents
from grove.cli.documents import Position


def only(text: str) -> documents.Document:
    (document,) = documents.parse(text, "file.yaml")
    return document


def test_a_value_is_found_at_its_key() -> None:
    document = only("kind: X\nspec:\n  replicas: 3\n")
    assert document.position_of(Path.parse("spec.replicas")) == Position(3, 3)


def test_an_entry_of_a_list_is_found_at_its_start() -> None:
    document = only("items:\n- a\n-   b\n")
    assert document.position_of(Path.parse("items").index(1)) == Position(3, 5)


def test_what_is_not_there_is_found_at_what_is_around_it() -> None:
    document = only("kind: X\nspec:\n  template: {}\n")
    assert document.position_of(Path.parse("spec.template.cliques").index(4).field("name")) == Position(3, 3)


def test_a_key_of_a_map_is_found_like_a_field() -> None:
    document = only("metadata:\n  labels:\n    bad key: x\n")
    assert document.position_of(Path.parse("metadata.labels").key("bad key")) == Position(3, 5)


def test_documents_are_separated_and_empty_ones_passed_over() -> None:
    read = documents.parse("---\n# only a comment\n---\nkind: A\n---\n\n---\nkind: B\n", "file.yaml")
    assert [one.tree["kind"] for one in read] == ["A", "B"]
    assert [one.start.line for one in read] == [4, 8]


def test_a_list_stands_for_its_items() -> None:
    read = documents.parse("kind: List\nitems:\n- kind: A\n- kind: B\n  spec: {x: 1}\n", "file.yaml")
    assert [one.tree["kind"] for one in read] == ["A", "B"]
    assert read[1].position_of(Path.parse("spec.x")) == Position(5, 10)


def test_json_is_read_too() -> None:
    assert only('{"kind": "X", "spec": {"replicas": 2}}').tree == {"kind": "X", "spec": {"replicas": 2}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2023-09-21T10:00:00Z", "2023-09-21T10:00:00Z"),
        ("2023-09-21", "2023-09-21"),
        ("1:30", "1:30"),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("0755", 493),
        ("0x1f", 31),
        ("1e3", 1000),
        ("2.0", 2),
        ("0.5", 0.5),
        ("4Gi", "4Gi"),
        ("'1'", "1"),
        ("1_000", 1000),
    ],
)
def test_scalars_mean_what_they_mean_to_kubernetes(text: str, value: object) -> None:
    read = only(f"x: {text}\n").tree["x"]
    assert (read, type(read)) == (value, type(value))


def test_a_key_that_is_there_twice_is_reported_with_its_second_place() -> None:
    document = only("spec:\n  replicas: 1\n  replicas: 2\n")
    (problem,) = document.problems
    assert problem.position == Position(3, 3)
    assert problem.detail == "spec.replicas: the key is there twice"


def test_merge_keys_are_merged() -> None:
    document = only("base: &base {a: 1, b: 2}\nspec:\n  <<: *base\n  b: 3\n")
    assert document.tree["spec"] == {"a": 1, "b": 3}
    assert not document.problems


def test_broken_yaml_is_reported_where_it_breaks() -> None:
    document = only("kind: X\nspec: [1, 2\n")
    (problem,) = document.problems
    assert problem.position.line == 3
    assert "expected" in problem.detail


def test_documents_before_broken_yaml_are_still_read() -> None:
    read = documents.parse("kind: A\n---\nkind: [\n", "file.yaml")
    assert read[0].tree == {"kind": "A"}
    assert read[1].problems


def test_a_document_that_is_no_object_is_reported() -> None:
    (problem,) = only("- a\n- b\n").problems
    assert problem.detail == "a manifest is an object: apiVersion, kind, metadata …"


def test_aliases_of_aliases_do_not_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (problem,) = only("\n".join(lines)).problems
    assert "too large" in problem.detail


def test_folders_are_searched_and_other_files_passed_over(tmp_path: FilePath) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.yaml", "a.yml", "sub/c.json", "README.md"):
        (tmp_path / name).write_text("{}")
    found = [FilePath(one).relative_to(tmp_path).as_posix() for one in documents.find([str(tmp_path)])]
    assert found == ["a.yml", "b.yaml", "sub/c.json"]


def test_a_folder_without_manifests_is_an_error(tmp_path: FilePath) -> None:
    with pytest.raises(documents.UnreadableError, match=r"no \.yaml"):
        list(documents.find([str(tmp_path)]))


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(documents.UnreadableError, match="no such file"):
        documents.read("/nowhere.yaml")


def test_a_file_that_is_no_text_is_an_error(tmp_path: FilePath) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(documents.UnreadableError, match="not UTF-8"):
        documents.read(str(path))
