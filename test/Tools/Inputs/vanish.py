# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs COMMAND with OUT replaced by FOLDER/NAME again and again, the n-th time with
FOLDER removed before the n-th call that has to do with it (vanishing-folder.c), until
nothing is removed. A tool that fails must end with 1 and say so; one that does not
must leave what it leaves undisturbed; and nothing may be half written.
usage: LIBRARY FOLDER NAME COMMAND...
"""

import os
import shutil
import subprocess
import sys


def files_in(folder):
    """The bytes of every file, by its path; empty if there is no folder."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def run(library, folder, command, number):
    """Its exit code, what it said, whether the folder was removed, what is left."""
    mark = folder + ".gone"
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(mark):
        os.remove(mark)
    os.makedirs(folder)
    disturbed = {"LD_PRELOAD": library, "SCCL_VANISHES": folder, "SCCL_VANISH_AT": str(number)}
    done = subprocess.run(
        command, env=os.environ | disturbed, capture_output=True, text=True, errors="replace"
    )
    return done.returncode, done.stderr, os.path.exists(mark), files_in(folder)


def main():
    library, folder, out = sys.argv[1:4]
    command = [os.path.join(folder, out) if word == "OUT" else word for word in sys.argv[4:]]
    code, said, _, whole = run(library, folder, command, 0)
    if code != 0 or not whole:
        sys.exit(f"undisturbed: exit code {code}, {said}")
    number, overcome = 0, 0
    while True:
        number += 1
        code, said, is_gone, left = run(library, folder, command, number)
        where = f"call {number} of {' '.join(command)}: "
        if any(whole.get(name) != data for name, data in left.items()):
            sys.exit(where + f"left {sorted(left)}")
        if not is_gone:
            break
        overcome += code == 0
        if code == 0 and left != whole:
            sys.exit(where + f"nothing said, and left {sorted(left)}")
        if code != 0 and (code != 1 or folder not in said or "error: " not in said):
            sys.exit(where + f"exit code {code}: {said}")
    print(f"{number - 1} calls, {overcome} overcome")


main()
