//===- ProblemFacts.h - What a plan says about its problem ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_PROBLEMFACTS_H
#define SCCL_LIB_PLAN_PROBLEMFACTS_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Topology.h"
#include "sccl/Plan/Plan.h"

namespace sccl {

/// A manifest without schedules and what is made of them.
plan::Manifest describeProblem(const Collective &collective,
                               const Topology &topology);

} // namespace sccl

#endif // SCCL_LIB_PLAN_PROBLEMFACTS_H
