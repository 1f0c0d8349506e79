//===- CollOps.td - All ops of the coll dialect ------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLL_OPS
#define COLL_OPS

include "Coll/CollTopologyOps.td"
include "Coll/CollScheduleOps.td"
include "Coll/CollProgramOps.td"

#endif // COLL_OPS
