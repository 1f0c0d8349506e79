# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the names of the tracks of each process of a trace.

usage: tracks.py FILE.json
"""
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
tracks = collections.defaultdict(set)
for event in events:
    if event["name"] == "thread_name":
        tracks[event["pid"]].add(event["args"]["name"])
for process in sorted(tracks):
    print(process, ", ".join(sorted(tracks[process])))
