//===- PlanFile.cpp - Whose code a plan file is ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/PlanFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace sccl;
using namespace sccl::plan;

/// True if the environment variable `name` has its one `value`; an error if it
/// has another. A program with more rights than its caller takes no advice.
static Result<bool> isSetTo(const char *name, const char *value) {
  const char *given = secure_getenv(name);
  if (!given || !*given)
    return false;
  if (std::strcmp(given, value) != 0)
    return Error{std::string(name) + " is '" + given + "', expected " + value};
  return true;
}

/// The users that may write the file beside this process's and root, in words.
static std::string otherWriters(const struct stat &info) {
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return "its owner, user " + std::to_string(info.st_uid) +
           ", which is neither this process's user nor root";
  // Where there are access control lists, the bit of the group is their mask.
  if (info.st_mode & S_IWOTH)
    return "all users; chmod go-w ends that";
  if (info.st_mode & S_IWGRP)
    return "its group " + std::to_string(info.st_gid) + "; chmod g-w ends that";
  return "";
}

std::optional<Error> plan::checkWriters(int descriptor,
                                        const std::string &path) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return Error{"cannot read " + path + ": " + std::strerror(errno)};
  Result<bool> isAnyAllowed = isSetTo("SCCL_PLAN_WRITERS", "any");
  if (!isAnyAllowed)
    return Error{isAnyAllowed.error()};
  std::string writers = otherWriters(info);
  if (*isAnyAllowed || writers.empty())
    return std::nullopt;
  return Error{path + " is code that may be changed by " + writers +
               "; SCCL_PLAN_WRITERS=any executes it all the same"};
}

std::optional<Error> plan::leaveAllowedCode(Manifest &manifest) {
  Result<bool> isPTXOnly = isSetTo("SCCL_PLAN_CODE", "ptx");
  if (!isPTXOnly)
    return Error{isPTXOnly.error()};
  if (!*isPTXOnly)
    return std::nullopt;
  std::erase_if(manifest.kernels, [](const KernelInfo &kernel) {
    return kernel.format != "ptx";
  });
  if (manifest.kernels.empty())
    return Error{"the plan has no PTX, and SCCL_PLAN_CODE=ptx allows nothing "
                 "else"};
  return std::nullopt;
}
