# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks `sccl check --litmus` about PTX that is broken in every way that the tests of the
audit know, and in some that the audit forbids though the memory model allows them.

usage: weaken-protocol.py MUTATE-ASSEMBLY.PY FILE.ptx

Prints each mutant with the first shape that goes wrong, the error, or "allowed".
"""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

SOUND = [
    ("fence and relaxed store", "coll_signal", r"\tst\.release", "\tfence.acq_rel.sys;\n\tst.relaxed"),
    ("fence.sc and relaxed store", "coll_signal", r"\tst\.release", "\tfence.sc.sys;\n\tst.relaxed"),
    ("membar and relaxed store", "coll_signal", r"\tst\.release", "\tmembar.sys;\n\tst.relaxed"),
    ("relaxed poll and fence", "coll_wait", r"ld\.acquire((?:.*\n)*?)(\tbar\.sync)", r"ld.relaxed\1\tfence.acq_rel.sys;\n\2"),
    ("payload stored relaxed", "coll_copy", r"st\.global", "st.relaxed.sys.global"),
    ("two barriers", "coll_signal", r"(\tbar\.sync.*\n)", r"\1\1"),
]
UNSOUND = [
    ("fence behind the flag", "coll_signal", r"(\tst)\.release(.*\n)", r"\1.relaxed\2\tfence.acq_rel.sys;\n"),
    ("fence at gpu scope behind the poll", "coll_wait", r"ld\.acquire((?:.*\n)*?)(\tbar\.sync)",
     r"ld.relaxed\1\tfence.acq_rel.gpu;\n\2"),
    ("flag at gpu scope behind a fence", "coll_signal", r"\tst\.release\.sys", "\tfence.acq_rel.sys;\n\tst.relaxed.gpu"),
    ("fence of some threads", "coll_signal", r"\tst\.release", "\t@%p1 fence.acq_rel.sys;\n\tst.relaxed"),
    ("fence behind the barrier of a wait", "coll_wait", r"ld\.acquire((?:.*\n)*?\tbar\.sync.*\n)",
     r"ld.relaxed\1\tfence.acq_rel.sys;\n"),
    ("partial barrier of a wait", "coll_wait", r"(bar\.sync\s+0);", r"\1, 64;"),
]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    spec = importlib.util.spec_from_file_location("mutants", sys.argv[1])
    assembly = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(assembly)
    path = pathlib.Path(sys.argv[2])
    text = path.read_text()
    allowed = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        mutant = pathlib.Path(folder) / "mutant.ptx"
        own = [] if "coll_copy_pm" in text else SOUND + UNSOUND
        for name, function, old, new in own + assembly.mutants(path, text):
            begin, end = assembly.body(path, text, function) or (0, 0)
            changed, count = re.subn(old, new, text[begin:end])
            if not count:
                sys.exit(f"{name}: nothing to change in {function}")
            mutant.write_text(text[:begin] + changed + text[end:])
            check = subprocess.run(["sccl", "check", "--litmus", mutant], capture_output=True, text=True)
            wrong = re.search(r'litmus "(.*)": (sometimes|stuck),', check.stdout)
            error = re.search(r"\.ptx:\d+:\d+: (.*)", check.stderr)
            what = f"{wrong[1]}: {wrong[2]}" if wrong else error[1] if error else "allowed"
            if (what == "allowed") != (check.returncode == 0):
                sys.exit(f"{name}: exit {check.returncode}: {check.stderr}")
            allowed += what == "allowed"
            refused += what != "allowed"
            print(f"{name}: {what}")
    print(f"{refused} refused, {allowed} allowed")


if __name__ == "__main__":
    main()
