// REQUIRES: z3
// RUN: sccl-opt %s -coll-synthesize-schedule=certify -coll-check-schedule -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir

// Without the option there is none.
// RUN: sccl-opt %s -coll-synthesize-schedule | FileCheck %s --check-prefix=NONE
// NONE-COUNT-3: coll.schedule
// NONE-NOT:     certificate

// What is proved for the links of one topology does not hold for twice of them.
// RUN: sed "s/on @pair/on @wide/" %t.mlir > %t.wide.mlir
// RUN: not sccl-opt %t.wide.mlir -coll-check-schedule 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: error: 'coll.schedule' op has a certificate that does not hold: the claim is for another topology

// A schedule made from another one does not inherit its certificate.
// RUN: sccl-opt %t.mlir -coll-invert -coll-check-schedule | FileCheck %s --check-prefix=NONE

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.topology @wide ranks = 2 {
  coll.link 0 -> 1 bandwidth = 2
  coll.link 1 -> 0 bandwidth = 2
}

// CHECK: coll.schedule @ag of all_gather on @pair chunks = 1
// CHECK-SAME: certificate = "sccl-certificate 1\0Ano schedule of all_gather on 2 ranks with 1 steps has R/C below 1\0A
coll.synthesize @ag of all_gather on @pair chunks = 1 steps = 1 rounds = 1

// This one is not optimal: 1 round would do for 2 chunks.
// CHECK: coll.schedule @slow of broadcast on @wide chunks = 1 root = 1
// CHECK-SAME: no schedule of broadcast root 1 on 2 ranks with 1 steps has R/C below 1/2\0A
coll.synthesize @slow of broadcast on @wide chunks = 1 root = 1 steps = 1 rounds = 1

coll.collective @swap ranks = 2 chunks = 1 distinct = 2 {
  coll.pre 0 has [0]
  coll.pre 1 has [1]
  coll.post 0 has [1]
  coll.post 1 has [0]
}
// CHECK: coll.schedule @custom of @swap on @pair chunks = 1
// CHECK-SAME: ranks with 1 steps has R/C below 1\0A
coll.synthesize @custom of @swap on @pair chunks = 1 steps = 1 rounds = 1
