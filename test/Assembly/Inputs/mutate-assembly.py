# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

# Name, function (or None for the whole text), what to look for, what to put there
# (every time).
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
    ("row of a signal through the read-only cache", "coll_signal", r"ld\.global\.v4", "ld.global.nc.v4"),
    ("epoch without barrier", "coll_end", r"\tbar\.sync.*\n", ""),
    ("copy through the read-only cache", "coll_copy", r"ld\.global\.v4", "ld.global.nc.v4"),
    ("copy by ldu", "coll_copy", r"ld\.global\.v4", "ldu.global.v4"),
    ("copy without a look at the alignment", "coll_copy", r"(and\.b64.*), 15;", r"\1, 0;"),
    ("reduction without a look at the alignment", "coll_reduce_elements", r"\t@%p1 bra.*\n", ""),
    ("reduction through the read-only cache", "coll_reduce_elements", r"ld\.global\.v4", "ld.global.nc.v4"),
    ("poll for another value", "coll_wait", r"setp\.lt\.u64", "setp.ne.u64"),
    ("poll for a greater value", "coll_wait", r"setp\.lt\.u64", "setp.gt.u64"),
    ("poll for a signed value", "coll_wait", r"setp\.lt\.u64", "setp.lt.s64"),
    ("poll for the same in each launch", "coll_wait", r"mad\.lo\.s64(\s+\S+).*", r"mov.b64\1 1;"),
    ("poll that is the only one", "coll_wait", r"(setp\.lt\.u64(?:.*\n)*?)\t@%p\d+ bra.*\n", r"\1"),
    ("poll without end", "coll_wait", r"(setp\.lt\.u64(?:.*\n)*?\t)@%p\d+ bra", r"\1bra.uni"),
    ("threads without a flag poll", "coll_wait", r"setp\.ge\.u32", "setp.lt.u32"),
    ("threads without a flag store", "coll_signal", r"setp\.ge\.u32", "setp.lt.u32"),
    ("predicated poll", "coll_wait", r"\tld\.acquire", r"\t@%p1 ld.acquire"),
    ("predicated flag store", "coll_signal", r"\tst\.release", r"\t@%p1 st.release"),
    ("abort word not compared", "coll_wait", r"setp\.ne\.b64.*", r"setp.eq.b64 %p2, %rd13, %rd13;"),
    ("abort word not loaded", "coll_wait", r"ld\.relaxed.*", "mov.b64 %rd14, 0;"),
    ("poll of another word", "coll_wait", r"(ld\.acquire.*\[)%rd\d+\]", r"\1%rd4]"),
    ("flag stored to another word", "coll_signal", r"(st\.release.*\[)%rd\d+\]", r"\1%rd5]"),
    ("same flag in each launch", "coll_signal", r"mad\.lo\.s64(\s+\S+).*", r"mov.b64\1 1;"),
    ("clock as a flag", "coll_signal", r"mad\.lo\.s64(\s+\S+).*", r"mov.u64\1 %clock64;"),
    ("another barrier", "coll_signal", r"bar\.sync\s+0", "bar.sync 1"),
    ("arrival at a barrier", "coll_signal", r"bar\.sync\s+0", "bar.arrive 0, 256"),
    ("bulk copy before a signal", "coll_signal", r"(\tbar\.sync)",
     r"\tcp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\n\1"),
    ("no epoch stored", "coll_end", r"\tst\.global.*\n", ""),
    ("another epoch stored", "coll_end", r"(st\.global.*) %rd\d+;", r"\1 %rd1;"),
    ("epoch as it was", "coll_begin", r"(add\.s64.*), 1;", r"\1, 0;"),
    ("no epoch of absent blocks", "coll_begin", r"\tst\.global.*\n", ""),
    ("another epoch of absent blocks", "coll_begin", r"(st\.global.*) %rd\d+;", r"\1 %rd3;"),
    ("kernels without waits", None, r"\tcall\.uni coll_wait.*\n", ""),
    ("kernels without signals", None, r"\tcall\.uni coll_signal.*\n", ""),
    ("kernels without epochs", None, r"\tcall\.uni coll_end.*\n", ""),
    ("kernels without transfers", None, r"\tcall\.uni coll_transfer.*\n", ""),
    ("call of nothing", None, r"call\.uni coll_wait", "call.uni coll_wait2"),
    ("kernel that stores", "(?:sum_rank0|sccl_table)", r"(\tcall\.uni.*\n)", r"\1\tst.global.b64 [%rd1], %rd2;\n"),
    ("flag in a function of its own", None, r"\Z", r"\n.func other()\n{\n\tst.relaxed.sys.global.b64 [%rd1], %rd2;\n\tret;\n}\n"),
    ("asynchronous copy", "coll_copy", r"(\tld\.global\.v4)", r"\tcp.async.cg.shared.global [%r1], [%rd1], 16;\n\1"),
    ("asynchronous store", "coll_copy", r"(\tst\.global\.v4)", r"\tst.async.weak.shared::cluster.b32 [%r1], %r2, [%r3];\n\1"),
    ("copy through textures", "coll_copy", r"(\tld\.global\.v4)", r"\ttex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\n\1"),
    ("text without its end", None, r"st\.release\.sys(?:.*\n)*", ""),
    ("atomic epoch", "coll_begin", r"ld\.global\.b64(\s+\S+\s+\S+);", r"atom.global.or.b64\1, 0;"),
]
PTX_MARKS = [
    ("time written elsewhere", "coll_mark", r"(st\.global\.b64\s+\[)%rd\d+", r"\1%rd99"),
    ("line read elsewhere", "coll_mark", r"(ld\.global\.b64\s+\S+ \[)%rd\d+", r"\1%rd99"),
    ("mark with a barrier", "coll_mark", r"(\tst\.global)", r"\tbar.sync 0;\n\1"),
    ("mark as a flag", "coll_mark", r"st\.global", "st.release.sys.global"),
    ("record begun elsewhere", "coll_record", r"(st\.global\.b64\s+\[)%rd\d+", r"\1%rd99"),
]
GCN_MARKS = [
    ("time written elsewhere", "coll_mark", r"(global_store_dwordx2) v\[\d+:\d+\]", r"\1 v[98:99]"),
    ("line read elsewhere", "coll_mark", r"(global_load_dwordx2 \S+) v\[\d+:\d+\]", r"\1 v[98:99]"),
    ("mark with a barrier", "coll_mark", r"(\tglobal_store)", r"\ts_barrier\n\1"),
    ("record begun elsewhere", "coll_record", r"(global_store_dwordx[24]) v\[\d+:\d+\]", r"\1 v[98:99]"),
]
PTX_LL = [
    ("LL word polled without order", "coll_reduce_elements_pmp_terms", r"ld\.relaxed\.sys", "ld"),
    ("LL word polled at gpu scope", "coll_reduce_elements_pmp_terms", r"ld\.relaxed\.sys", "ld.relaxed.gpu"),
    ("LL word polled as volatile", "coll_copy_mp", r"ld\.relaxed\.sys", "ld.volatile"),
    ("LL word of 32 bits polled", "coll_copy_mp", r"(ld\.relaxed\.sys\.global.*)b64", r"\1b32"),
    ("number not compared", "coll_copy_mp", r"\tsetp\.(?:ne|eq)\.b32.*\n", ""),
    ("other number compared", "coll_reduce_elements_pmp_terms", r"(setp\.ne\.b32\s+\S+) (%r\d+), %r\d+;", r"\1 \2, \2;"),
    ("second number of a pair not compared", "coll_copy_mp", r"(setp\.ne\.b32\s+\S+) (%r\d+)(, %r\d+;\n\tsetp\.ne\.b32\s+\S+) %r\d+",
     r"\1 \2\3 \2"),
    ("LL word read again without order", "coll_reduce_elements_pmp_terms", r"(\tld\.relaxed\.sys\.global\.v2.*)(\[\S+\];)",
     r"\1\2\n\tld.global.b64 %rd1, \2"),
    ("LL word sent without order", "coll_reduce_elements_pmp_terms", r"st\.relaxed\.sys", "st"),
    ("LL word sent at gpu scope", "coll_copy_pm", r"st\.relaxed\.sys", "st.relaxed.gpu"),
    ("LL word of 32 bits sent", "coll_copy_pm", r"(st\.relaxed\.sys\.global.*)b64", r"\1b32"),
    ("no LL word sent", "coll_copy_pm", r"\tst\.relaxed.*\n", ""),
    ("LL words through the read-only cache", "coll_copy_mp", r"ld\.relaxed\.sys\.global", "ld.global.nc"),
]
GCN_LL = [
    ("LL word of 32 bits polled", "coll_copy_mp", r"global_load_dwordx2 v\[(\d+):\d+\]", r"global_load_dword v\1"),
    ("number not compared", "coll_copy_mp", r"\tv_cmp_(?:ne|eq)_u32.*\n", ""),
    ("other number compared", "coll_reduce_elements_pmp_terms", r"(v_cmp_ne_u32\S* \S+) (v\d+), v\d+", r"\1 \2, \2"),
    ("LL word compared too early", "coll_copy_mp", r"\ts_waitcnt vmcnt\(0\)\n", ""),
    ("LL word compared before the last but one", "coll_copy_mp", r"s_waitcnt vmcnt\(1\)", "s_waitcnt vmcnt(2)"),
    ("LL word of 32 bits sent", "coll_copy_pm", r"global_store_dwordx2", "global_store_dword"),
    ("no LL word sent", "coll_copy_pm", r"\tglobal_store_dwordx2.*\n", ""),
    ("LL word polled from the cache", "coll_reduce_elements_pmp_terms", r"(global_load_dwordx2 .*off).*", r"\1"),
]
SCOPED_LL = [
    ("LL word polled at agent scope", "coll_reduce_elements_pmp_terms", r"(global_load_dwordx2 .*off) sc0 sc1", r"\1 sc1"),
    ("LL word sent at agent scope", "coll_copy_pm", r"(global_store_dwordx2 .*off) sc0 sc1", r"\1 sc1"),
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
    ("poll for another value", "coll_wait", r"v_cmp_ge_u64", "v_cmp_eq_u64"),
    ("poll for a smaller value", "coll_wait", r"v_cmp_ge_u64", "v_cmp_lt_u64"),
    ("poll for a signed value", "coll_wait", r"v_cmp_ge_u64", "v_cmp_ge_i64"),
    ("poll for the same in each launch", "coll_wait", r"\tv_mad_u64_u32.*\n", ""),
    ("poll that is the only one", "coll_wait", r"(s_andn2_b64 exec.*\n\t)s_cbranch_execz", r"\1s_branch"),
    ("poll without end", "coll_wait", r"(s_andn2_b64 exec.*\n)\ts_cbranch_execz.*\n", r"\1"),
    ("threads that stay in the loop", "coll_wait", r"\ts_andn2_b64 exec.*\n", ""),
    ("flag not compared", "coll_wait", r"\tv_cmp_ge_u64.*\n", ""),
    ("threads without a flag poll", "coll_wait", r"v_cmp_lt_u32", "v_cmp_ge_u32"),
    ("threads without a flag store", "coll_signal", r"v_cmp_lt_u32", "v_cmp_ge_u32"),
    ("abort word not compared", "coll_wait", r"\tv_cmp_eq_u64.*\n", ""),
    ("abort word not loaded", "coll_wait", r"\tglobal_load_dwordx2 \S+ v\[8:9\].*\n", ""),
    ("poll of another word", "coll_wait", r"(global_load_dwordx2 \S+) v\[2:3\]", r"\1 v[30:31]"),
    ("flag stored to another word", "coll_signal", r"global_store_dwordx2 v\[\d:\d\]", r"global_store_dwordx2 v[30:31]"),
    ("same flag in each launch", "coll_signal", r"\tv_mad_u64_u32.*\n", ""),
    ("no epoch stored", "coll_end", r"\tglobal_store.*\n", ""),
    ("constant epoch stored", "coll_end", r"(\tglobal_store_dwordx2 \S+) \S+,", r"\tv_mov_b32 v40, 1\n\1 v[40:41],"),
    ("no epoch of absent blocks", "coll_begin", r"\tglobal_store.*\n", ""),
    ("constant epoch of absent blocks", "coll_begin", r"(\tglobal_store_dwordx2 \S+) \S+,", r"\tv_mov_b32 v40, 1\n\1 v[40:41],"),
    ("epoch as it was", "coll_begin", r"(v_add_co_u32_e\d+ v\d+, \S+, )1\b|(v_lshl_add_u64 \S+, \S+, 0, )1\b",
     r"\g<1>\g<2>0"),
    ("addresses without calls", None, r"\ts_swappc_b64.*\n", ""),
    ("kernels without waits", None, r"coll_wait@", "coll_signal@"),
    ("kernels without epochs", None, r"coll_end@", "coll_begin@"),
    ("kernel that stores", "(?:sum_rank0|sccl_table)", r"(\ts_endpgm)", r"\tglobal_store_dwordx2 v[0:1], v[2:3], off sc0 sc1\n\1"),
    ("copy past registers", "coll_copy", r"(\tglobal_load_dwordx4)", r"\tglobal_load_lds_dword v[0:1], off\n\1"),
    ("scalar store", "coll_copy", r"(\tglobal_load_dwordx4)", r"\ts_store_dword s0, s[2:3], 0x0\n\1"),
    ("text without its end", None, r"\tglobal_store_dwordx4(?:.*\n)*", ""),
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
    if "coll_mark" in text:
        return PTX_MARKS if path.suffix == ".ptx" else GCN_MARKS
    if "coll_copy_pm" in text:
        if path.suffix == ".ptx":
            return PTX_LL
        return GCN_LL + ([] if "--gfx90" in text else SCOPED_LL)
    if path.suffix == ".ptx":
        return PTX
    if "--gfx90a" in text:
        return BOTH_GCN + OLD_GCN + GFX90A
    return BOTH_GCN + (OLD_GCN if "--gfx90" in text else SCOPED)


def body(path, text, function):
    """Where the function begins and ends."""
    if function is None:
        return 0, len(text)
    if path.suffix == ".ptx":
        pattern = rf"^(?:\.visible )?\.(?:func|entry)\b[^;{{}}]*\b{function}\([^;]*?^\{{.*?^\}}"
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
            found = re.search(r"([A-Z]\d): (.*)", check.stderr)
            if check.returncode == 1 and found:
                print(f"{name}: {found[2]} ({found[1]})")
                caught += 1
            else:
                print(f"{name}: MISSED")
                bad += 1
    print(f"{caught} caught, {bad} missed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
