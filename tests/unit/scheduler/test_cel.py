"""Expressions that choose devices."""

from __future__ import annotations

import msgspec
import pytest

from grove.scheduler.cel import EvaluationError, Unsupported, compiled
from grove.scheduler.devices import Device

GPU = msgspec.convert(
    {
        "name": "gpu-0",
        "attributes": {
            "model": {"string": "H100"},
            "index": {"int": 3},
            "mig": {"bool": False},
            "dra.other.com/driverVersion": {"version": "550.54.15-rc.1"},
        },
        "capacity": {"memory": {"value": "80Gi"}},
    },
    Device,
)


def chooses(expression: str) -> bool:
    return compiled(expression).chooses("gpu.example.com", GPU)


@pytest.mark.parametrize(
    "expression",
    [
        "true",
        'device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model == "H100"',
        "device.attributes['gpu.example.com']['model'] in ['A100', \"H100\"]",
        'device.attributes["gpu.example.com"].index >= 3 && !device.attributes["gpu.example.com"].mig',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0',
        'device.capacity["gpu.example.com"].memory == quantity("81920Mi")',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))',
        'device.attributes["dra.other.com"].driverVersion.isLessThan(semver("550.54.15"))',
        'device.attributes["dra.other.com"].driverVersion.compareTo(semver("550.54.15-beta.2")) == 1',
        '"model" in device.attributes["gpu.example.com"]',
        '!("model" in device.attributes["nobody.example.com"])',
        'has(device.attributes["gpu.example.com"].model) ? true : false',
        'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model.startsWith("H") && gpu.index != 4)',
        '(device.driver == "x" || device.driver.endsWith(".com")) && true',
        'device.attributes["gpu.example.com"].missing == 1 || true',
        '!(device.attributes["gpu.example.com"].missing == 1 && false)',
        'device.attributes["gpu.example.com"].index != "3"',
        'device.attributes["gpu.example.com"].model.contains(r"10")',
        r'"a\"\\\n" == "a\"\\\n"',
        "!!true",
    ],
)
def test_it_chooses_the_device(expression: str) -> None:
    assert chooses(expression)
    assert not chooses(f"!({expression})")


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.example.com"].missing == 1',
        'device.attributes["nobody.example.com"].model == "H100"',
        'device.attributes["gpu.example.com"].model < 3',
        'device.attributes["gpu.example.com"].model && true',
        'device.attributes["gpu.example.com"].model',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("many")) == 0',
        'device.attributes["gpu.example.com"].index.startsWith("3")',
        'semver("1.0") == semver("1.0.0")',
        '"a" in device.driver',
    ],
)
def test_it_has_no_value_for_the_device(expression: str) -> None:
    with pytest.raises(EvaluationError):
        chooses(expression)


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ('device.attributes["d"].model.matches("H.*")', "the function `matches`"),
        ('device.attributes["d"].exists(x, x == 1)', "the function `exists`"),
        ("1 + 1 == 2", "`+ 1 == 2`"),
        ("1.5 < 2", "`1.5 < 2`"),
        ("node.name == 'a'", "the name `node`"),
        ("true true", "`true` after a whole expression"),
        ("(true", "where `)` should be"),
        ("true &&", "an end where more should follow"),
        (r'"\x41" == "A"', "`\\x` in a text"),
        ("(" * 100 + "true" + ")" * 100, "nested so deep"),
        ('{"a": 1}.a == 1', "`{"),
    ],
)
def test_what_is_not_understood_is_named(expression: str, named: str) -> None:
    with pytest.raises(Unsupported) as caught:
        compiled(expression)
    assert named in str(caught.value)
    assert expression in str(caught.value)
