import ipaddress
import itertools

import pytest

from grove.nodes.addresses import lowest_free


def test_the_lowest_free_address_is_given_and_one_that_was_given_back_again() -> None:
    taken = {"10.0.0.1", "10.0.0.2", "10.0.0.4"}
    assert lowest_free("10.0.0.0/24", set()) == "10.0.0.1"
    assert lowest_free("10.0.0.0/24", taken) == "10.0.0.3"
    assert lowest_free("10.0.0.0/24", taken | {"10.0.0.3"}) == "10.0.0.5"


def test_addresses_of_other_ranges_are_in_nobody_s_way() -> None:
    assert lowest_free("10.0.1.0/24", {"10.0.0.1", "192.0.2.7"}) == "10.0.1.1"


def test_no_range_and_a_full_one_give_none() -> None:
    assert lowest_free("", ()) == ""
    assert lowest_free("10.0.0.0/30", {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) == ""
    assert lowest_free("10.0.0.7/32", ()) == ""


def test_a_range_is_that_of_its_network() -> None:
    assert lowest_free("10.0.3.9/16", {"10.0.0.1"}) == "10.0.0.2"


@pytest.mark.parametrize("cidr", ["10.255.255.0/24", "192.0.2.0/25", "2001:db8::/64", "fd00:10:244:1::/112"])
def test_a_range_is_given_out_in_its_order_and_as_it_is_usually_written(cidr: str) -> None:
    taken: list[str] = []
    for expected in itertools.islice(ipaddress.ip_network(cidr), 1, 120):
        taken.append(lowest_free(cidr, taken))
        assert taken[-1] == str(expected)
