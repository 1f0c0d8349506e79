//===- Children.h - Ranks that are child processes --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MEASURE_CHILDREN_H
#define SCCL_LIB_MEASURE_CHILDREN_H

#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sccl {

/// A child's end; the parent collects and distributes.
struct ProcessEnd {
  int socket;
  unsigned numRanks;

  /// An scclAllGatherFn; `context` is a ProcessEnd.
  static int allGather(void *context, const void *mine, void *all,
                       size_t bytes);
};

struct Child {
  pid_t process;
  int socket; ///< the parent's end
};

/// The parent's side: it serves its children and sees them out.
class Children {
public:
  explicit Children(double limitSeconds) : limitSeconds(limitSeconds) {}

  void add(Child child);
  void serve();
  void closeSockets();
  int awaitAll();

private:
  enum class Gathering { Done, Gone, Late };
  Gathering collect(std::vector<std::string> &parts);
  bool areStopped() const;
  bool isOver(unsigned milliseconds) const {
    return limitSeconds > 0 && milliseconds > limitSeconds * 1e3;
  }
  void kill(unsigned rank);
  int exitCode(unsigned rank, int status) const;

  double limitSeconds;
  std::vector<Child> children;
  std::vector<pollfd> awaited; ///< whose part is missing; -1 in place of others
  std::vector<bool> killed;
};

} // namespace sccl

#endif // SCCL_LIB_MEASURE_CHILDREN_H
