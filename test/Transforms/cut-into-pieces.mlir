// RUN: sccl-opt %s -coll-cut-into-pieces="pieces=3 piece-distance=1" -coll-check-schedule | FileCheck %s
// RUN: sccl-opt %s -coll-cut-into-pieces="pieces=3 piece-distance=2" -coll-check-schedule | FileCheck %s --check-prefix=APART
// RUN: sccl-opt %s -coll-cut-into-pieces="pieces=3 piece-distance=1 piece-rounds" -coll-check-schedule | FileCheck %s
// RUN: sccl-opt %s -coll-cut-into-pieces="pieces=3 piece-distance=2 piece-rounds" -coll-check-schedule | FileCheck %s --check-prefix=APART
// RUN: sccl-opt %s -coll-cut-into-pieces=pieces=7 -coll-check-schedule | FileCheck %s --check-prefix=USUAL
// RUN: sccl-opt %s -coll-cut-into-pieces=pieces=1 | FileCheck %s --check-prefix=WHOLE
// RUN: sccl-opt %s -sccl-lower=pieces=3 -o /dev/null
// RUN: not sccl-opt %s -coll-cut-into-pieces=pieces=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not sccl-opt %s -coll-cut-into-pieces=pieces=4294967295 2>&1 | FileCheck %s --check-prefix=MANY

coll.topology @line ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
}

// Piece p of the chunk is in step s in step s + p.
// CHECK:      coll.schedule @relay of broadcast on @line chunks = 3 root = 0 {
// CHECK-NEXT:   coll.step rounds = 1 {
// CHECK-NEXT:     coll.send 0 over 0 -> 1
// CHECK-NEXT:   }
// CHECK-NEXT:   coll.step rounds = 1 {
// CHECK-NEXT:     coll.send 0 over 1 -> 2
// CHECK-NEXT:     coll.send 1 over 0 -> 1
// CHECK-NEXT:   }
// CHECK-NEXT:   coll.step rounds = 1 {
// CHECK-NEXT:     coll.send 1 over 1 -> 2
// CHECK-NEXT:     coll.send 2 over 0 -> 1
// CHECK-NEXT:   }
// CHECK-NEXT:   coll.step rounds = 1 {
// CHECK-NEXT:     coll.send 2 over 1 -> 2
// CHECK-NEXT:   }
// CHECK-NEXT: }

// With a step between, piece 0 arrives while piece 1 is on the link.
// APART:      coll.step rounds = 1 {
// APART-NEXT:   coll.send 0 over 0 -> 1
// APART-NEXT: }
// APART-NEXT: coll.step rounds = 1 {
// APART-NEXT:   coll.send 1 over 0 -> 1
// APART-NEXT: }
// APART-NEXT: coll.step rounds = 1 {
// APART-NEXT:   coll.send 0 over 1 -> 2
// APART-NEXT:   coll.send 2 over 0 -> 1
// APART-NEXT: }

// Usually five other pieces leave before the first goes on.
// USUAL:      coll.send 5 over 0 -> 1
// USUAL-NEXT: }
// USUAL-NEXT: coll.step rounds = 1 {
// USUAL-NEXT:   coll.send 0 over 1 -> 2
// USUAL-NEXT:   coll.send 6 over 0 -> 1
// USUAL-NEXT: }

// WHOLE: coll.schedule @relay of broadcast on @line chunks = 1 root = 0 {
// ZERO: cut-into-pieces.mlir:[[#@LINE+2]]:1: error: 'coll.schedule' op a chunk cannot be cut into 0 pieces
// MANY: cut-into-pieces.mlir:[[#@LINE+1]]:1: error: 'coll.schedule' op
coll.schedule @relay of broadcast on @line chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
  }
}
