// RUN: not sccl-opt %s -coll-lower-schedule=blocks-per-link=65 2>&1 | FileCheck %s --check-prefix=MANY

// MANY: error: blocks-per-link is 65, expected up to 64
coll.topology @lonely ranks = 1 {
}
