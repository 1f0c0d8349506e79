# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""many-blocks.py KIND RANKS FILE.xml: an all_gather with a thread block for each peer.

direct   everyone sends to everyone, on channels that all interpreters have
stuck    along rings, on which everyone receives before he sends
"""
import sys

kind, ranks, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
channels = 32 if kind == "direct" else ranks


def step(number, name, source, src, dst):
    return (f'<step s="{number}" type="{name}" srcbuf="{source}" srcoff="{src}" dstbuf="o" '
            f'dstoff="{dst}" cnt="1" depid="-1" deps="-1" hasdep="0"/>\n')


def block(rank, distance):
    if kind == "direct":
        send, receive = (rank + distance) % ranks, (rank - distance) % ranks
        steps = step(0, "s", "i", 0, rank) + step(1, "r", "i", 0, receive)
    else:
        send, receive = (rank + 1) % ranks, (rank - 1) % ranks
        chunk = (rank - distance) % ranks
        steps = step(0, "r", "i", 0, chunk) + step(1, "s", "o", chunk, chunk)
    return (f'<tb id="{distance}" send="{send}" recv="{receive}" '
            f'chan="{distance % channels}">\n{steps}</tb>\n')


with open(path, "w") as file:
    file.write(f'<algo name="{kind}" nchunksperloop="{ranks}" nchannels="{channels}" '
               f'proto="Simple" ngpus="{ranks}" coll="allgather" inplace="0" outofplace="1" '
               'minBytes="0" maxBytes="0">\n')
    for rank in range(ranks):
        file.write(f'<gpu id="{rank}" i_chunks="1" o_chunks="{ranks}" s_chunks="0">\n'
                   '<tb id="0" send="-1" recv="-1" chan="0">\n'
                   + step(0, "cpy", "i", 0, rank) + '</tb>\n')
        file.writelines(block(rank, distance) for distance in range(1, ranks))
        file.write('</gpu>\n')
    file.write('</algo>\n')
