//===- LoadedPlan.cpp - A plan and its bytes ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedPlan.h"

#include "Fork.h"

#include "sccl/Plan/PlanFile.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace sccl;

PlanSource::~PlanSource() {
  if (descriptor >= 0)
    close(descriptor);
}

Status PlanSource::open(const char *path) {
  // Without O_NONBLOCK, a pipe that nobody writes to would block.
  descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return systemError(std::string("cannot open ") + path);
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return systemError(std::string("cannot read ") + path);
  size = uint64_t(info.st_size);
  if (!S_ISREG(info.st_mode))
    return {scclErrorInvalidPlan, std::string(path) + " is no regular file"};
  if (std::optional<Error> error = plan::checkWriters(descriptor, path))
    return {scclErrorInvalidPlan, error->message};
  return {};
}

Status PlanSource::read(uint64_t offset, uint64_t count,
                        std::string &result) const {
  if (descriptor < 0) {
    result = bytes.substr(std::min(offset, size), count);
    return {};
  }
  result.resize(count);
  size_t at = 0;
  while (at < count) {
    ssize_t done =
        pread(descriptor, result.data() + at, count - at, offset + at);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return systemError("cannot read the plan");
    if (done == 0)
      break;
    at += done;
  }
  result.resize(at);
  return {};
}

static std::string listTargets(const plan::Manifest &manifest) {
  std::set<llvm::StringRef> targets;
  for (const plan::KernelInfo &kernel : manifest.kernels)
    targets.insert(kernel.target);
  return llvm::join(targets, " ");
}

Status sccl::loadPlan(std::unique_ptr<PlanSource> source,
                      std::shared_ptr<const LoadedPlan> &plan) {
  uint64_t fileBytes = source->fileBytes();
  std::string head;
  if (Status status =
          source->read(0, std::min(fileBytes, plan::prefixBytes), head);
      !status.ok())
    return status;
  Result<uint64_t> bytes = plan::headBytes(head, fileBytes);
  if (!bytes)
    return {scclErrorInvalidPlan, bytes.error()};
  if (Status status = source->read(0, *bytes, head); !status.ok())
    return status;
  Result<plan::PlanView> view = plan::parseHead(head, fileBytes);
  if (!view)
    return {scclErrorInvalidPlan, view.error()};
  if (std::optional<Error> error = plan::leaveAllowedCode(view->manifest))
    return {scclErrorInvalidPlan, error->message};
  auto loaded = std::make_shared<LoadedPlan>();
  loaded->view = std::move(*view);
  loaded->targets = listTargets(loaded->view.manifest);
  loaded->source = std::move(source);
  loaded->blobs.resize(loaded->view.ranges.size());
  plan = std::move(loaded);
  return {};
}

Status sccl::loadPlan(std::string bytes,
                      std::shared_ptr<const LoadedPlan> &plan) {
  return loadPlan(std::make_unique<PlanSource>(std::move(bytes)), plan);
}

Status LoadedPlan::findBlob(unsigned index, llvm::StringRef &blob) const {
  ForkLock noForks;
  std::lock_guard lock(mutex);
  std::unique_ptr<std::string> &known = blobs[index];
  if (!known) {
    auto bytes = std::make_unique<std::string>();
    const plan::BlobRange &range = view.ranges[index];
    if (Status status = source->read(range.offset, range.bytes, *bytes);
        !status.ok())
      return status;
    if (std::optional<Error> error = plan::checkBlob(view, index, *bytes))
      return {scclErrorInvalidPlan, error->message};
    known = std::move(bytes);
  }
  blob = *known;
  return {};
}

Status LoadedPlan::readPart(unsigned rank, LoadedPart &part) const {
  const plan::PartRange &range = view.parts[rank];
  if (Status status = source->read(range.offset, range.bytes, part.bytes);
      !status.ok())
    return status;
  Result<plan::RankPart> read = plan::readPart(view, rank, part.bytes);
  if (!read)
    return {scclErrorInvalidPlan, read.error()};
  part.part = std::move(*read);
  return {};
}

Status sccl::readPlan(const char *path,
                      std::shared_ptr<const LoadedPlan> &plan) {
  auto source = std::make_unique<PlanSource>();
  if (Status status = source->open(path); !status.ok())
    return status;
  Status status = loadPlan(std::move(source), plan);
  if (!status.ok())
    return {status.code(), std::string(path) + ": " + status.message()};
  return {};
}

#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, ...)               \
  static_assert(typeInC == number);
#include "sccl/Model/ElementTypes.def"

static constexpr const char *reductions[numReductions] = {"sum", "prod", "min",
                                                          "max", "avg"};

const char *sccl::dataTypeName(scclDataType type) {
  switch (unsigned(type)) {
#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, ...)               \
  case number:                                                                 \
    return name;
#include "sccl/Model/ElementTypes.def"
  default:
    return nullptr;
  }
}

unsigned sccl::dataTypeBytes(scclDataType type) {
  switch (unsigned(type)) {
#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, bytes, ...)        \
  case number:                                                                 \
    return bytes;
#include "sccl/Model/ElementTypes.def"
  default:
    return 0;
  }
}

const char *sccl::reductionName(scclRedOp op) {
  return unsigned(op) < numReductions ? reductions[op] : nullptr;
}
