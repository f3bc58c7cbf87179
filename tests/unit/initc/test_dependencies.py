import pytest

from grove.initc import dependencies
from grove.initc.dependencies import Count, InvalidInputError


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ([], {}),
        (["--podcliques=a:1"], {"a": 1}),
        (["--podcliques", "a:1"], {"a": 1}),
        (["-p", "a:1"], {"a": 1}),
        (["-p=a:1"], {"a": 1}),
        (["-pa:1"], {"a": 1}),
        (["--podcliques=a:1", "-p", "b:2", "--podcliques", "c:3"], {"a": 1, "b": 2, "c": 3}),
        (["--podcliques=a:1,b:2"], {"a": 1, "b": 2}),
        (["--podcliques= a:1 , b:2 "], {"a": 1, "b": 2}),
        (["--podcliques="], {}),
        (["--podcliques", ""], {}),
        (["--podcliques= , ,a:1,"], {"a": 1}),
        (["-p", "a:2", "-p", "a:3", "-p", "a:1"], {"a": 3}),
        (["-p", "a:007"], {"a": 7}),
        (["-p", "x-0-a:1", "-p", "x-0-a-b:1"], {"x-0-a": 1, "x-0-a-b": 1}),
    ],
)
def test_the_arguments_name_parents_and_counts(args: list[str], wanted: dict[str, int]) -> None:
    assert dependencies.parse(args) == wanted


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--podcliques=a"], '"a": it is not one name and one number'),
        (["--podcliques=a:1:2"], '"a:1:2": it is not one name and one number'),
        (["--podcliques=b:1,a"], '"a": it is not one name and one number'),
        (["--podcliques=:1"], '":1": "" cannot be the name of a PodClique'),
        (["--podcliques=A b:1"], '"A b:1": "A b" cannot be the name'),
        (["--podcliques=a) :1"], '"a) :1": "a) " cannot be the name'),
        ([f"--podcliques={'a' * 64}:1"], "cannot be the name of a PodClique"),
        (["--podcliques=a:"], '"a:": "" is not a whole number of at least 1'),
        (["--podcliques=a:x"], '"x" is not a whole number of at least 1'),
        (["--podcliques=a:0"], '"0" is not a whole number of at least 1'),
        (["--podcliques=a:-1"], '"-1" is not a whole number of at least 1'),
        (["--podcliques=a:1.5"], '"1.5" is not a whole number of at least 1'),
        (["--podcliques=a:1_0"], '"1_0" is not a whole number of at least 1'),
        (["--podcliques=a:٣"], '"٣" is not a whole number of at least 1'),
        (["--podcliques=a:" + "9" * 5000], "is not a whole number of at least 1"),
        (["--podcliques"], 'argument "--podcliques": nothing follows it'),
        (["-p"], 'argument "-p": nothing follows it'),
        (["--podclique=a:1"], 'argument "--podclique=a:1": it is not known'),
        (["a:1"], 'argument "a:1": it is not known'),
    ],
)
def test_what_is_not_understood_is_named_with_the_remedy(args: list[str], why: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        dependencies.parse(args)
    text = str(caught.value)
    assert text.startswith("ERR_INVALID_INPUT: ")
    assert why in text
    assert text.endswith("; write --podcliques=<PodClique>:<ready pods needed>, as in --podcliques=router-0-frontend:2")


def test_a_wait_is_over_when_no_parent_has_too_few() -> None:
    wanted = {"a": 2, "b": 1}
    for ready, missing in (
        ({}, {"a": Count(0, 2), "b": Count(0, 1)}),
        ({"a": 1, "b": 5}, {"a": Count(1, 2)}),
        ({"a": 2, "c": 9}, {"b": Count(0, 1)}),
        ({"a": 3, "b": 1}, {}),
    ):
        found = dependencies.counts(wanted, lambda name, ready=ready: ready.get(name, 0))  # type: ignore[misc]
        assert dependencies.missing(found) == missing


def test_the_selector_names_the_parents_while_they_are_few() -> None:
    few = dependencies.selector("x-0", {"x-0-b": 1, "x-0-a": 2})
    assert few == "grove.io/podgang=x-0,grove.io/podclique in (x-0-a,x-0-b)"
    many = dependencies.selector("x-0", {f"x-0-{number}": 1 for number in range(dependencies.MAX_NAMED + 1)})
    assert many == "grove.io/podgang=x-0"
