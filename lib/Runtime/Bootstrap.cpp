//===- Bootstrap.cpp - Exchanging handles through the caller --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>

using namespace sccl;

scclConfig sccl::keptConfig(scclConfig config) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  // Callers of before there was `oneRounding` have an order, too.
  if (config.size < offsetof(scclConfig, oneRounding) || !config.order)
    return config;
  std::lock_guard lock(mutex);
  config.order = texts.insert(config.order).first->c_str();
  return config;
}

GatherRoom::GatherRoom(size_t bytes)
    : bytes(bytes), memory(std::malloc(bytes)) {
  if (memory)
    return;
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  isMapped = memory != MAP_FAILED;
  if (!isMapped)
    memory = nullptr;
}

GatherRoom::~GatherRoom() {
  if (isMapped)
    munmap(memory, bytes);
  else
    std::free(memory);
}

Status Bootstrap::describe(unsigned rank, const Outcome &outcome) {
  std::string message(outcome.message,
                      strnlen(outcome.message, sizeof(outcome.message)));
  // An all-gather may have brought anything, and programs know no other codes.
  bool isKnown =
      outcome.code > scclSuccess && outcome.code <= scclErrorInternal;
  if (!isKnown)
    message = "unknown result code " + std::to_string(outcome.code);
  return {isKnown ? scclResult(outcome.code) : scclErrorInternal,
          "rank " + std::to_string(rank) + ": " + message};
}

Status Bootstrap::agree(const Status &status) const {
  struct Answer {
    Outcome outcome;
  };
  Gathered<Answer> all(numRanks);
  if (Status gathered = gather(Answer{Outcome(status)}, all); !gathered.ok())
    return gathered;
  return agree(status, all);
}
