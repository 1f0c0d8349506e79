//===- PlanFile.h - Whose code a plan file is -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is code: a process that runs one does what the authors of the file
// say. libsccl and the commands that execute plans ask here before. SECURITY.md
// lists what is checked, and the environment variables that change it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_PLANFILE_H
#define SCCL_PLAN_PLANFILE_H

#include "sccl/Plan/Plan.h"

namespace sccl::plan {

/// An error if another user than that of this process and root may write the
/// open file `descriptor`, called `path`, unless SCCL_PLAN_WRITERS is "any".
std::optional<Error> checkWriters(int descriptor, const std::string &path);

/// Takes kernels out of `manifest` that SCCL_PLAN_CODE does not allow; an error
/// if none is left.
std::optional<Error> leaveAllowedCode(Manifest &manifest);

} // namespace sccl::plan

#endif // SCCL_PLAN_PLANFILE_H
