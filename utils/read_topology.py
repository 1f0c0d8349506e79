# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Topologies, and the graphs in which switches that copy or reduce are
vertices, as docs/Certificates.md defines them. For read-certificate.py.
"""

import re

from read_refutation import require


def read_switches(lines):
    """Ranks of each coll.switch, and whether it multicasts, reduces, and has own copies."""
    switches = []
    for line in lines:
        if "coll.switch" in line:
            ranks = [int(rank) for rank in re.search(r"\[(.*?)\]", line)[1].split(",")]
            switches.append((sorted(ranks), *(word in line for word in ("multicast", "reduces", "own_copies"))))
    return switches


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


class Topology:
    """Links and limits of the coll.topology in a text of IR."""

    def __init__(self, text):
        head = re.search(r'coll\.topology @(?:"[^"]*"|\S+) ranks = (\d+)(?: attributes \{.*?\})? \{\n(.*?)\n  \}', text, re.S)
        require(head, "there is no coll.topology")
        require(text.count("coll.topology @") == 1, "there is more than one coll.topology")
        self.ranks = int(head[1])
        self.links, self.limits = [], []
        for line in head[2].splitlines():
            ends = [(int(a), int(b)) for a, b in re.findall(r"(\d+) -> (\d+)", line)]
            bandwidth = re.search(r"bandwidth = (\d+)", line)
            if "coll.link" in line:
                self.links += ends
            if bandwidth:
                self.limits.append((tuple(sorted(ends)), int(bandwidth[1])))
        self.switches_as_listed = read_switches(head[2].splitlines())
        self.switches = sorted(self.switches_as_listed)
        self.links.sort()
        self.limits.sort()

    def fingerprint(self):
        numbers = [self.ranks]

        def add(links):
            numbers.append(len(links))
            numbers.extend(rank for link in links for rank in link)

        add(self.links)
        for links, bandwidth in self.limits:
            numbers.append(bandwidth)
            add(links)
        for ranks, multicast, reduces, own in self.switches:
            numbers += [multicast + 2 * reduces + 4 * own, len(ranks), *ranks]
        return fnv(b"".join(n.to_bytes(8, "little") for n in numbers))


class SwitchGraph:
    """Vertices, links and limits, under the names that a Topology has."""

    def __init__(self, topology, with_sums):
        self.ranks = topology.ranks
        self.links, self.limits = [], [(set(), bandwidth) for _, bandwidth in topology.limits]
        self.of = topology
        through = set()
        for link in topology.links:
            # The first switch of a kind is asked, as sends are.
            for can in (1, 2) if with_sums else (1,):
                first = next((s for s in topology.switches_as_listed if s[can] and set(link) <= set(s[0])), None)
                if first and not first[3]:
                    through.add(link)
        for link in topology.links:
            if link not in through:
                self.add(link, self.limits_of(link))
        for ranks, multicast, reduces, own in topology.switches_as_listed:
            if multicast:
                self.add_vertices(ranks, own, along=1)
            if reduces and with_sums:
                self.add_vertices(ranks, own, along=-1)
        self.links.sort()
        self.limits = sorted((tuple(sorted(links)), bandwidth) for links, bandwidth in self.limits)

    def limits_of(self, link):
        return {i for i, (links, _) in enumerate(self.of.limits) if link in links}

    def add(self, link, limits):
        self.links.append(link)
        for i in limits:
            self.limits[i][0].add(link)

    def add_vertices(self, ranks, own, along):
        """One for each rank: from it to the others, or with -1 to it from them."""
        for rank in ranks:
            vertex, self.ranks = self.ranks, self.ranks + 1
            others = {other: self.limits_of((rank, other)[::along]) for other in ranks if other != rank}
            common = set.intersection(*others.values())
            back = [self.limits_of((other, rank)[::along]) for other in others] if own else [set()]
            self.add((rank, vertex)[::along], common | set.intersection(*back))
            for other, limits in others.items():
                self.add((vertex, other)[::along], limits - common)


def graph_for(certificate, topology, combining):
    """What the proof of a certificate is about: the topology, or its graph."""
    if not topology.switches:
        require(certificate.vertices is None, "the topology has no switches that copy or reduce")
        return topology
    require(not certificate.order, "no claim about switches names an order")
    graph = SwitchGraph(topology, combining)
    require(certificate.vertices == graph.ranks, "the proof is about another number of vertices")
    return graph
