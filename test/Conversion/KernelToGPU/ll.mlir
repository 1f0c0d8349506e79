// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table -convert-kernel-to-gpu=target=rocdl | FileCheck %s --check-prefixes=TABLE
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: not sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=element=i64 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host=element=u64 2>&1 | FileCheck %s --check-prefix=WIDE

// WIDE: error: LL words carry 4 bytes each, but elements of {{[iu]}}64 have 8

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}

// Only the combinations that the program needs.
// GPU-LABEL:  llvm.func internal @coll_transfer_pm(
// GPU-LABEL:  llvm.func internal @coll_copy_pm(
// GPU-NOT:      ld.relaxed
// GPU:          llvm.inline_asm has_side_effects "st.relaxed.sys.global.v2.b64 [$0+4096], {$1, $2};"
// GPU:          llvm.store {{.*}} atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// GPU-LABEL:  llvm.func internal @coll_reduce_mmp(
// GPU-LABEL:  llvm.func internal @coll_reduce_elements_mmp(
// GPU-NOT:      gpu.barrier
// GPU:          scf.while
// GPU:            scf.while
// GPU-COUNT-4:      llvm.inline_asm has_side_effects "ld.relaxed.sys.global.v2.b64 {$0, $1}, [$2+{{[0-9]+}}];"
// GPU:              %[[WORD:.*]] = llvm.extractvalue %{{.*}}[1]
// GPU:              %[[HALVES:.*]] = llvm.bitcast %{{.*}} : i64 to vector<2xi32>
// GPU:              %[[NUMBER:.*]] = llvm.extractelement %[[HALVES]]
// GPU:              arith.cmpi ne, %[[NUMBER]], %{{.*}} : i32
// GPU:          arith.addf
// GPU-NOT:    _ppp

// No flags: nothing is signalled and nothing waited for. Slots count double, in
// both halves.
// CHECK-LABEL: @sum_rank0
// CHECK-NOT:     call @coll_{{wait|signal}}
// CHECK:         call @coll_transfer_pm(
// CHECK-NOT:     call @coll_{{wait|signal}}
// CHECK-LABEL: @sum_rank1
// CHECK:         arith.muli %{{.*}}, %c4_i32
// HOST-LABEL:  llvm.func internal @coll_copy_pm(
// HOST-LABEL:  llvm.func internal @coll_reduce_elements_mmp(
// HOST:          llvm.load {{.*}} atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
// HOST:          llvm.call @sched_yield

// There is nothing wider than a word that AMD does not tear.
// TABLE-NOT:   llvm.inline_asm
// TABLE-LABEL: gpu.func @sccl_table(
// TABLE-DAG:     llvm.call @coll_transfer_pm(
// TABLE-DAG:     llvm.call @coll_reduce_mmp(
coll.program @sum of all_reduce on @pair chunks = 1 blocks = 1 double_buffered ll {
  coll.rank 0 scratch = 2 {
    coll.channel to 0 {
      coll.local_reduce chunk 0 from input[0], scratch[1] to output[0] step = 0 final
    }
    coll.channel to 1 {
      coll.put chunk 0 from input[0] to scratch[1] step = 0
    }
  }
  coll.rank 1 scratch = 2 {
    coll.channel to 0 {
      coll.put chunk 0 from input[0] to scratch[1] step = 0
    }
    coll.channel to 1 {
      coll.local_reduce chunk 0 from input[0], scratch[1] to output[0] step = 0 final
    }
  }
}
