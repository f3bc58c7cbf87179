import pytest

from grove.nodes import containers
from grove.nodes.behaviour import ONE_SHOT, REGULAR, Behaviour, Span
from grove.nodes.containers import Container, Exit, Plan, RestartRule, Role


@pytest.mark.parametrize(
    ("streak", "seconds"), [(0, 0), (1, 0), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (7, 300), (9999, 300)]
)
def test_the_wait_grows_with_exits_in_a_row(streak: int, seconds: float) -> None:
    assert containers.backoff(streak) == seconds


IN_42 = (RestartRule(frozenset({42}), True),)
NOT_IN_42 = (RestartRule(frozenset({42}), False),)


@pytest.mark.parametrize(
    ("role", "policy", "rules", "after"),
    [
        ("regular", "Always", (), {0, 1, 42}),
        ("regular", "OnFailure", (), {1, 42}),
        ("regular", "Never", (), set()),
        ("regular", "Never", IN_42, {42}),
        ("regular", "Never", NOT_IN_42, {0, 1}),
        ("init", "Always", (), {1, 42}),
        ("init", "OnFailure", (), {1, 42}),
        ("init", "Never", (), set()),
        ("init", "Never", IN_42, {42}),
        ("init", "Never", NOT_IN_42, {1}),
        ("sidecar", "Never", (), {0, 1, 42}),
    ],
)
def test_what_is_run_again_after_which_exit_code(
    role: Role, policy: str, rules: tuple[RestartRule, ...], after: set[int]
) -> None:
    plan = Plan(name="c", role=role, behaviour=REGULAR, policy=policy, rules=rules)
    assert {code for code in (0, 1, 42) if plan.restarts_after(code)} == after


def test_nothing_changes_by_itself_before_it_is_a_container_s_turn() -> None:
    plan = Plan(name="c", role="regular", behaviour=ONE_SHOT, policy="Always")
    waiting = Container()
    assert containers.transition(waiting, plan) is None
    assert containers.restart_at(waiting, plan) is None
    assert containers.advanced(waiting, plan, 5) is waiting
    assert list(containers.thresholds(waiting, plan)) == []


def test_a_container_whose_work_is_really_done_does_not_end_by_itself() -> None:
    plan = Plan(name="c", role="init", behaviour=ONE_SHOT, policy="Always", ends_from_outside=True)
    assert plan.end(0) is None
    assert containers.transition(Container(state="running"), plan) is None


def test_a_run_that_is_no_more_to_end_by_itself_ends_well_where_it_is_ended() -> None:
    plan = Plan(name="c", role="regular", behaviour=REGULAR, policy="Always")
    ended = containers.advanced(Container(state="running", since=3), plan, 5)
    assert ended.exit == Exit(0, "Completed", 3, 5)


def test_what_is_chosen_by_chance_is_another_one_for_every_run_and_container() -> None:
    told = Behaviour(crash_after=Span(0, 100), start_delay=Span(0, 100), stop_delay=Span(0, 100))

    def plan(seed: str) -> Plan:
        return Plan(name="c", role="regular", behaviour=told, policy="Always", seed=seed)

    one, other = plan("u/a"), plan("u/b")
    chosen = [one.end(0), one.end(1), other.end(0)]
    assert len({end[0] for end in chosen if end is not None}) == 3
    assert len({one.start_delay, one.stop_delay, other.start_delay, other.stop_delay}) == 4
    assert plan("u/a").end(1) == one.end(1)
