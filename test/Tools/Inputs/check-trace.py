# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a trace as Chrome and Perfetto read it, and prints what is in it.

usage: check-trace.py FILE.json

Fails unless every track has a name, what is on a track follows one another, and every
arrow leads from a signal, or a transfer, to the end of a wait on the same machine.
"""
import collections
import json
import sys

# Microseconds: times are printed with limited precision, and each rank has set its
# counter by the clock.
ROUNDED, SKEW = 0.01, 0.2


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    by_phase = collections.defaultdict(list)
    for event in events:
        by_phase[event["ph"]].append(event)
    assert set(by_phase) <= set("MXsf"), set(by_phase)
    names = collections.defaultdict(dict)
    for event in by_phase["M"]:
        names[event["name"]][event["pid"], event["tid"]] = event["args"]
    tracks = collections.defaultdict(list)
    for event in by_phase["X"]:
        assert event["ts"] >= 0 and event["dur"] >= 0, event
        tracks[event["pid"], event["tid"]].append(event)
    for (process, thread), on_track in tracks.items():
        assert (process, 0) in names["process_name"], process
        assert (process, thread) in names["thread_name"], (process, thread)
        on_track.sort(key=lambda event: event["ts"])
        for before, after in zip(on_track, on_track[1:]):
            end = before["ts"] + before["dur"]
            assert end <= after["ts"] + ROUNDED, (before, after)

    def ends_at(event, time):
        return abs(event["ts"] + event["dur"] - time) < ROUNDED

    starts = {event["id"]: event for event in by_phase["s"]}
    assert len(starts) == len(by_phase["s"]) == len(by_phase["f"])
    for end in by_phase["f"]:
        start = starts[end["id"]]
        assert start["ts"] <= end["ts"] + SKEW, (start, end)
        here = tracks[end["pid"], end["tid"]]
        assert any(e["cat"] == "wait" and ends_at(e, end["ts"]) for e in here), end
        there = tracks[start["pid"], start["tid"]]
        assert any(e["ts"] == start["ts"] for e in there), start
    kinds = collections.Counter(event["cat"] for event in by_phase["X"])
    print(len({process for process, _ in tracks}), "processes,", len(tracks), "tracks")
    for kind in sorted(kinds):
        print(kinds[kind], kind)
    print(len(starts), "arrows,", kinds["wait"], "waits")


main()
