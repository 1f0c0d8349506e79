//===- LoadedPlan.cpp - A plan and its bytes ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedPlan.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sccl;

Status sccl::loadPlan(std::string bytes,
                      std::shared_ptr<const LoadedPlan> &plan) {
  auto loaded = std::make_shared<LoadedPlan>();
  loaded->bytes = std::move(bytes);
  Result<plan::PlanView> view = plan::parse(loaded->bytes);
  if (!view)
    return {scclErrorInvalidPlan, view.error()};
  loaded->view = std::move(*view);
  loaded->isChecked = std::vector<std::atomic<bool>>(loaded->view.blobs.size());
  plan = std::move(loaded);
  return {};
}

Status LoadedPlan::findBlob(unsigned index, llvm::StringRef &blob) const {
  // Ranks that come here at the same time may compare it twice.
  if (!isChecked[index].load(std::memory_order_relaxed))
    if (std::optional<Error> error = plan::checkBlob(view, index))
      return {scclErrorInvalidPlan, error->message};
  isChecked[index].store(true, std::memory_order_relaxed);
  blob = view.blobs[index];
  return {};
}

/// Reads what `fd` has; a file that grows meanwhile is cut off, which its
/// header or hashes show.
static Status readAll(int fd, const char *path, std::string &bytes) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return systemError(std::string("cannot read ") + path);
  if (!S_ISREG(info.st_mode))
    return {scclErrorInvalidPlan, std::string(path) + " is no regular file"};
  if (uint64_t(info.st_size) > plan::Limits::fileBytes)
    return {scclErrorInvalidPlan, std::string(path) + " has " +
                                      std::to_string(info.st_size) +
                                      " bytes, the limit is " +
                                      std::to_string(plan::Limits::fileBytes)};
  bytes.resize(info.st_size);
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t count = read(fd, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(std::string("cannot read ") + path);
    if (count == 0)
      break;
    at += count;
  }
  bytes.resize(at);
  return {};
}

Status sccl::readPlan(const char *path,
                      std::shared_ptr<const LoadedPlan> &plan) {
  // Without O_NONBLOCK, a pipe that nobody writes to would block.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return systemError(std::string("cannot open ") + path);
  std::string bytes;
  Status status = readAll(fd, path, bytes);
  close(fd);
  if (!status.ok())
    return status;
  status = loadPlan(std::move(bytes), plan);
  if (!status.ok())
    return {status.code(), std::string(path) + ": " + status.message()};
  return {};
}

namespace {
struct TypeEntry {
  const char *name;
  unsigned bytes;
};
// In the order of scclDataType.
constexpr TypeEntry types[numDataTypes] = {
    {"i8", 1},  {"u8", 1},   {"i32", 4},    {"u32", 4},
    {"i64", 8}, {"u64", 8},  {"f16", 2},    {"f32", 4},
    {"f64", 8}, {"bf16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};
constexpr const char *reductions[numReductions] = {"sum", "prod", "min", "max",
                                                   "avg"};
} // namespace

const char *sccl::dataTypeName(scclDataType type) {
  return unsigned(type) < numDataTypes ? types[type].name : nullptr;
}

unsigned sccl::dataTypeBytes(scclDataType type) {
  return unsigned(type) < numDataTypes ? types[type].bytes : 0;
}

const char *sccl::reductionName(scclRedOp op) {
  return unsigned(op) < numReductions ? reductions[op] : nullptr;
}
