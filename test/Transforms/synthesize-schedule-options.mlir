// REQUIRES: z3
// RUN: not sccl-opt %s -coll-synthesize-schedule=engine=oracle 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not sccl-opt %s -coll-synthesize-schedule=encoding=morse 2>&1 | FileCheck %s --check-prefix=ENCODING

// ENGINE: 'coll.synthesize' op failed: {{.*}}oracle
// ENCODING: unknown encoding 'morse', expected direct or paper

// An instance that no engine answers in 10 microseconds: unknown, which is not
// unsatisfiable.
// RUN: sccl topo dgx1 > %t.mlir
// RUN: echo "coll.synthesize @ag of all_gather on @dgx1 chunks = 6 steps = 3 rounds = 7" >> %t.mlir
// RUN: not sccl-opt %t.mlir -coll-synthesize-schedule="engine=z3 timeout=0.00001" 2>&1 | FileCheck %s --check-prefix=TIMEOUT
// TIMEOUT: 'coll.synthesize' op has no answer: {{.*}}time
// TIMEOUT-NOT: unsatisfiable

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.synthesize @ag of all_gather on @pair chunks = 1 steps = 1 rounds = 1
