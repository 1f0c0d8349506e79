# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deletes lines of a schedule or a program, one at a time, and sees what happens.

usage: mutate.py FILE OP...

For each line that holds one of the OPs, writes FILE without that line and gives
it to `sccl check`. What the checker accepts nevertheless must run: `sccl run`
must find no wrong element. Prints how many mutants were caught and how many
were harmless; fails if one was accepted but does not run.
"""
import pathlib
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def main():
    source = pathlib.Path(sys.argv[1])
    lines = source.read_text().splitlines(keepends=True)
    targets = [
        i for i, line in enumerate(lines) if any(op in line for op in sys.argv[2:])
    ]
    caught = harmless = missed = 0
    with tempfile.TemporaryDirectory() as folder:
        mutant = str(pathlib.Path(folder) / "mutant.mlir")
        for i in targets:
            pathlib.Path(mutant).write_text("".join(lines[:i] + lines[i + 1 :]))
            check = run("sccl", "check", mutant)
            if check.returncode == 1 and "error: " in check.stderr:
                caught += 1
                continue
            execution = run("sccl", "run", mutant, "--bytes=4096", "--timeout=60")
            if check.returncode == 0 and execution.returncode == 0:
                harmless += 1
                continue
            missed += 1
            print(f"line {i + 1} deleted: {lines[i].strip()}")
            print(check.stderr + execution.stdout + execution.stderr)
    print(f"{len(targets)} mutants: {caught} caught, {harmless} harmless")
    return 1 if missed or not targets else 0


if __name__ == "__main__":
    sys.exit(main())
