"""The documents tell the truth: generated pages are fresh, links lead somewhere, examples are listed."""

import re
from pathlib import Path

import pytest

from grove.cli import main
from tools.docs import generate

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_fresh(name: str) -> None:
    """`make docs` writes them."""
    assert (generate.REFERENCE / name).read_text(encoding="utf-8") == generate.PAGES[name]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs/decisions").glob("0*.md"):
        assert f"({page.name})" in index
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert f"[{title}]" in index


def test_every_example_is_listed() -> None:
    index = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for entry in (ROOT / "examples").iterdir():
        if entry.name != "README.md":
            assert entry.name in index


def test_every_target_of_the_makefile_that_the_documents_name_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    targets |= {f"bench-{path.stem}" for path in (ROOT / "tests/bench").glob("*.py")} | {"bench"}
    named = {
        word.rstrip("-") for page in PAGES for word in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
    }
    assert named <= targets


def test_the_readme_shows_every_verb_that_prints_something_of_grove() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for verb in set(main.VERBS) - {"completion", "initc"}:
        assert f"`grove {verb}" in readme
