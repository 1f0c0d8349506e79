// What goes through a switch does so in plain scratch, in one place on all ranks.
//
// RUN: not sccl-opt %s -sccl-lower='in-network order=any ll' 2>&1 | FileCheck %s --check-prefix=LL
// RUN: not sccl-opt %s -sccl-lower='in-network order=any double-buffer' 2>&1 | FileCheck %s --check-prefix=HALVES
// RUN: not sccl-opt %s -sccl-lower='in-network wire=f32 element=bf16' 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not sccl-opt %s -sccl-lower='in-network order=any transport=dma' 2>&1 | FileCheck %s --check-prefix=ENGINES
//
// In one step each rank has another sum: nobody knows that they are one.
// RUN: not sccl-opt %s -sccl-lower='in-network' 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not sccl-opt %s -sccl-lower='in-network order=rank' 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: sccl-opt %s -sccl-lower='in-network order=any' | FileCheck %s --check-prefix=ANY

// LL: error: {{.*}}cannot use switches: LL words tell of themselves only in what is put
// HALVES: error: {{.*}}cannot use switches: halves of scratch are not at the same place on all ranks
// WIDE: error: {{.*}}cannot use switches: wide slots come first in scratch
// ENGINES: error: {{.*}}cannot use switches: copy engines move something
// SAME: error: {{.*}}combines chunk 0 in different orders: rank 0 ends with {{[{].*[}]}}, rank 1 with
// RANK: error: {{.*}}(T
// ANY: coll.load_reduce
coll.topology @box ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast reduces
}
coll.schedule @pull of all_reduce on @box chunks = 1 {
  coll.step rounds = 2 {
    coll.reduce 0 over 0 -> 1
    coll.reduce 0 over 0 -> 2
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 1 -> 2
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 2 -> 1
  }
}
