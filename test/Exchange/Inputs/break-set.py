#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks a set in several ways, one at a time, and prints what `sccl check` says of each.

Usage: break-set.py SCCL FOLDER SCRATCH
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

sccl, whole, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])


def edited(change):
    """A mutant of set.json."""

    def apply(folder):
        manifest = folder / "set.json"
        content = json.loads(manifest.read_text())
        change(content, content["files"])
        manifest.write_text(json.dumps(content))

    return apply


def change_byte(folder):
    path = sorted(folder.glob("*/*"))[0]
    path.write_text(path.read_text().replace("1", "2", 1))


def exchange(folder):
    first, second = sorted(folder.glob("*/*"))[:2]
    text = first.read_text()
    first.write_text(second.read_text())
    second.write_text(text)


def keep_out_of_place(folder):
    """Removes all files for calls in place, from the loader, too."""
    for path in folder.glob("*/*_in_place.json"):
        path.unlink()
    edited(lambda _, files: files.__setitem__(slice(None), [f for f in files if not f["in_place"]]))(folder)


def truncate(folder):
    manifest = folder / "set.json"
    manifest.write_text(manifest.read_text()[:-40])


def remove_loader(folder):
    for name in ("register.cpp", "env.sh"):
        (folder / name).unlink(missing_ok=True)


def change_loader(folder):
    for name in ("register.cpp", "env.sh"):
        if (folder / name).exists():
            (folder / name).write_text((folder / name).read_text() + "\n")


MUTANTS = {
    "gap": edited(lambda _, files: files.pop(1)),
    "overlap": edited(lambda _, files: files[1].update(least_bytes=files[1]["least_bytes"] - 1)),
    "two": edited(
        lambda content, _: content["gaps"].append(
            {"least_bytes": 1024, "most_bytes": 1024, "in_place": False, "reason": "x"}
        )
    ),
    "no calls in place": keep_out_of_place,
    "beyond": edited(lambda content, _: content.update(most_bytes=content["most_bytes"] * 2)),
    "empty range": edited(lambda _, files: files[0].update(most_bytes=1)),
    "other collective": edited(lambda content, _: content.update(collective="all_gather")),
    "other ranks": edited(lambda content, _: content.update(ranks=4, ranks_per_box=4)),
    "smaller boxes": edited(lambda content, _: content.update(ranks_per_box=content["ranks_per_box"] // 2)),
    "odd boxes": edited(lambda content, _: content.update(ranks_per_box=3)),
    "other multiple": edited(lambda _, files: files[0].update(multiple=files[0]["multiple"] * 2)),
    "other place": edited(lambda _, files: files[0].update(in_place=not files[0]["in_place"])),
    "other name": edited(lambda _, files: files[0].update(name="x")),
    "wrong hash": edited(lambda _, files: files[0].update(hash="0" * 16)),
    "out of the folder": edited(lambda _, files: files[0].update(file="plans/../../x.json")),
    "no reason": edited(
        lambda content, _: content["gaps"].append(
            {"least_bytes": 1, "most_bytes": 2, "in_place": False, "reason": ""}
        )
    ),
    "later version": edited(lambda content, _: content.update(sccl_set=2)),
    "other executor": edited(lambda content, _: content.update(executor="nccl3")),
    "file missing": lambda folder: sorted(folder.glob("*/*"))[0].unlink(),
    "file changed": change_byte,
    "files exchanged": exchange,
    "stranger": lambda folder: shutil.copy(sorted(folder.glob("*/*"))[0], next(folder.glob("*/")) / "zz.xml"),
    "no loader": remove_loader,
    "loader changed": change_loader,
    "cut off": truncate,
    "no manifest": lambda folder: (folder / "set.json").unlink(),
}
for name, change in MUTANTS.items():
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(whole, scratch)
    change(scratch)
    result = subprocess.run([sccl, "check", str(scratch)], capture_output=True, text=True, check=False)
    first = result.stderr.replace(str(scratch) + "/", "").splitlines()[:1]
    print(f"{name}: exit {result.returncode}: {first[0] if first else 'accepted'}")
