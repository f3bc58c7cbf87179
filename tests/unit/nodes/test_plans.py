from grove.nodes import plans
from grove.nodes.behaviour import ONE_SHOT, REGULAR, Behaviour, Span
from grove.nodes.containers import Plan, RestartRule
from grove.nodes.life import PodPlan
from grove.nodes.plans import Defaults
from tests.unit.nodes.stories import pod, simulated


def test_a_plan_says_all_that_a_life_is_made_of() -> None:
    told = pod(
        {
            "name": "main",
            "restartPolicy": "Never",
            "restartPolicyRules": [
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [1, 2]}},
                {"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [3]}},
                {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [4]}},
                {"action": "Restart"},
            ],
            "startupProbe": {"initialDelaySeconds": 5},
            "readinessProbe": {"initialDelaySeconds": 7},
        },
        init=({"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}, {"name": "grove-initc"}),
        annotations=simulated(crash_after="1s"),
        restartPolicy="OnFailure",
        terminationGracePeriodSeconds=9,
        activeDeadlineSeconds=60,
    )
    rules = (RestartRule(frozenset({1, 2}), True), RestartRule(frozenset({3}), False))
    plan, problems = plans.of_pod(told, {}, Defaults())
    assert problems == ()
    assert plan == PodPlan(
        policy="OnFailure",
        grace=9,
        deadline=60,
        init=(
            Plan(name="setup", role="init", behaviour=ONE_SHOT, policy="OnFailure", seed="uid-1/setup"),
            Plan(name="proxy", role="sidecar", behaviour=REGULAR, policy="Always", seed="uid-1/proxy"),
            Plan(
                name="grove-initc",
                role="init",
                behaviour=ONE_SHOT,
                policy="OnFailure",
                ends_from_outside=True,
                seed="uid-1/grove-initc",
            ),
        ),
        regular=(
            Plan(
                name="main",
                role="regular",
                behaviour=Behaviour(crash_after=Span(1, 1)),
                policy="Never",
                rules=rules,
                startup_delay=5,
                readiness_delay=7,
                seed="uid-1/main",
            ),
        ),
    )


def test_only_an_init_container_of_the_waiter_s_name_is_the_waiter() -> None:
    plan, _ = plans.of_pod(pod({"name": plans.WAITER}), {}, Defaults())
    assert not plan.regular[0].ends_from_outside


def test_the_defaults_of_the_fleet_are_for_what_lasts_and_count_least() -> None:
    defaults = Defaults(start_delay=Span(1, 2), ready_delay=Span(3, 4))
    told = pod(
        {"name": "main"},
        {"name": "other"},
        init=({"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}),
        annotations=simulated(main__start_delay="9s"),
    )
    plan, _ = plans.of_pod(told, simulated(ready_delay="8s"), defaults)
    setup, proxy, main, other = [one.behaviour for one in plan.init + plan.regular]
    assert setup == ONE_SHOT
    assert proxy == Behaviour(start_delay=Span(1, 2), ready_delay=Span(3, 4))
    assert main == Behaviour(start_delay=Span(9, 9), ready_delay=Span(8, 8))
    assert other == Behaviour(start_delay=Span(1, 2), ready_delay=Span(8, 8))


def test_what_is_not_understood_is_told_once_for_all_containers() -> None:
    told = pod({"name": "a"}, {"name": "b"}, annotations=simulated(crashes="many", moods="2", c__crashes="1"))
    _, problems = plans.of_pod(told, simulated(never_ready="perhaps"), Defaults())
    assert sorted(one.annotation for one in problems) == [
        "c.simulate.grove.io/crashes",
        "simulate.grove.io/crashes",
        "simulate.grove.io/moods",
        "simulate.grove.io/never-ready",
    ]
