#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the commits since BASE.

usage: check-commits.py BASE

A subject is "[Area] Imperative summary" in at most 90 characters without a period at the
end; areas are the folders of lib/, before the commit or after it, and what CONTRIBUTING.md
lists. There are no merges. Where the history does not reach back to BASE, as in a shallow
clone, nothing is checked.
"""
import pathlib
import re
import subprocess
import sys

# Verbs that end like a past, a gerund or a third person.
VERBS = set("Address Bring Bypass Compress Discuss Embed Express Feed Focus Need Pass".split())
VERBS |= set("Press Process Proceed Seed Shed Speed Suppress Succeed Exceed".split())


def git(*arguments):
    command = ["git", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed_areas():
    text = pathlib.Path("CONTRIBUTING.md").read_text()
    return set(re.search(r"areas are the folders.*?\n\n`([\w ]+)`", text, flags=re.S)[1].split())


def folders_of(commits):
    return {
        line.removeprefix("lib/")
        for commit in commits
        for line in git("ls-tree", "-d", "--name-only", commit, "lib/").splitlines()
    }


def problems_of(subject, known):
    match = re.fullmatch(r"\[(\w+)\] (([A-Z][a-z]+|sccl)\b.*[^.])", subject)
    if not match:
        yield "is not '[Area] Imperative summary'"
        return
    area, _, verb = match.groups()
    if area not in known:
        yield f"{area} is no area"
    if re.search(r"(ing|ed|[^s]s|ss)$", verb) and verb not in VERBS:
        yield f"{verb} is not imperative"
    if len(subject) > 90:
        yield f"has {len(subject)} characters"


def main():
    base = sys.argv[1]
    ancestor = ["git", "merge-base", "--is-ancestor", base, "HEAD"]
    if subprocess.run(ancestor, capture_output=True).returncode:
        print(f"check-commits: {base} is not in this history")
        return 0
    listed, count, bad = listed_areas(), 0, 0
    for line in git("log", "--format=%h%x01%p%x01%s", f"{base}..HEAD").splitlines():
        commit, parents, subject = line.split("\x01")
        around = [commit, *parents.split()]
        problems = list(problems_of(subject, listed | folders_of(around)))
        if len(around) > 2:
            problems = ["is a merge"]
        for problem in problems:
            print(f"check-commits: {commit} '{subject}': {problem}")
        count += 1
        bad += bool(problems)
    print(f"{count} commits, {bad} with problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
