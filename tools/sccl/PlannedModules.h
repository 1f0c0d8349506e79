//===- PlannedModules.h - Schedules that become a plan ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_PLANNEDMODULES_H
#define SCCL_TOOLS_PLANNEDMODULES_H

#include "Driver.h"

#include "sccl/Plan/HeldDiagnostics.h"
#include "sccl/Plan/PlanBuilder.h"

#include "llvm/Support/ThreadPool.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sccl::driver {

/// Schedules that are compiled, some of them by other threads.
class PlannedModule {
public:
  /// Reads them, from `text` unless that is empty. False, after an error, if
  /// there are none.
  bool read(const std::string &name, const std::string &text) {
    module = text.empty() ? session.parseSchedules(name)
                          : session.parseText(text, name);
    return static_cast<bool>(module);
  }
  mlir::ModuleOp get() { return *module; }

  void useThreads(llvm::ThreadPoolInterface &threads) {
    session.context().setThreadPool(threads);
    // So that no pass loads one while others run.
    session.context().loadAllAvailableDialects();
  }

  /// Holds back what is said from now on.
  void hold() { held.emplace(&session.context()); }
  /// Says it, unless it is lost.
  void release(bool isLost) {
    if (held && !isLost)
      held->release();
    held.reset();
  }

private:
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<HeldDiagnostics> held;
};

/// Makes a plan of `count` modules by as many threads as may be had.
class PlannedModules {
public:
  /// Reads module number `number`, or false after an error.
  using Read = std::function<bool(unsigned number, PlannedModule &)>;
  PlannedModules(unsigned count, Read read)
      : count(count), read(std::move(read)) {}

  /// A builder that all were added to, and that does not outlive this. Null,
  /// after the first error, if something is wrong with one.
  std::unique_ptr<PlanBuilder> build(PlanRequest request);

private:
  std::unique_ptr<PlanBuilder> addAll(const PlanRequest &request);

  const unsigned count;
  const Read read;
  bool isUnread = false;             ///< one, after an error
  llvm::DefaultThreadPool ofPasses;  ///< ends after the contexts
  std::deque<PlannedModule> modules; ///< that were read so far
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_PLANNEDMODULES_H
