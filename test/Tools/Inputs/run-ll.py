# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a schedule with LL words, at many sizes and in both code shapes.

usage: run-ll.py FILE SEGMENTS

A send buffer has SEGMENTS segments. Prints what fails, and a count; fails if
anything did.
"""
import subprocess
import sys

LAUNCHES = 64
SEGMENT_BYTES = 0, 4, 100, 4100, 65536


def main():
    path, segments = sys.argv[1], int(sys.argv[2])
    runs = failed = 0
    for size in SEGMENT_BYTES:
        # 65536 is the size of the send buffer.
        total = size if size == 65536 else size * segments
        for shape in "unrolled", "table":
            command = ["sccl", "run", path, "--ll", f"--bytes={total}"]
            command += [f"--code-shape={shape}", f"--iterations={LAUNCHES}"]
            result = subprocess.run(command, capture_output=True, text=True)
            runs += 1
            if result.returncode != 0 or "#wrong 0 of" not in result.stdout:
                failed += 1
                print(*command, result.stdout, result.stderr, sep="\n")
    print(f"{runs} runs, {LAUNCHES} launches each, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
