from pathlib import Path

from grove.testing import components
from grove.testing.components import Files, Settings

FILES = Files(Path("/somewhere"))


def test_without_the_controllers_pods_need_no_service_account() -> None:
    with_them = components.apiserver(FILES, Settings(), 1)
    without = components.apiserver(FILES, Settings(controller_manager=False), 1)
    assert "--disable-admission-plugins=TaintNodesByCondition" in with_them
    assert "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount" in without


def test_nothing_is_disabled_if_nothing_is_to_be() -> None:
    settings = Settings(disabled_admission=(), disabled_controllers=())
    assert not [flag for flag in components.apiserver(FILES, settings, 1) if "admission" in flag]
    assert "--controllers=*" in components.controller_manager(FILES, settings)


def test_flags_of_the_test_come_last_and_so_win() -> None:
    settings = Settings(apiserver_flags=["--event-ttl=1m"])
    assert components.apiserver(FILES, settings, 1)[-1] == "--event-ttl=1m"


def test_controllers_take_flags_too() -> None:
    settings = Settings(controller_manager_flags=["--node-monitor-grace-period=6s"])
    assert components.controller_manager(FILES, settings)[-1] == "--node-monitor-grace-period=6s"
