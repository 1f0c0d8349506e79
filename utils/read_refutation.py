# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a formula about the sends of a chunk cannot be satisfied.

The part of read-certificate.py for searches, made from the section "The formula
of a search" of docs/Certificates.md.
"""

MAX_LITERALS = 1 << 22
MAX_WORK = 1 << 31


class Refused(Exception):
    pass


def require(condition, why):
    if not condition:
        raise Refused(why)


class Formula:
    """Clauses that a chunk with sends of a price below `value` satisfies."""

    def __init__(self, graph, pre, post, combining, value):
        self.clauses, self.variables, self.literals, self.copies = [], 0, 0, 0
        self.links = sorted(graph.price, key=lambda link: link[::-1])
        self.steps, self.value = range(graph.columns), value
        self.send = {(e, t): self.variable() for e in self.links for t in self.steps}
        for source in ([[rank] for rank in sorted(pre)] if combining else [pre]):
            self.spread(graph.ranks, source, post)
        every = []
        for rank in range(graph.ranks):
            into = []
            for e in self.links:
                if e[1] == rank:
                    into.append(self.total([self.copy(e, t, graph.price[e][t]) for t in self.steps]))
            every.append(self.total(into))
        price = self.total(every)
        if len(price) >= value:
            self.add(-price[value - 1])

    def variable(self):
        self.variables += 1
        require(self.variables <= MAX_LITERALS, "the formula is too large")
        return self.variables

    def add(self, *clause):
        self.literals += len(clause)
        require(self.literals <= MAX_LITERALS, "the formula is too large")
        self.clauses.append(clause)

    def copy(self, link, step, price):
        self.copies += min(price, self.value)
        require(self.copies <= MAX_LITERALS, "the formula is too large")
        return [self.send[link, step]] * min(price, self.value)

    def spread(self, ranks, source, post):
        heard = {(v, t): self.variable() for v in range(ranks) for t in self.steps}
        others = [v for v in range(ranks) if v not in source]
        for v in others:
            into = [e for e in self.links if e[1] == v]
            for t in self.steps:
                reasons = []
                for e in into:
                    if e[0] in source:
                        reasons.append(self.send[e, t])
                    elif t > 0:
                        informs = self.variable()
                        self.add(-informs, self.send[e, t])
                        self.add(-informs, heard[e[0], t - 1])
                        reasons.append(informs)
                self.add(-heard[v, t], *([heard[v, t - 1]] if t > 0 else []), *reasons)
        for v in sorted(post):
            if v not in source:
                self.add(heard[v, self.steps[-1]])

    def total(self, parts):
        parts = [part for part in parts if part]
        if len(parts) < 2:
            return parts[0] if parts else []
        half = len(parts) // 2
        a, b = self.total(parts[:half]), self.total(parts[half:])
        c = [self.variable() for _ in range(min(len(a) + len(b), self.value))]
        for i in range(len(a) + 1):
            for j in range(len(b) + 1):
                if i + j > 0:
                    left, right = [-a[i - 1]] if i else [], [-b[j - 1]] if j else []
                    self.add(c[min(i + j, len(c)) - 1], *left, *right)
        return c


def check_refutation(formula, steps):
    """Follows the steps; returns how many literals it looked at."""
    clauses, work = list(formula.clauses), 0
    for literals, reasons in steps:
        require(all(abs(n) <= formula.variables for n in literals), "the formula has no such variable")
        false = set(literals)
        for place, reason in enumerate(reasons, 1):
            require(reason <= len(clauses), f"clause {reason} is not there yet")
            clause = clauses[reason - 1]
            work += len(clause) + 1
            require(work <= MAX_WORK, "the refutation takes more work than is done for it")
            left = set(clause) - false
            require(len(left) == (place < len(reasons)), f"clause {reason} does not follow")
            false.update(-literal for literal in left)
        clauses.append(tuple(literals))
    require(steps and not steps[-1][0], "a refutation does not end with the empty clause")
    return work
