// RUN: not sccl-opt %s -coll-choose-transport=transport=mail 2>&1 | FileCheck %s --check-prefix=TRANSPORT
// RUN: not sccl-opt %s -coll-choose-transport=link-transport=0-1 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not sccl-opt %s -coll-choose-transport=link-transport=0-1:auto 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: not sccl-opt %s -coll-choose-transport=link-transport=-1-1:push 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not sccl-opt %s -coll-choose-transport=link-transport=0-1:pull,1-0:push 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not sccl-opt %s -coll-choose-transport=link-transport=0-9:pull 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not sccl-opt %s -coll-choose-transport=link-transport=0-1:pull,0-1:pull,0-1:push 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not sccl-opt %s -coll-choose-transport="transport=auto alpha=-1" 2>&1 | FileCheck %s --check-prefix=ALPHA
// RUN: not sccl-opt %s -coll-choose-transport="transport=auto beta=nan" 2>&1 | FileCheck %s --check-prefix=BETA

// TRANSPORT: option: unknown transport 'mail', expected given, push, pull, dma or auto
// NOTHING: option: cannot read '0-1' as the transport of a link, expected SRC-DST:TRANSPORT with push, pull or dma
// AUTO: option: cannot read '0-1:auto' as the transport of a link
// NEGATIVE: option: cannot read '-1-1:push' as the transport of a link
// ABSENT: choose-transport-invalid.mlir:[[# @LINE + 8]]:1: error: 'coll.schedule' op is on a topology without link 1 -> 0, for which a transport is given
// RANK: error: 'coll.schedule' op is on a topology without link 0 -> 9, for which a transport is given
// BOTH: error: link 0 -> 1 is to be by pull and by push
// ALPHA: error: alpha is {{-1.*}}, expected at least 0
// BETA: error: beta is {{.*}}, expected at least 0
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.schedule @bc of broadcast on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
  }
}
