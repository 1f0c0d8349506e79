// RUN: sccl-opt %s -coll-lower-schedule=order=tree -coll-fuse-reductions=unweighted | FileCheck %s
// RUN: sccl-opt %s -coll-lower-schedule=order=left -coll-fuse-reductions | FileCheck %s --check-prefix=LEFT
// RUN: sccl-opt %s -coll-lower-schedule=order=tree -coll-fuse-reductions=one-by-one | FileCheck %s --check-prefix=SINGLE
// RUN: sccl-opt %s -sccl-lower=order=tree -o /dev/null
// RUN: sccl-opt %s "-sccl-lower=order=((1+3)+(0+2)) element=bf16" -o /dev/null
// RUN: not sccl-opt %s "-sccl-lower=order=(0+1)" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: 'coll.program' op cannot combine chunk 0: the tree of additions is of 2 ranks, and 4 contribute (T2)
// RUN: not sccl-opt %s "-coll-lower-schedule=order=(0+1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: cannot read a tree of additions: a bracket is not closed, at character 5

// Rank 0 gets the inputs of the others, and adds up 2 and 3 before the rest.
coll.topology @star ranks = 4 {
  coll.link 1 -> 0 unlimited
  coll.link 2 -> 0 unlimited
  coll.link 3 -> 0 unlimited
}
// CHECK: coll.rank 0
// CHECK: coll.channel to 0 {
// CHECK-NEXT: coll.local_reduce chunk 0 from scratch[[[TWO:.*]]], scratch[[[THREE:.*]]] to scratch[[[BOTH:.*]]] step = 0
// CHECK-NEXT: coll.local_reduce chunk 0 from input[0], scratch[{{.*}}] terms = 2 by 1 to output[0] step = 0 final
// LEFT: coll.channel to 0 {
// LEFT-NEXT: coll.local_reduce chunk 0 from input[0], scratch[0] terms = 3 by 1 to output[0] step = 0 final
// SINGLE: coll.channel to 0 {
// SINGLE-NEXT: coll.local_reduce
// SINGLE-NEXT: coll.local_reduce
// SINGLE-NEXT: coll.local_reduce chunk 0 from scratch[{{.*}}], scratch[{{.*}}] to output[0] step = 0 final
coll.schedule @gathered of reduce on @star chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
    coll.reduce 0 over 2 -> 0
    coll.reduce 0 over 3 -> 0
  }
}
