// RUN: not sccl-opt %s -coll-lower-schedule=blocks-per-link=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not sccl-opt %s -coll-lower-schedule=blocks-per-link=65 2>&1 | FileCheck %s --check-prefix=MANY

// ZERO: error: blocks-per-link is 0, expected between 1 and 64
// MANY: error: blocks-per-link is 65, expected between 1 and 64
coll.topology @lonely ranks = 1 {
}
