"""What the client refuses before anything is sent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from grove.kube.client import Client
from grove.kube.connection import Connection
from grove.kube.resources import PODS

NAMELESS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "get": lambda client: client.get(PODS, "", namespace="a"),
    "update": lambda client: client.update(PODS, "", {}, namespace="a"),
    "patch": lambda client: client.patch(PODS, "", {}, namespace="a"),
    "apply": lambda client: client.apply(PODS, "", {}, namespace="a", field_manager="m"),
    "delete": lambda client: client.delete(PODS, "", namespace="a"),
}


@pytest.mark.parametrize("verb", NAMELESS)
def test_a_verb_for_one_object_without_a_name_is_none_for_the_collection(verb: str) -> None:
    async def main() -> None:
        async with Client(Connection(server="http://127.0.0.1:1")) as client:
            with pytest.raises(ValueError, match="name the object"):
                await NAMELESS[verb](client)
            assert client.statistics().requests == {}

    asyncio.run(main())
