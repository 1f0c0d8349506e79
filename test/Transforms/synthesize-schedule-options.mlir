// REQUIRES: z3
// RUN: not sccl-opt %s -coll-synthesize-schedule=engine=oracle 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not sccl-opt %s -coll-synthesize-schedule=encoding=morse 2>&1 | FileCheck %s --check-prefix=ENCODING

// ENGINE: 'coll.synthesize' op failed: {{.*}}oracle
// ENCODING: unknown encoding 'morse', expected direct or paper

// The encoding is z3's, which it chooses; another engine has none.
// RUN: sccl-opt %s -coll-synthesize-schedule=encoding=paper | FileCheck %s --check-prefix=PAPER
// RUN: not sccl-opt %s -coll-synthesize-schedule="engine=auto encoding=paper" 2>&1 | FileCheck %s --check-prefix=NO-ENCODING -DENGINE=auto
// RUN: not sccl-opt %s -coll-synthesize-schedule="engine=sat encoding=direct" 2>&1 | FileCheck %s --check-prefix=NO-ENCODING -DENGINE=sat
// PAPER:       coll.schedule @ag
// NO-ENCODING: the option encoding is for the engine z3, got '[[ENGINE]]'

// RUN: not sccl-opt %s -coll-synthesize-schedule=timeout=-4 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not sccl-opt %s -coll-synthesize-schedule=timeout=nan 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: the option timeout must be at least 0 seconds

// The pass asks z3 for the instance below, which others answer in a tenth of the time.
// RUN: sccl machine dgx1 > %t.paper.mlir
// RUN: echo "coll.synthesize @ag of all_gather on @dgx1 chunks = 6 steps = 3 rounds = 7" >> %t.paper.mlir
// RUN: not sccl-opt %t.paper.mlir -coll-synthesize-schedule="encoding=paper timeout=0.3" 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: 'coll.synthesize' op has no answer: {{.*}}time

// An instance that no engine answers in 10 microseconds: unknown, which is not
// unsatisfiable.
// RUN: sccl machine dgx1 > %t.mlir
// RUN: echo "coll.synthesize @ag of all_gather on @dgx1 chunks = 6 steps = 3 rounds = 7" >> %t.mlir
// RUN: not sccl-opt %t.mlir -coll-synthesize-schedule="engine=z3 timeout=0.00001" 2>&1 | FileCheck %s --check-prefix=TIMEOUT
// TIMEOUT: 'coll.synthesize' op has no answer: {{.*}}time
// TIMEOUT-NOT: unsatisfiable

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
}
coll.synthesize @ag of all_gather on @pair chunks = 1 steps = 1 rounds = 1
