"""How the simulated scheduler chooses a node: kube-scheduler's own arithmetic, small.

One plugin of its own, NodeResourcesFit with LeastAllocated at weight 1; the scores of
extenders are added as kube-scheduler adds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scoring.simulation.dice import Dice, pick
from scoring.simulation.fleet import Node
from scoring.simulation.pods import Pod
from scoring.simulation.world import World

EXTENDER_SCALE = 10  # MaxNodeScore 100 / MaxExtenderPriority 10


def feasible(world: World, pod: Pod) -> tuple[Node, ...]:
    """The nodes that may take `pod` and have room for it."""
    return tuple(
        node
        for node in world.nodes
        if not node.cordoned and not node.control_plane and _fits(world, node, pod)
    )


def least_allocated(world: World, node: Node, pod: Pod) -> int:
    """0..100: how much would be left of cpu and memory, the mean of both."""
    left = [
        max(0, capacity - used) * 100 // capacity
        for used, capacity in _use(world, node, pod)
    ]
    return sum(left) // len(left)


def choose(totals: Mapping[str, int], dice: Dice) -> str:
    """A node with the highest total; among equals a random one."""
    best = max(totals.values())
    return pick(dice, [name for name, total in totals.items() if total == best])


def add_extender(
    totals: Mapping[str, int], scores: Iterable[tuple[str, int]], weight: int
) -> dict[str, int]:
    """`totals` with an extender's scores; hosts that are no candidates are ignored."""
    result = dict(totals)
    for host, score in scores:
        if host in result:
            result[host] += score * weight * EXTENDER_SCALE
    return result


def own_totals(world: World, nodes: Sequence[Node], pod: Pod) -> dict[str, int]:
    """What the plugins of the scheduler itself give."""
    return {node.name: least_allocated(world, node, pod) for node in nodes}


def live_through(world: World, dice: Dice, until: float) -> None:
    """Advance to `until`, placing pods without any extender: the time before."""
    while world.now + 1 <= until:
        world.advance(world.now + 1)
        for pod in world.waiting():
            nodes = feasible(world, pod)
            if nodes:
                world.bind(pod.key, choose(own_totals(world, nodes, pod), dice))


def _fits(world: World, node: Node, pod: Pod) -> bool:
    return all(used <= capacity for used, capacity in _use(world, node, pod))


def _use(world: World, node: Node, pod: Pod) -> tuple[tuple[int, int], ...]:
    """(requested with `pod`, allocatable) of cpu and memory."""
    running = world.running(node.name)
    return (
        (
            pod.millicores + sum(one.millicores for one in running),
            node.pool.cores * 1000,
        ),
        (pod.memory + sum(one.memory for one in running), node.pool.memory * 1024),
    )
