# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs execution traces of all ranks, as far as they go.

usage: read_chakra.py PREFIX RANKS

Decodes what Chakra's et_def.proto defines, and matches sends with receives of the
same ranks, tag and size.
"""
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        yield key >> 3, value


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def nodes(path):
    data = open(path, "rb").read()
    at = messages = 0
    while at < len(data):
        size, at = varint(data, at)
        message, at = data[at : at + size], at + size
        messages += 1
        if messages == 1:
            continue  # the metadata
        node = {"after": [], "id": 0}
        for field, value in fields(message):
            if field == 1:
                node["id"] = value
            elif field == 3:
                node["type"] = value
            elif field == 5:
                node["after"] += varints(value)
            elif field == 10:
                (_, name), (_, number) = fields(value)
                node[name.decode()] = number
        yield node


def main():
    prefix, ranks = sys.argv[1], int(sys.argv[2])
    traces = [list(nodes(f"{prefix}.{rank}.et")) for rank in range(ranks)]
    done = [set() for _ in traces]
    sent, received, computed, size, rounds = {}, 0, 0, 0, 0
    for rank, trace in enumerate(traces):
        assert [node["id"] for node in trace] == list(range(len(trace)))
    while any(len(done[rank]) < len(trace) for rank, trace in enumerate(traces)):
        rounds += 1
        before = [set(each) for each in done]
        in_flight = dict(sent)
        for rank, trace in enumerate(traces):
            for node in trace:
                if node["id"] in before[rank] or not before[rank].issuperset(node["after"]):
                    continue
                if node["type"] == 5:
                    key = rank, node["comm_dst"], node["comm_tag"], node["comm_size"]
                    assert key not in sent
                    sent[key] = True
                    size += node["comm_size"]
                elif node["type"] == 6:
                    key = node["comm_src"], rank, node["comm_tag"], node["comm_size"]
                    if key not in in_flight:
                        continue
                    received += 1
                else:
                    computed += 1
                done[rank].add(node["id"])
        assert done != before, "stuck"
    print(f"{len(sent)} sends of {size} bytes, {received} receives, {computed} computations, all over after {rounds} rounds")


main()
