#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a certificate of a lower bound, as docs/Certificates.md defines it.

A second reader, made from that page alone, for those who would rather not
believe the C++. It knows nothing of solvers and rounds nothing.

usage: read-certificate.py FILE.cert FILE.mlir

FILE.mlir has the topology and a schedule of the collective, as sccl prints
them: MLIR in its generic form is refused. Prints "accepted", the claim, and
what the proof gives, and exits with 0; or why not, and exits with 1; or with 3
if the collective is user-defined, which this reader does not know.
"""

import pathlib
import re
import sys
from fractions import Fraction
from math import inf

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from read_refutation import MAX_LITERALS, MAX_WORK, Formula, Refused, check_refutation, require
from read_sums import SumTree, cheapest_sums, read_shares, shares_value
from read_topology import Topology, fnv, graph_for

MAX_VALUE = 1 << 40
MAX_RANKS = 1 << 17
MAX_STEPS = 1 << 20
MAX_PRICES = 1 << 26
ROOTED = {"broadcast", "gather", "reduce", "scatter"}
COMBINING = {"all_reduce", "reduce", "reduce_scatter"}
KINDS = ROOTED | COMBINING | {"all_gather", "all_to_all"}


def collective_of(text):
    """Name and root of the collective of the first schedule."""
    head = re.search(r'coll\.schedule @(?:"[^"]*"|\S+) of (\S+) on (.*)', text)
    require(head, "there is no coll.schedule")
    root = re.search(r" root = (\d+)", head[2])
    return head[1], int(root[1]) if root else 0


def commodities(kind, root, ranks):
    """Share of C chunks that each pair of rank sets (before, after) has."""
    one = [frozenset([rank]) for rank in range(ranks)]
    every = frozenset(range(ranks))
    part = Fraction(1, ranks)
    if kind == "all_gather":
        return {(own, every): Fraction(1) for own in one}
    if kind == "gather":
        return {(own, one[root]): Fraction(1) for own in one}
    if kind == "broadcast":
        return {(one[root], every): Fraction(1)}
    if kind == "scatter":
        return {(one[root], own): part for own in one}
    if kind == "all_to_all":
        return {(a, b): part for a in one for b in one}
    if kind == "all_reduce":
        return {(every, every): Fraction(1)}
    if kind == "reduce":
        return {(every, one[root]): Fraction(1)}
    return {(every, own): part for own in one}  # reduce_scatter


def numbers(text):
    require(re.fullmatch(r"(0|-?[1-9][0-9]{0,17})( (0|-?[1-9][0-9]{0,17}))*", text),
            f"'{text[:40]}' is no list of numbers")
    return [int(word) for word in text.split(" ")]


def values(words, count, least, most=MAX_VALUE):
    result = numbers(words)
    require(len(result) == count, f"'{words[:40]}' should have {count} values")
    require(all(least <= n <= most for n in result), f"'{words[:40]}' is out of range")
    return result


def links_of(text):
    number = r"(0|[1-9]\d{0,17})"
    pairs = [re.fullmatch(f"{number}->{number}", word) for word in text.split(" ")]
    require(all(pairs), f"'{text[:40]}' is no list of links")
    return tuple((int(p[1]), int(p[2])) for p in pairs)


class Certificate:
    """What a text says; its lines in the order in which they must stand."""

    def __init__(self, text):
        require(text.endswith("\n"), "the last line has no end")
        self.lines = text[:-1].split("\n")
        self.at = 0
        require(self.take(r"sccl-certificate 1"), "this is no certificate")
        self.read_claim()
        require(self.take(r"topology ([0-9a-f]{16})"), "a topology should follow")
        self.topology = int(self.match[1], 16)
        self.vertices = None
        if self.take(r"vertices (\d+)"):
            self.read_vertices()
        self.prices, self.symmetries, self.proofs = {}, [], {}
        self.side = self.distance = None
        self.read_proof()
        require(self.take(r"end( [0-9a-f]{16})?"), "'end' should follow")
        require(self.at == len(self.lines), "something follows after 'end'")
        before = text[: text.rindex("\nend") + 1].encode()
        seal = self.match[1]
        require(not seal or int(seal, 16) == fnv(before), "the hash is not that of the text")

    def take(self, pattern):
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        self.match = re.fullmatch(pattern, line)
        self.at += bool(self.match)
        return self.match

    def read_claim(self):
        claim = self.take(
            r"no schedule of (\S+)(?: root (\d+))? on (\d+) ranks with (any|\d+) steps "
            r"(?:and order (\S+) )?(?:exists|has (R/C|load) below (\d+)(?:/(\d+))?)")
        require(claim, "the second line is no claim")
        self.claim = claim[0]
        self.kind = claim[1]
        if self.kind == "custom":
            print("unknown: the collective is user-defined")
            sys.exit(3)
        require(self.kind in KINDS, f"no collective is called {self.kind}")
        require((claim[2] is not None) == (self.kind in ROOTED), "only some kinds have a root")
        for word in claim.group(2, 3, 4, 7, 8):
            require(word in (None, "any") or numbers(word), "")
        self.root, self.ranks = int(claim[2] or 0), int(claim[3])
        self.claimed = self.ranks
        require(self.root < self.ranks <= MAX_RANKS, "the root or the ranks are out of range")
        self.steps = None if claim[4] == "any" else int(claim[4])
        require(self.steps is None or 1 <= self.steps <= MAX_STEPS, "steps are out of range")
        self.columns = self.steps or 1
        self.order = claim[5]
        if self.order:
            require(self.kind in COMBINING, "an order is of something that is added up")
            if self.ranks > 512:
                print("unknown: this reader takes orders of up to 512 ranks")
                sys.exit(3)
            self.tree = SumTree(self.order, self.ranks)
        self.pipelined = claim[6] == "load"
        self.bound = None
        if claim[6]:
            den = int(claim[8] or 1)
            require(den > 0, "a fraction needs a denominator")
            self.bound = Fraction(int(claim[7]), den)
            require(str(self.bound) == claim[0].rsplit(" ", 1)[1], "the fraction is not in lowest terms")

    def read_vertices(self):
        """From here on ranks are vertices, and steps those on the graph."""
        self.vertices, = values(self.match[1], 1, self.ranks, MAX_RANKS)
        self.claimed, self.ranks = self.ranks, self.vertices
        self.columns = 2 * self.steps if self.steps else 1

    def ranks_in(self, text):
        result = values(text, text.count(" ") + 1, 0, self.ranks - 1)
        require(all(a < b for a, b in zip(result, result[1:])), "ranks should ascend")
        return frozenset(result)

    def read_proof(self):
        if self.vertices is None and self.take(r"distance (\d+) (\d+)"):
            self.distance = values(self.match[1] + " " + self.match[2], 2, 0, self.ranks - 1)
            return
        if self.take(r"cut (.+)"):
            self.side = self.ranks_in(self.match[1])
            self.read_prices()
            return
        require(self.take(r"prices"), "'prices', 'cut' or 'distance' should follow")
        self.read_prices()
        while self.take(r"symmetry (.+)"):
            self.symmetries.append(values(self.match[1], self.ranks, 0, self.ranks - 1))
        self.ascending(self.symmetries)
        keys = []
        while self.take(r"commodity from (.+) to (.+)"):
            key = self.ranks_in(self.match[1]), self.ranks_in(self.match[2])
            keys.append([sorted(end) for end in key])
            self.proofs[key] = self.read_commodity()
        self.ascending(keys)

    @staticmethod
    def ascending(keys):
        require(all(a < b for a, b in zip(keys, keys[1:])), "lines repeat or are out of order")

    def step_values(self, text):
        result = values(text, self.columns, 0)
        require(any(result), "all values of a line are 0")
        return result

    def read_prices(self):
        keys = []
        while self.take(r"price (.+) on (.+)"):
            amounts, links = self.step_values(self.match[1]), links_of(self.match[2])
            self.ascending(links)
            keys.append(links)
            self.prices[links] = amounts
        self.ascending(keys)

    def read_search(self):
        value, steps = values(self.match[1], 1, 1)[0], []
        while self.take(r"clause ((?:\S+ )*)by (.+)"):
            literals = numbers(self.match[1][:-1]) if self.match[1] else []
            require(0 not in literals and all(abs(n) < 1 << 31 for n in literals), "a literal is out of range")
            reasons = numbers(self.match[2])
            require(all(1 <= n < 1 << 31 for n in reasons), "a clause is out of range")
            steps.append((literals, reasons))
        return value, steps

    def read_commodity(self):
        if self.take(r"search (.+)"):
            return self.read_search()
        if re.match("share ", self.lines[self.at]):
            return read_shares(self, values, links_of)
        gossip, blocks, trees = 0, [], []
        if self.take(r"gossip (.+)"):
            gossip = values(self.match[1], 1, 1)[0]
            while self.take(r"block (.+)"):
                blocks.append(self.ranks_in(self.match[1]))
            self.ascending([sorted(block) for block in blocks])
            require(all(len(block) > 1 for block in blocks), "a block has several ranks")
        while self.take(r"tree (from|into) (.+)"):
            backward, roots = self.match[1] == "into", self.ranks_in(self.match[2])
            require(self.take(r"arrive (.+)"), "'arrive' should follow")
            arrive = values(self.match[1], self.ranks, -MAX_VALUE)
            relays, paths = [], []
            while self.take(r"relay (.+) on (\S+)"):
                link, = links_of(self.match[2])
                relays.append((link, self.step_values(self.match[1])))
            while self.take(r"path (\d+) (.+) on (\S+)"):
                target, = values(self.match[1], 1, 0, self.ranks - 1)
                link, = links_of(self.match[3])
                paths.append(((target, link), self.step_values(self.match[2])))
            for lines in (relays, paths):
                self.ascending([key for key, _ in lines])
            trees.append((backward, roots, arrive, dict(relays), dict(paths)))
        self.ascending([(tree[0], sorted(tree[1])) for tree in trees])
        return gossip, blocks, trees


class Graph:
    """Links with a price for each step, read along or against the time."""

    def __init__(self, ranks, price, columns, any_steps):
        self.ranks, self.price = ranks, price
        self.columns, self.any_steps = columns, any_steps

    def turned(self, table):
        return {(b, a): amounts[::-1] for (a, b), amounts in table.items()}

    def cheapest(self, roots, price):
        """By rank, the price of the cheapest path from `roots`."""
        cost = [0 if rank in roots else inf for rank in range(self.ranks)]
        for sweep in range(self.ranks if self.any_steps else self.columns):
            column = 0 if self.any_steps else sweep
            after = list(cost)
            for (a, b), amounts in price.items():
                after[b] = min(after[b], cost[a] + amounts[column])
            if self.any_steps and after == cost:
                break
            cost = after
        return cost

    def hops(self, roots):
        plain = {link: [1] for link in self.price}
        return Graph(self.ranks, plain, 1, True).cheapest(roots, plain)


def tree_weights(graph, roots, targets, arrive, relays, paths):
    """max(0, w) by link and step, and the V of one tree."""
    links, columns = graph.price, range(graph.columns)
    require(not (graph.any_steps and relays), "relay values need a number of steps")
    for table in (relays, {link: None for _, link in paths}):
        require(all(link in links for link in table), "a line of a tree is on no link")
    for rank, value in enumerate(arrive):
        require(value == 0 or rank not in roots, f"root {rank} has an arrival value")
        require(value <= 0 or rank in targets, f"rank {rank} is no target and has a value above 0")
    weight = {(a, b): [arrive[b]] * graph.columns for a, b in links}
    for (u, v), b in relays.items():
        require(u not in roots, f"a relay value on {u}->{v} is on a root")
        for t in columns:
            weight[u, v][t] -= sum(b[t:])
        for entry in links:
            if entry[1] == u:
                for t in columns:
                    weight[entry][t] += sum(b[t + 1:])
    total = sum(arrive)
    for target in sorted({target for target, _ in paths}):
        require(target in targets, f"a price to rank {target} is of no target")
        own = {link: [0] * graph.columns for link in links}
        for (other, link), amounts in paths.items():
            if other == target:
                own[link] = amounts
                for t in columns:
                    weight[link][t] += amounts[t]
        way = graph.cheapest(roots, own)[target]
        require(way < inf, f"rank {target} is out of reach")
        total += way
    hops = graph.hops(roots)
    for (u, v), row in weight.items():
        for t in columns:
            if v in roots or hops[u] == inf or (not graph.any_steps and t < hops[u]):
                row[t] = 0
            row[t] = max(0, row[t])
    return weight, total


def search_value(graph, pre, post, proof, combining, spent):
    """The value of a search; `spent` has what earlier ones took."""
    value, steps = proof
    require(not graph.any_steps, "a search is for a number of steps")
    formula = Formula(graph, pre, post, combining, value)
    spent[0] += formula.literals
    require(spent[0] <= 4 * MAX_LITERALS, "the formulas are too large")
    spent[1] += check_refutation(formula, steps)
    require(spent[1] <= MAX_WORK, "the refutations take more work than is done for them")
    return value


def commodity_value(graph, pre, post, proof, combining):
    gossip, blocks, trees = proof
    require(gossip == 0 or combining, "a gossip value needs a reduction")
    block_of = list(range(graph.ranks))
    taken = [rank for block in blocks for rank in block]
    require(len(taken) == len(set(taken)), "a rank is in two blocks")
    for block in blocks:
        for rank in block:
            block_of[rank] = min(block)
    ends = sum(len({block_of[rank] for rank in side}) for side in (pre, post))
    total = gossip * (ends - 2)
    load = {(a, b): [gossip if block_of[a] != block_of[b] else 0] * graph.columns
            for a, b in graph.price}
    for backward, roots, arrive, relays, paths in trees:
        start, goal = (post, pre) if backward else (pre, post)
        if combining:
            require(len(roots) == 1 and roots <= start, "a tree of reductions has one root, at its beginning")
        else:
            require(not backward and roots == start, "a tree leads from all ranks before")
        own = graph
        if backward:
            own = Graph(graph.ranks, graph.turned(graph.price), graph.columns, graph.any_steps)
            relays = graph.turned(relays)
            paths = {(d, link[::-1]): amounts[::-1] for (d, link), amounts in paths.items()}
        weight, value = tree_weights(own, roots, goal - roots, arrive, relays, paths)
        total += value
        for link, row in (graph.turned(weight) if backward else weight).items():
            load[link] = [a + b for a, b in zip(load[link], row)]
    for (a, b), row in load.items():
        require(all(x <= p for x, p in zip(row, graph.price[a, b])),
                f"the proof of a commodity takes more than the price of {a}->{b}")
    return total


def spread(certificate, graph, found, known):
    """Gives the images of commodities under the symmetries their values."""
    for symmetry in certificate.symmetries:
        require(sorted(symmetry) == list(range(graph.ranks)), "a symmetry is no renumbering")
        for (a, b), row in graph.price.items():
            require(graph.price.get((symmetry[a], symmetry[b])) == row,
                    f"a symmetry does not keep the price of {a}->{b}")
    pending = list(found)
    while pending:
        key = pending.pop()
        for symmetry in certificate.symmetries:
            image = tuple(frozenset(symmetry[rank] for rank in side) for side in key)
            if image in known and found.get(image, -inf) < found[key]:
                found[image] = found[key]
                pending.append(image)


def cut_share(certificate, graph, known, combining):
    side = certificate.side
    require(certificate.steps is None, "a cut is for any number of steps")
    leaving = [row[0] for (a, b), row in graph.price.items() if a in side and b not in side]
    require(leaving, "no link leaves the side of the cut")
    crossing = sum(share for (pre, post), share in known.items()
                   if post - side and pre & side and (combining or pre <= side))
    return crossing * min(leaving)


def price_share(certificate, graph, known, combining):
    found, spent = {}, [0, 0]
    for key, proof in certificate.proofs.items():
        require(key in known, "no chunk has the pre- and postcondition of a commodity")
        if isinstance(proof, dict):
            found[key] = shares_value(graph, certificate.order and certificate.tree, *key, proof)
        elif len(proof) == 2:
            found[key] = search_value(graph, *key, proof, combining, spent)
        else:
            found[key] = commodity_value(graph, *key, proof, combining)
    require(not certificate.order or not certificate.symmetries, "a claim with an order has no symmetries")
    spread(certificate, graph, found, known)
    sums = cheapest_sums(graph, certificate.tree, lambda _, link: graph.price[link]) if certificate.order else None
    total = 0
    for (pre, post), share in known.items():
        value = found.get((pre, post))
        if value is None:
            starts = [[rank] for rank in pre] if combining else [pre]
            costs = [sums] if sums else [graph.cheapest(start, graph.price) for start in starts]
            value = max(cost[rank] for cost in costs for rank in post)
            require(value < inf, "a chunk cannot get everywhere in so many steps")
        total += share * value
    return total


def proven_bound(certificate, topology, known):
    columns = certificate.columns
    require(len(topology.links) * columns <= MAX_PRICES, "more prices than are checked")
    tightest = {}
    for links, bandwidth in topology.limits:
        tightest[links] = min(bandwidth, tightest.get(links, bandwidth))
    price = {link: [0] * columns for link in topology.links}
    let_pass = [0] * columns
    for links, amounts in certificate.prices.items():
        require(links in tightest, f"the price on {links[0]} is on no limit")
        for t, amount in enumerate(amounts):
            # The dearest step counts; with pipelining all steps pass together.
            pipelined = certificate.pipelined or certificate.vertices
            let_pass[t] += tightest[links] * (max(amounts) if pipelined else amount)
            for link in links:
                price[link][t] += amount
    require(any(let_pass), "all prices are 0")
    graph = Graph(topology.ranks, price, columns, certificate.steps is None)
    share = price_share if certificate.side is None else cut_share
    total = share(certificate, graph, known, certificate.kind in COMBINING)
    require(total >= 0, "the proof adds up to less than 0")
    return Fraction(total, max(let_pass))


def check_distance(certificate, topology, known):
    require(certificate.bound is None and certificate.steps, "a distance proves that there is no schedule")
    src, dst = certificate.distance
    plain = {(b, a): [1] for a, b in topology.links}
    hops = Graph(topology.ranks, plain, 1, True).cheapest([dst], plain)
    for pre, post in known:
        starts = [src] if certificate.kind in COMBINING else pre
        if src in pre and dst in post and all(hops[rank] > certificate.steps for rank in starts):
            return
    raise Refused("no chunk must go so far")


def main(path, ir):
    with open(path, encoding="utf-8", newline="") as file:
        certificate = Certificate(file.read())
    with open(ir, encoding="utf-8") as file:
        text = file.read()
    topology = Topology(text)
    require((certificate.kind, certificate.root) == collective_of(text), "the claim is for another collective")
    require(certificate.claimed == topology.ranks, "the claim is for another number of ranks")
    require(certificate.topology == topology.fingerprint(), "the claim is for another topology")
    known = commodities(certificate.kind, certificate.root, certificate.claimed)
    if certificate.distance:
        check_distance(certificate, topology, known)
        print(f"accepted: {certificate.claim}")
        return
    require(certificate.bound is not None, "prices prove a bound, not that there is no schedule")
    graph = graph_for(certificate, topology, certificate.kind in COMBINING)
    bound = proven_bound(certificate, graph, known)
    require(certificate.bound <= bound, f"the claim is {certificate.bound}, the proof gives {bound} only")
    print(f"accepted: {certificate.claim}; the proof gives {bound}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2])
    except (Refused, UnicodeDecodeError, OSError) as error:
        print(f"{sys.argv[1]}: refused: {error}")
        sys.exit(1)
