//===- AvailableMemory.cpp - How much memory may be taken -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/AvailableMemory.h"

#include <algorithm>
#include <fstream>
#include <optional>

using namespace sccl;

namespace {
/// The files of a control group, which the versions of their interface name
/// differently.
struct Controller {
  const char *mount, *limit, *usage, *cache;
};
constexpr Controller version1 = {
    "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
    "total_inactive_file"};
constexpr Controller version2 = {"/sys/fs/cgroup", "/memory.max",
                                 "/memory.current", "inactive_file"};
} // namespace

/// The number that follows the word `key` in a file; the first word if there is
/// no key. Nothing if there is none, as in "max".
static std::optional<uint64_t> findNumber(const std::string &path,
                                          const std::string &key = "") {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && word != key)
    if (!(file >> word))
      return std::nullopt;
  uint64_t number;
  if (file >> number)
    return number;
  return std::nullopt;
}

/// What a group leaves. Its use includes files in memory that the system drops
/// when it needs room.
static uint64_t leftIn(const std::string &group, const Controller &files) {
  std::optional<uint64_t> limit = findNumber(group + files.limit);
  std::optional<uint64_t> usage = findNumber(group + files.usage);
  if (!limit || !usage)
    return UINT64_MAX;
  uint64_t cache = findNumber(group + "/memory.stat", files.cache).value_or(0);
  uint64_t used = *usage - std::min(cache, *usage);
  return *limit - std::min(used, *limit);
}

/// The same for the group `path` and those around it. In containers the path
/// may be that of the machine, of which only the end is to be seen.
static uint64_t leftAround(const std::string &root, std::string path,
                           const Controller &files) {
  uint64_t left = UINT64_MAX;
  while (true) {
    left = std::min(left, leftIn(root + files.mount + path, files));
    if (path.empty())
      return left;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

static uint64_t leftInGroups(const std::string &root) {
  std::ifstream file(root + "/proc/thread-self/cgroup");
  std::string line;
  uint64_t left = UINT64_MAX;
  // NUMBER:CONTROLLERS:PATH
  while (std::getline(file, line)) {
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (names == ",,")
      left = std::min(left, leftAround(root, path, version2));
    else if (names.find(",memory,") != std::string::npos)
      left = std::min(left, leftAround(root, path, version1));
  }
  return left;
}

uint64_t sccl::availableMemory(const std::string &root) {
  uint64_t left = leftInGroups(root);
  std::optional<uint64_t> kibibytes =
      findNumber(root + "/proc/meminfo", "MemAvailable:");
  if (kibibytes)
    left = std::min(left, *kibibytes * 1024);
  constexpr uint64_t partHeldBack = 16;
  return left == UINT64_MAX ? left : left - left / partHeldBack;
}
