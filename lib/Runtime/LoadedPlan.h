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

#include <memory>
#include <mutex>
#include <vector>

namespace sccl {

/// The bytes of a plan, of which only what is needed is read.
class PlanSource {
public:
  explicit PlanSource(std::string bytes)
      : bytes(std::move(bytes)), size(this->bytes.size()) {}
  /// Of a file that is yet to be opened.
  PlanSource() = default;
  PlanSource(const PlanSource &) = delete;
  ~PlanSource();

  /// Fails if `path` is no regular file, or one that others may write.
  Status open(const char *path);
  uint64_t fileBytes() const { return size; }
  /// Reads `count` bytes; fewer if the file has become shorter, which hashes
  /// show.
  Status read(uint64_t offset, uint64_t count, std::string &result) const;

private:
  std::string bytes;
  int descriptor = -1;
  uint64_t size = 0;
};

/// The part of one rank, and the bytes that it has views of.
struct LoadedPart {
  std::string bytes;
  plan::RankPart part;
};

/// Never changes once it is loaded; communicators share it.
struct LoadedPlan {
  plan::PlanView view;
  std::string targets; ///< of its code, each once, with spaces between them

  /// Code of the plan, read and compared with its hash when it is first asked
  /// for. Lives as long as the plan.
  Status findBlob(unsigned index, llvm::StringRef &blob) const;
  /// What only `rank` needs; read and compared with its hash.
  Status readPart(unsigned rank, LoadedPart &part) const;

private:
  friend Status loadPlan(std::unique_ptr<PlanSource> source,
                         std::shared_ptr<const LoadedPlan> &plan);
  std::unique_ptr<PlanSource> source;
  mutable std::mutex mutex;
  /// By blob: what was read, or null.
  mutable std::vector<std::unique_ptr<std::string>> blobs;
};

Status loadPlan(std::unique_ptr<PlanSource> source,
                std::shared_ptr<const LoadedPlan> &plan);
Status loadPlan(std::string bytes, std::shared_ptr<const LoadedPlan> &plan);
/// Keeps the file open, for what is needed later.
Status readPlan(const char *path, std::shared_ptr<const LoadedPlan> &plan);

/// The names that plans use; null if the value is no type, or no reduction.
const char *dataTypeName(scclDataType type);
const char *reductionName(scclRedOp op);
/// Bytes of an element; 0 if the value is no type.
unsigned dataTypeBytes(scclDataType type);
inline constexpr unsigned numReductions = 5;
inline constexpr unsigned numDataTypes = 0
#define SCCL_ELEMENT_TYPE(...) +1
#include "sccl/Model/ElementTypes.def"
    ;

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_LOADEDPLAN_H
