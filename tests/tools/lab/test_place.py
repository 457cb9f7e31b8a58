"""Names of the lab on its machine: no two nodes share one, none is too long."""

from __future__ import annotations

from tools.lab import place

LONGEST_LINK = 15  # IFNAMSIZ without its end


def test_nothing_of_two_nodes_is_the_same() -> None:
    nodes = place.nodes(place.MOST_NODES)
    for attribute in ("name", "address", "pods", "netns", "link", "directory"):
        assert len({getattr(node, attribute) for node in nodes}) == place.MOST_NODES


def test_links_can_be_made_and_are_found_again() -> None:
    links = [node.link for node in place.nodes(place.MOST_NODES)]
    for link in (*links, place.BRIDGE):
        assert len(link) <= LONGEST_LINK
        assert place.LINK_NAME.fullmatch(link)
    assert not place.LINK_NAME.fullmatch("eth0")
