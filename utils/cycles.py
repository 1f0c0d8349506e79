# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the nodes of a graph come to themselves again (Kosaraju's algorithm)."""


def cycles(after):
    """The nodes that reach each other, for each such set, in order. `after` has the
    numbers of those that follow each node."""
    before = [[] for _ in after]
    for node, targets in enumerate(after):
        for to in targets:
            before[to].append(node)
    # A node comes after all that it leads to first.
    order, seen = [], set()
    for start in range(len(after)):
        work = [] if start in seen else [(start, iter(after[start]))]
        seen.add(start)
        while work:
            node, targets = work[-1]
            to = next((to for to in targets if to not in seen), None)
            if to is None:
                order.append(work.pop()[0])
            else:
                seen.add(to)
                work.append((to, iter(after[to])))
    result, taken = [], set()
    for start in reversed(order):
        together, work = [], [start]
        while work:
            node = work.pop()
            if node not in taken:
                taken.add(node)
                together.append(node)
                work += before[node]
        if len(together) > 1 or start in after[start]:
            result.append(sorted(together))
    return result
