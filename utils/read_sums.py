# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orders of additions, as docs/Certificates.md has them: a part of
read-certificate.py."""

import re
from math import inf

from read_refutation import require


class SumTree:
    """A tree of additions: pairs of trees, and ranks."""

    def __init__(self, order, ranks):
        start = re.fullmatch(r"ring:([1-9]\d{0,5}|0)", order)
        if order in ("tree", "rank"):
            self.root = self.balanced(0, ranks)
        elif order == "left" or start:
            first = int(start[1]) if start else 0
            require(first < ranks, "the ring begins further on")
            self.root = first
            for i in range(1, ranks):
                self.root = (self.root, (first + i) % ranks)
        else:
            self.root = self.listed(order)
        # By the least of the ranks that are added up, and how many they are.
        self.nodes = {}
        self.add(self.root)
        leaves = [node for node in self.nodes.values() if isinstance(node, int)]
        require(sorted(leaves) == list(range(ranks)), f"'{order[:40]}' is no tree of {ranks} ranks")
        require(self.text(self.root) == order or not order.startswith("("), "the tree is spelt in another way")

    def balanced(self, first, count):
        half = 1
        while 2 * half < count:
            half *= 2
        if count == 1:
            return first
        return self.balanced(first, half), self.balanced(first + half, count - half)

    @staticmethod
    def listed(text):
        stack = [[]]
        for word in re.findall(r"\d+|.", text):
            if word == "(":
                stack.append([])
            elif word == ")":
                require(len(stack) > 1 and len(stack[-1]) == 3 and stack[-1][1] == "+", "a tree adds two")
                left, _, right = stack.pop()
                stack[-1].append((left, right))
            else:
                require(re.fullmatch(r"\+|0|[1-9]\d{0,5}", word), f"'{text[:40]}' is no order")
                stack[-1].append(word if word == "+" else int(word))
        require(len(stack) == 1 and len(stack[0]) == 1 and isinstance(stack[0][0], tuple), f"'{text[:40]}' is no order")
        return stack[0][0]

    def add(self, node):
        parts = [self.add(part) for part in node] if isinstance(node, tuple) else [(node, 1)]
        key = min(first for first, _ in parts), sum(count for _, count in parts)
        require(key not in self.nodes, "a rank is in a tree twice")
        self.nodes[key] = node
        return key

    def text(self, node):
        """As it has to be spelt: more ranks go first, or the least one."""
        if isinstance(node, int):
            return str(node)
        key = {child: self.key(child) for child in node}
        left, right = sorted(node, key=lambda child: (-key[child][1], key[child][0]))
        return f"({self.text(left)}+{self.text(right)})"

    def key(self, node):
        return next(key for key, other in self.nodes.items() if other is node or other == node)


def read_shares(certificate, values, links_of):
    """The lines of one commodity, by target, sum and link."""
    keys, shares = [], {}
    while certificate.take(r"share (\d+) (\d+) (\d+) (.+) on (\S+)"):
        match = certificate.match
        target, first, count = values(" ".join(match.group(1, 2, 3)), 3, 0, certificate.ranks)
        require(max(target, first) < certificate.ranks and count > 0, "a share is of no sum")
        link, = links_of(match[5])
        keys.append((target, first, count, link))
        shares[keys[-1]] = certificate.step_values(match[4])
    certificate.ascending(keys)
    return shares


def cheapest_sums(graph, tree, price):
    """By rank, what the sum of all costs there; price(node, link) has the values of a node."""
    order = sorted(tree.nodes.items(), key=lambda entry: entry[0][1])
    cost = {node: [0 if rank == node else inf for rank in range(graph.ranks)] for _, node in order}

    def add(node):
        if isinstance(node, tuple):
            both = [a + b for a, b in zip(cost[node[0]], cost[node[1]])]
            cost[node] = [min(a, b) for a, b in zip(cost[node], both)]

    def move(key, node, column):
        after = list(cost[node])
        for (a, b) in graph.price:
            after[b] = min(after[b], cost[node][a] + price(key, (a, b))[column])
        changed, cost[node] = after != cost[node], after
        return changed

    for key, node in order:
        add(node)
        while graph.any_steps and move(key, node, 0):
            pass
    for column in range(0 if graph.any_steps else graph.columns):
        for key, node in order:
            move(key, node, column)
            add(node)
    return cost[tree.root]


def shares_value(graph, tree, pre, post, shares):
    require(tree, "shares are of an order of additions")
    require(pre == frozenset(range(graph.ranks)), "all ranks contribute")
    taken = {}
    for (target, first, count, link), amounts in shares.items():
        require(target in post, f"rank {target} has a share and is no target")
        require((first, count) in tree.nodes, "a share is of a sum that is not in the tree")
        require(link in graph.price, "a share is on no link")
        row = taken.setdefault((first, count, link), [0] * graph.columns)
        taken[first, count, link] = [a + b for a, b in zip(row, amounts)]
    for (_, _, link), row in taken.items():
        require(all(x <= p for x, p in zip(row, graph.price[link])),
                f"the shares of a sum are more than the price of {link[0]}->{link[1]}")
    nothing = [0] * graph.columns
    total = 0
    for target in sorted({key[0] for key in shares}):
        total += cheapest_sums(graph, tree, lambda key, link: shares.get((target, *key, link), nothing))[target]
    require(total < inf, "a sum cannot be had in so many steps")
    return total
