"""The controller of scaling groups, when any write fails, or is made and its answer lost: in the end all is right."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from grove.kube.errors import Conflict, Forbidden, Unreachable
from grove.operator.failures import StepError
from grove.operator.resources import POD_CLIQUES
from grove.operator.tree import Tree
from tests.unit.operator.scalinggroup.builders import leader_and_worker
from tests.unit.operator.scalinggroup.stage import Stage, play

ERRORS: tuple[Exception, ...] = (
    Forbidden("quota", code=403),
    Conflict("changed", code=409),
    Unreachable("no answer", may_have_acted=True),
)

fates = st.lists(st.sampled_from([None, *range(len(ERRORS))]), max_size=25)
course = st.lists(st.sampled_from(["scale 1", "scale 3", "update", "come up", "sweep", "delete"]), max_size=8)


def failing(fates: list[int | None]) -> Callable[[str], Exception | None]:
    """The fate of each write, one after the other; then all are well."""
    left = iter(fates)

    def fate(_: str) -> Exception | None:
        number = next(left, None)
        return None if number is None else ERRORS[number]

    return fate


@given(fates=fates, course=course)
def test_whatever_write_fails_the_group_comes_right_in_the_end(fates: list[int | None], course: list[str]) -> None:
    async def act(stage: Stage) -> None:
        version = 1
        stage.show(leader_and_worker())
        stage.fails = failing(fates)
        for event in course:
            match event.split():
                case ["scale", number]:
                    stage.scale(int(number))
                case ["update"]:
                    version += 1
                    stage.show(leader_and_worker(image=f"server:v{version}"))
                case ["come", "up"]:
                    stage.come_up()
                case ["sweep"]:
                    stage.sweep()
                case ["delete"] if stage.cliques():
                    stage.change(
                        POD_CLIQUES,
                        stage.cliques()[0].metadata.name,
                        {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}},
                    )
            with contextlib.suppress(StepError, *map(type, ERRORS)):
                await stage.reconcile()
        stage.fails = lambda _: None
        replicas = stage.group.spec.replicas
        for _ in range(2 * replicas + 3):
            stage.sweep()
            await stage.rest()
            stage.come_up()
        await stage.rest()
        status = stage.group.status
        assert status is not None
        assert stage.names() == {f"x-0-sg-{copy}-{name}" for copy in range(replicas) for name in ("leader", "worker")}
        assert status.available_replicas == status.updated_replicas == replicas
        assert status.last_errors == ()
        tree = Tree(leader_and_worker(image=f"server:v{version}"), {})
        assert status.current_pod_clique_set_generation_hash == tree.generation_hash
        assert status.update_progress is None or status.update_progress.update_ended_at is not None

    play(act)
