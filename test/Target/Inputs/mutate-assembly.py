"""Breaks the flags in assembly in every way we know of, one at a time, and asks
`sccl check` about each.

usage: mutate-assembly.py FILE.ptx|FILE.s

Prints each mutant with what was found, or that it was missed. Fails if one was
missed, or if there was nothing to change for one.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Name, function, what to look for, what to put there (every time).
PTX = [
    ("signal without barrier", "coll_signal", r"\tbar\.sync.*\n", ""),
    ("signal with partial barrier", "coll_signal", r"(bar\.sync\s+0);", r"\1, 64;"),
    ("signal with predicated barrier", "coll_signal", r"\tbar\.sync", "\t@%p1 bar.sync"),
    ("signal with warp barrier", "coll_signal", r"bar\.sync\s+0", "bar.warp.sync -1"),
    ("barrier after the flag", "coll_signal", r"(\tbar\.sync.*\n)((?:.*\n)*?)(\tst\.rel.*\n)", r"\2\3\1"),
    ("release at gpu scope", "coll_signal", r"st\.release\.sys", "st.release.gpu"),
    ("release at cta scope", "coll_signal", r"st\.release\.sys", "st.release.cta"),
    ("plain flag store", "coll_signal", r"st\.release\.sys", "st"),
    ("relaxed flag store", "coll_signal", r"st\.release\.sys", "st.relaxed.sys"),
    ("volatile flag store", "coll_signal", r"st\.release\.sys", "st.volatile"),
    ("fence before the barrier", "coll_signal", r"(\tbar\.sync.*\n)((?:.*\n)*?)(\tst)\.release",
     r"\tfence.acq_rel.sys;\n\1\2\3.relaxed"),
    ("fence at gpu scope", "coll_signal", r"(\tst)\.release", r"\tfence.acq_rel.gpu;\n\1.relaxed"),
    ("no flag store", "coll_signal", r"\tst\.release.*\n", ""),
    ("flag of 32 bits", "coll_signal", r"st\.release\.sys\.global\.b64", "st.release.sys.global.b32"),
    ("flag by read-modify-write", "coll_signal", r"st\.release\.sys\.global\.b64", "red.release.sys.global.add.u64"),
    ("wait without barrier", "coll_wait", r"\tbar\.sync.*\n", ""),
    ("wait with predicated barrier", "coll_wait", r"\tbar\.sync", "\t@%p1 bar.sync"),
    ("acquire at gpu scope", "coll_wait", r"ld\.acquire\.sys", "ld.acquire.gpu"),
    ("relaxed poll", "coll_wait", r"ld\.acquire\.sys", "ld.relaxed.sys"),
    ("plain poll", "coll_wait", r"ld\.acquire\.sys", "ld"),
    ("volatile poll", "coll_wait", r"ld\.acquire\.sys", "ld.volatile"),
    ("acquire of the abort word", "coll_wait", r"ld\.acquire((?:.*\n)*?.*)ld\.relaxed", r"ld.relaxed\1ld.acquire"),
    ("poll of 32 bits", "coll_wait", r"ld\.acquire\.sys\.global\.b64", "ld.acquire.sys.global.b32"),
    ("abort word at no scope", "coll_wait", r"ld\.relaxed\.sys", "ld"),
    ("poll after the barrier", "coll_wait", r"(\tbar\.sync.*\n)", r"\1\tld.acquire.sys.global.b64 %rd1, [%rd1];\n"),
    ("thread without a flag skips the barrier of a signal", "coll_signal",
     r"(\tbar\.sync.*\n)(\t@%p1 bra.*\n)", r"\2\1"),
    ("thread without a flag skips the barrier of a wait", "coll_wait", r"@%p1 bra.*;", "@%p1 ret;"),
    ("row read in the poll loop", "coll_wait", r"(\tld\.acquire.*\n)", r"\tld.global.b32 %r4, [%rd9+4];\n\1"),
    ("row read after the poll", "coll_wait", r"(\tbar\.sync.*\n)", r"\tld.global.b32 %r4, [%rd9+4];\n\1"),
    ("row of a wait through the read-only cache", "coll_wait", r"ld\.global\.b32", "ld.global.nc.b32"),
    ("row of a signal through the read-only cache", "coll_signal", r"ld\.global\.b32", "ld.global.nc.b32"),
    ("epoch without barrier", "coll_end", r"\tbar\.sync.*\n", ""),
    ("copy through the read-only cache", "coll_copy", r"ld\.global\.v4", "ld.global.nc.v4"),
    ("copy by ldu", "coll_copy", r"ld\.global\.v4", "ldu.global.v4"),
    ("combine through the read-only cache", "coll_combine", r"ld\.global\.v4", "ld.global.nc.v4"),
    ("atomic epoch", "coll_begin", r"ld\.global\.b64(\s+\S+\s+\S+);", r"atom.global.or.b64\1, 0;"),
]
BOTH_GCN = [
    ("signal without barrier", "coll_signal", r"\ts_barrier\n", ""),
    ("barrier after the flag", "coll_signal", r"(\ts_barrier\n)((?:.*\n)*?)(\tglobal_store.*\n)", r"\2\3\1"),
    ("signal without waits", "coll_signal", r"\ts_waitcnt vmcnt.*\n", ""),
    ("signal that waits for fewer", "coll_signal", r"vmcnt\(0\)", "vmcnt(1)"),
    ("no flag store", "coll_signal", r"\tglobal_store.*\n", ""),
    ("flag of 32 bits", "coll_signal", r"global_store_dwordx2", "global_store_dword"),
    ("flag by read-modify-write", "coll_signal", r"global_store_dwordx2", "global_atomic_add_x2"),
    ("wait without barrier", "coll_wait", r"\ts_barrier\n", ""),
    ("poll that waits for nothing", "coll_wait", r"\ts_waitcnt vmcnt\(0\)\n", ""),
    ("thread without a flag skips the barrier of a signal", "coll_signal",
     r"(\ts_barrier\n)((?:.*\n)*?)(\ts_cbranch_execz.*\n)", r"\2\3\1"),
    ("row read in the poll loop", "coll_wait", r"(\tglobal_load_dwordx2 .*\n\ts_waitcnt vmcnt\(0\)\n\tbuffer)",
     r"\tglobal_load_dword v40, v[0:1], off\n\1"),
    ("row read after the poll", "coll_wait", r"(\ts_barrier\n)", r"\tglobal_load_dword v40, v[0:1], off\n\1"),
    ("row through the scalar cache", "coll_wait", r"(\ts_and_saveexec.*\n)", r"\ts_load_dword s4, s[4:5], 0x0\n\1"),
    ("epoch without barrier", "coll_end", r"\ts_barrier\n", ""),
    ("copy through the scalar cache", "coll_copy", r"global_load_dwordx4 .*", "s_load_dwordx4 s[4:7], s[4:5], 0x0"),
]
OLD_GCN = [
    ("poll from the cache", "coll_wait", r" glc", ""),
    ("wait keeps the L1", "coll_wait", r"\tbuffer_wbinvl1_vol\n", ""),
    ("acquire of the abort word", "coll_wait", r"((?:\tbuffer_invl2\n)?\tbuffer_wbinvl1_vol\n)((?:.*\n)*?.* glc\n(?:.*\n)*?\ts_waitcnt vmcnt\(0\)\n)", r"\2\1"),
    ("L1 dropped too early", "coll_wait", r"(\ts_waitcnt vmcnt\(0\)\n)((?:\tbuffer_invl2\n)?)(\tbuffer_wbinvl1_vol\n)", r"\2\3\1"),
]
GFX90A = [
    ("no write-back", "coll_signal", r"\tbuffer_wbl2\n", ""),
    ("write-back by one wave only", "coll_signal", r"\tbuffer_wbl2\n(\ts_waitcnt)", r"\1"),
    ("no wait for the write-back", "coll_signal", r"(\tbuffer_wbl2\n)\ts_waitcnt vmcnt\(0\)\n", r"\1"),
    ("wait keeps the L2", "coll_wait", r"\tbuffer_invl2\n", ""),
]
SCOPED = [
    ("no write-back", "coll_signal", r"\tbuffer_wbl2.*\n", ""),
    ("write-back by one wave only", "coll_signal", r"\tbuffer_wbl2.*\n(\ts_waitcnt)", r"\1"),
    ("no wait for the write-back", "coll_signal", r"(\tbuffer_wbl2.*\n)\ts_waitcnt vmcnt\(0\)\n", r"\1"),
    ("write-back at agent scope", "coll_signal", r"buffer_wbl2 sc0 sc1", "buffer_wbl2 sc1"),
    ("flag at agent scope", "coll_signal", r"off sc0 sc1", "off sc1"),
    ("plain flag store", "coll_signal", r"off sc0 sc1", "off"),
    ("poll at agent scope", "coll_wait", r"off sc0 sc1", "off sc1"),
    ("poll from the cache", "coll_wait", r"off sc0 sc1", "off"),
    ("wait keeps the caches", "coll_wait", r"\tbuffer_inv.*\n", ""),
    ("caches dropped at agent scope", "coll_wait", r"buffer_inv sc0 sc1", "buffer_inv sc1"),
    ("acquire of the abort word", "coll_wait", r"(\tbuffer_inv.*\n)((?:.*\n)*?.*off sc0 sc1\n(?:.*\n)*?\ts_waitcnt vmcnt\(0\)\n)", r"\2\1"),
    ("caches dropped too early", "coll_wait", r"(\ts_waitcnt vmcnt\(0\)\n)(\tbuffer_inv.*\n)", r"\2\1"),
]


def mutants(path, text):
    if path.suffix == ".ptx":
        return PTX
    if "--gfx90a" in text:
        return BOTH_GCN + OLD_GCN + GFX90A
    return BOTH_GCN + (OLD_GCN if "--gfx90" in text else SCOPED)


def body(path, text, function):
    """Where the function begins and ends."""
    if path.suffix == ".ptx":
        pattern = rf"^(?:\.visible )?\.func\b[^;{{}}]*\b{function}\([^;]*?^\{{.*?^\}}"
    else:
        pattern = rf"^{function}:.*?^\.Lfunc_end"
    match = re.search(pattern, text, re.S | re.M)
    return match.span() if match else None


def main():
    source = pathlib.Path(sys.argv[1])
    text = source.read_text()
    caught = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        mutant = pathlib.Path(folder) / ("mutant" + source.suffix)
        for name, function, old, new in mutants(source, text):
            begin, end = body(source, text, function) or (0, 0)
            changed, count = re.subn(old, new, text[begin:end])
            if count == 0:
                print(f"{name}: nothing to change in {function}")
                bad += 1
                continue
            mutant.write_text(text[:begin] + changed + text[end:])
            check = subprocess.run(
                ["sccl", "check", str(mutant)], capture_output=True, text=True
            )
            found = re.search(r"P1: (.*)", check.stderr)
            if check.returncode == 1 and found:
                print(f"{name}: {found[1]}")
                caught += 1
            else:
                print(f"{name}: MISSED")
                bad += 1
    print(f"{caught} caught, {bad} missed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
