//===- LoadedPlan.h - A plan and its bytes ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_LOADEDPLAN_H
#define SCCL_LIB_RUNTIME_LOADEDPLAN_H

#include "Status.h"

#include "sccl/Plan/Plan.h"

#include <atomic>
#include <memory>
#include <vector>

namespace sccl {

/// Never changes once it is loaded; communicators share it.
struct LoadedPlan {
  std::string bytes;
  plan::PlanView view;

  /// Code of the plan, compared with its hash when it is first asked for.
  Status findBlob(unsigned index, llvm::StringRef &blob) const;

private:
  friend Status loadPlan(std::string bytes,
                         std::shared_ptr<const LoadedPlan> &plan);
  /// By blob: true if it was compared.
  mutable std::vector<std::atomic<bool>> isChecked;
};

Status loadPlan(std::string bytes, std::shared_ptr<const LoadedPlan> &plan);
Status readPlan(const char *path, std::shared_ptr<const LoadedPlan> &plan);

/// The names that plans use; null if the value is no type, or no reduction.
const char *dataTypeName(scclDataType type);
const char *reductionName(scclRedOp op);
/// Bytes of an element; 0 if the value is no type.
unsigned dataTypeBytes(scclDataType type);
inline constexpr unsigned numDataTypes = 12, numReductions = 5;

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_LOADEDPLAN_H
