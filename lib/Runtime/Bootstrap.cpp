//===- Bootstrap.cpp - Exchanging handles through the caller --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"

using namespace sccl;

Status Bootstrap::compare(const Status &status,
                          const std::vector<Outcome> &all) {
  if (!status.ok())
    return status;
  for (unsigned other = 0; other < all.size(); ++other)
    if (all[other].code != scclSuccess) {
      const Outcome &outcome = all[other];
      std::string message(outcome.message,
                          strnlen(outcome.message, sizeof(outcome.message)));
      return {scclResult(outcome.code),
              "rank " + std::to_string(other) + ": " + message};
    }
  return {};
}

Status Bootstrap::agree(const Status &status) const {
  std::vector<Outcome> all;
  if (Status gathered = gather(Outcome(status), all); !gathered.ok())
    return gathered;
  return compare(status, all);
}
