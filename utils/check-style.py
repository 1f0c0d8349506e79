#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what C, C++, Python and shell look like.

usage: check-style.py SOURCE-DIR [--fix]

- C and C++ are as clang-format 14 writes them, the version of Debian 12: others write
  something else. --fix formats what is not.
- Each file in C, C++, Python and shell has a line with SPDX-License-Identifier, but those of
  docs/examples, which are there to be copied.
"""
import os
import pathlib
import shutil
import subprocess
import sys

FORMATTED = {".h", ".cpp", ".c"}
LICENSED = FORMATTED | {".py", ".sh", ".td", ".def"}
FORMATTER = "clang-format-14"


def sources(root):
    """All files but what is built, and what belongs to git."""
    for folder, folders, names in os.walk(root):
        inside = pathlib.Path(folder) != root
        folders[:] = sorted(
            name for name in folders if inside or not name.startswith((".git", "build"))
        )
        yield from (pathlib.Path(folder) / name for name in sorted(names))


def unformatted(files):
    """What of `files` the formatter would change, from one run of it."""
    command = [FORMATTER, "--dry-run", "--Werror", "-ferror-limit=1", *map(str, files)]
    run = subprocess.run(command, capture_output=True, text=True)
    changed = {line.split(":")[0] for line in run.stderr.splitlines() if ": error: " in line}
    if run.returncode != 0 and not changed:
        raise SystemExit(f"check-style: {FORMATTER} failed: {run.stderr}")
    return changed


def main():
    root = pathlib.Path(sys.argv[1])
    if not shutil.which(FORMATTER):
        raise SystemExit(f"check-style: there is no {FORMATTER}; see utils/install-packages.sh")
    files = list(sources(root))
    formatted = [file for file in files if file.suffix in FORMATTED]
    if "--fix" in sys.argv[2:]:
        subprocess.run([FORMATTER, "-i", *map(str, formatted)], check=True)
    problems = [f"{file}: not as {FORMATTER} writes it" for file in unformatted(formatted)]
    licensed = [
        file
        for file in files
        if file.suffix in LICENSED and "docs/examples" not in file.relative_to(root).as_posix()
    ]
    problems += [
        f"{file}: no SPDX-License-Identifier"
        for file in licensed
        if "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" not in file.read_text()
    ]
    for problem in sorted(problems):
        print(f"check-style: {problem}")
    print(f"{len(formatted)} formatted, {len(licensed)} licensed, {len(problems)} problems")
    return 1 if problems or not formatted or not licensed else 0


if __name__ == "__main__":
    sys.exit(main())
