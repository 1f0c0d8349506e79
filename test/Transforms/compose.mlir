// RUN: sccl-opt %s -coll-compose="first=rs second=ag result=ar" -coll-check-schedule -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir

// The whole gives the right sums, on whatever data.
// RUN: sccl run %t.mlir --bytes=1200 --iterations=3 --element=f32 --reduction=sum | FileCheck %s --check-prefix=RESULT
// RUN: sccl run %t.mlir --bytes=1200 --iterations=3 --element=i64 --reduction=min | FileCheck %s --check-prefix=RESULT
// RESULT: all_reduce, 3 ranks, {{.*}}#wrong 0 of {{[1-9][0-9]*}} elements

// It may have the name of a part, and is called "composed" if none is given.
// RUN: sccl-opt %s -coll-compose="first=rs second=ag result=rs" | FileCheck %s --check-prefix=NAME
// RUN: sccl-opt %s -coll-compose="first=rs second=ag" | FileCheck %s --check-prefix=DEFAULT
// NAME:    coll.schedule @rs of all_reduce on @ring3 chunks = 3 {
// DEFAULT: coll.schedule @composed of all_reduce on @ring3 chunks = 3 {

coll.topology @ring3 ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
}

// CHECK-NOT:   coll.collective
// CHECK:       coll.schedule @ar of all_reduce on @ring3 chunks = 3 {
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.reduce 0 over 1 -> 2
// CHECK-DAG:       coll.reduce 1 over 2 -> 0
// CHECK-DAG:       coll.reduce 2 over 0 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.reduce 0 over 2 -> 0
// CHECK-DAG:       coll.reduce 1 over 0 -> 1
// CHECK-DAG:       coll.reduce 2 over 1 -> 2
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 2 {
// CHECK-DAG:       coll.send 0 over 0 -> 1
// CHECK-DAG:       coll.send 1 over 1 -> 2
// CHECK-DAG:       coll.send 2 over 2 -> 0
// CHECK-NEXT:    }
// CHECK-NEXT:    coll.step rounds = 1 {
// CHECK-DAG:       coll.send 0 over 1 -> 2
// CHECK-DAG:       coll.send 1 over 2 -> 0
// CHECK-DAG:       coll.send 2 over 0 -> 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NOT:   coll.schedule
coll.schedule @rs of reduce_scatter on @ring3 chunks = 3 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 2
    coll.reduce 1 over 2 -> 0
    coll.reduce 2 over 0 -> 1
  }
  coll.step rounds = 1 {
    coll.reduce 0 over 2 -> 0
    coll.reduce 1 over 0 -> 1
    coll.reduce 2 over 1 -> 2
  }
}

// A send of the sender's own input must from now on carry the whole sum.
coll.schedule @ag of all_gather on @ring3 chunks = 1 {
  coll.step rounds = 2 {
    coll.send input 0 over 0 -> 1
    coll.send 1 over 1 -> 2
    coll.send 2 over 2 -> 0
  }
  coll.step rounds = 1 {
    coll.send 0 over 1 -> 2
    coll.send 1 over 2 -> 0
    coll.send 2 over 0 -> 1
  }
}
