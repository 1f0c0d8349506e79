// Passes that touch one schedule or program only are on that op, so that MLIR runs them
// on several at once. What is wrong in two programs is said of both.

// RUN: sccl-opt %s -pass-pipeline="builtin.module(sccl-lower)" -dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not sccl-opt %s -coll-lower-schedule -coll-fuse-reductions -coll-check-program 2>&1 | FileCheck %s --check-prefix=BOTH

// NESTED:      builtin.module(
// NESTED-NEXT:   coll.schedule(
// NESTED-NEXT:     coll-check-schedule
// NESTED-NEXT:   ),
// NESTED-NEXT:   coll.schedule(
// NESTED-NEXT:     coll-choose-transport
// NESTED-NEXT:   ),
// NESTED-NEXT:   coll-lower-schedule
// NESTED-NEXT:   coll.program(
// NESTED-NEXT:     coll-fuse-reductions
// NESTED-NEXT:     coll-repeat-transfers
// NESTED-NEXT:     coll-insert-flag-sync,
// NESTED-NEXT:     coll-remove-redundant-sync
// NESTED-NEXT:     coll-spread-channels
// NESTED-NEXT:   ),
// NESTED-NEXT:   coll.program(
// NESTED-NEXT:     coll-check-program
// NESTED-NEXT:   )
// NESTED-NEXT: )

// The passes on the programs share what they ask about it.
// RUN: sccl-opt %s -sccl-lower -mlir-timing -mlir-disable-threading -o /dev/null 2>&1 | FileCheck %s --check-prefix=ANALYSES
// ANALYSES:         'coll.schedule' Pipeline
// ANALYSES:         (A) {{.*}}ProblemAnalysis
// ANALYSES:         LowerSchedule
// ANALYSES:         'coll.program' Pipeline
// ANALYSES:         RepeatTransfers
// ANALYSES-NEXT:    (A) {{.*}}ProblemAnalysis
// ANALYSES-NOT:     ProblemAnalysis

// BOTH-DAG: nested.mlir:[[# @LINE + 5]]:1: error: 'coll.put' op touches buffers of rank 1
// BOTH-DAG: nested.mlir:[[# @LINE + 9]]:1: error: 'coll.put' op touches buffers of rank 1
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
}
coll.schedule @one of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
coll.schedule @two of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
