# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The axioms of PTX's memory model once more, on sets of pairs and without any
shortcut, to compare `sccl check` with on random litmus tests.

usage: reference.py COUNT SEED [proxies]

Prints litmus tests that expect what this program finds; with `proxies`, of accesses
through a switch, too.
"""
import itertools
import random
import sys


def closure(pairs):
    result = set(pairs)
    while True:
        more = {(a, d) for a, b in result for c, d in result if b == c} - result
        if not more:
            return result
        result |= more


def then(first, second):
    return {(a, d) for a, b in first for c, d in second if b == c}


def irreflexive(pairs):
    return all(a != b for a, b in pairs)


class Event:
    def __init__(self, thread, place, text):
        self.thread, self.place = thread, place
        words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
        self.proxy = "switch" if words[0].startswith("multimem.") else "plain"
        parts = words[0].removeprefix("multimem.").replace("fence.proxy.alias", "alias").split(".")
        self.kind = {"membar": "fence", "ld_reduce": "ld"}.get(parts[0], parts[0])
        self.order = parts[1] if len(parts) > 1 and self.kind != "bar" else "weak"
        self.scope = parts[2] if len(parts) > 2 else None
        self.location = words[2] if self.kind == "ld" else words[1] if self.kind == "st" else None
        self.register = words[1] if self.kind == "ld" else None
        self.value = words[2] if self.kind == "st" else None
        self.strong = self.kind == "fence" or self.order != "weak"
        self.access = self.kind in ("ld", "st")


def includes(scope, one, other):
    """Threads are (name, gpu, block, code)."""
    return scope == "sys" or one[1] == other[1] and (scope == "gpu" or one[2] == other[2])


def events_of(threads):
    events = [Event(None, 0, f"st [{location}], 0") for location in "xy"]
    for thread in threads:
        events += [Event(thread, place, text) for place, text in enumerate(thread[3])]
    return events


def fixed(events):
    """Relations that do not depend on what is read."""
    pairs = [(a, b) for a in events for b in events if a is not b]
    inside = [(a, b) for a, b in pairs if a.thread and a.thread is b.thread]
    po = {(a, b) for a, b in inside if a.place < b.place}
    loc = {(a, b) for a, b in pairs if a.access and b.access and a.location == b.location}
    strong = {
        (a, b)
        for a, b in pairs
        if a.thread and b.thread and a.strong and b.strong
        and includes(a.scope, a.thread, b.thread) and includes(b.scope, b.thread, a.thread)
    }
    near = {(a, b) for a, b in loc if a.proxy == b.proxy or not a.thread or not b.thread}
    moral = {(a, b) for a, b in strong | set(inside) if not (a.access and b.access) or (a, b) in near}
    rounds = {e: sum(o.kind == "bar" and o.place < e.place and o.thread is e.thread for o in events) for e in events}
    bar = {
        (a, b)
        for a, b in pairs
        if a.kind == b.kind == "bar" and a.thread[1:3] == b.thread[1:3] and rounds[a] == rounds[b]
    }
    itself = {(e, e) for e in events}
    release = {(a, b) for a, b in (po & near) | itself if a.order == "release" and b.kind == "st" and b.strong}
    release |= {(a, b) for a, b in po if a.kind == "fence" and b.kind == "st" and b.strong}
    acquire = {(a, b) for a, b in (po & near) | itself if a.kind == "ld" and a.strong and b.order == "acquire"}
    acquire |= {(a, b) for a, b in po if a.kind == "ld" and a.strong and b.kind == "fence"}
    data = {
        (a, b)
        for a, b in po
        if a.kind == "ld" and b.kind == "st" and a.register == b.value
        and not any(c.register == a.register and a.place < c.place < b.place for c in events if c.thread is a.thread)
    }
    first = {(a, b) for a, b in pairs if not a.thread and b.thread}
    return po, loc, near, moral, bar, release, acquire, data, first


def consistent(events, rf, relations):
    po, loc, near, moral, bar, release, acquire, data, first = relations
    if not irreflexive(closure(rf | data)):
        return False
    sync = then(then(release, rf & moral), acquire) & moral
    fences = [e for e in events if e.kind == "fence" and e.order == "sc"]
    for order in itertools.permutations(fences):
        sc = {p for p in itertools.combinations(order, 2) if p in moral}
        base = closure(po | first | bar | sync | sc)
        base = {
            (a, b)
            for a, b in base
            if (a, b) not in loc - near or any(f.kind == "alias" and (a, f) in base and (f, b) in base for f in events)
        }
        cause = base | then(rf & moral, base)
        if not irreflexive(then(sc, cause)):
            continue
        stores = {(a, b) for a, b in loc if a.kind == b.kind == "st"}
        open_pairs = [p for p in itertools.combinations(events, 2) if p in stores & moral]
        for choice in itertools.product((False, True), repeat=len(open_pairs)):
            chosen = {(b, a) if turned else (a, b) for (a, b), turned in zip(open_pairs, choice)}
            co = closure(chosen | stores & cause)
            fr = then({(b, a) for a, b in rf}, co)
            if (
                irreflexive(co)
                and irreflexive(closure((rf | co | fr) & moral | po & near))
                and irreflexive(then(rf | fr, cause))
            ):
                return True
    return False


def value(store, rf, hops=20):
    if store.value.isdigit() or not hops:
        return int(store.value) if hops else None
    loads = [e for _, e in rf if e.thread is store.thread and e.register == store.value and e.place < store.place]
    return value(next(a for a, b in rf if b is max(loads, key=lambda e: e.place)), rf, hops - 1)


def possible(threads, outcome):
    events = events_of(threads)
    relations = fixed(events)
    loads = [e for e in events if e.kind == "ld"]
    stores = [[s for s in events if s.kind == "st" and s.location == e.location] for e in loads]
    for choice in itertools.product(*stores):
        rf = set(zip(choice, loads))
        if all(value(s, rf) == outcome[e.thread[0], e.register] for s, e in rf) and consistent(events, rf, relations):
            return True
    return False


def random_program(rng, proxies):
    threads = []
    value_of = iter(range(1, 99))
    barriers = rng.random() < 0.3
    for name in "AB" if rng.random() < 0.5 else "ABC":
        code, registers = [], 0
        for _ in range(rng.randint(1, 4)):
            scope = rng.choice(["cta", "gpu", "gpu", "sys", "sys", "sys"])
            kind = rng.choice(["ld", "ld", "st", "st", "fence"])
            if proxies and kind == "fence" and rng.random() < 0.7:
                code.append("fence.proxy.alias")
                continue
            if kind == "fence":
                code.append(f"fence.{rng.choice(['acq_rel', 'sc'])}.{scope}")
                continue
            order = rng.choice(["", ".relaxed", ".acquire" if kind == "ld" else ".release"])
            through = proxies and rng.random() < 0.4
            verb = {"ld": "multimem.ld_reduce", "st": "multimem.st"}[kind] if through else kind
            access = verb + order + (f".{scope}" if order else "")
            if kind == "ld":
                code.append(f"{access} r{registers}, [{rng.choice('xy')}]")
                registers += 1
            else:
                what = f"r{rng.randrange(registers)}" if registers and rng.random() < 0.2 else next(value_of)
                code.append(f"{access} [{rng.choice('xy')}], {what}")
        if barriers:
            code.insert(rng.randint(0, len(code)), "bar.sync 0")
        threads.append((name, rng.randint(0, 1), rng.randint(0, 1), code))
    return threads


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["proxies"]):
        sys.exit(__doc__)
    rng = random.Random(int(sys.argv[2]))
    count = 0
    while count < int(sys.argv[1]):
        threads = random_program(rng, proxies=len(sys.argv) == 4)
        values = [0] + [int(t.split()[-1]) for thread in threads for t in thread[3] if t.split()[-1].isdigit() and "st" in t.split()[0].split(".")]
        loads = [e for e in events_of(threads) if e.kind == "ld"]
        if not loads or len(values) == 1:
            continue
        outcome = {(e.thread[0], e.register): rng.choice(values) for e in loads}
        print(f'litmus "random {count}"')
        for name, gpu, block, code in threads:
            print(f"thread {name} gpu {gpu} block {block}")
            print("".join(f"  {text}\n" for text in code), end="")
        print("exists " + " and ".join(f"{t}:{r} == {v}" for (t, r), v in outcome.items()))
        print("expect", "sometimes" if possible(threads, outcome) else "never")
        count += 1


if __name__ == "__main__":
    main()
