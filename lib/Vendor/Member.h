//===- Member.h - A communicator of two libraries -*- C++ -* --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_VENDOR_MEMBER_H
#define SCCL_LIB_VENDOR_MEMBER_H

#include "Interface.h"
#include "RealLibrary.h"
#include "Rendezvous.h"

#include "sccl/sccl.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sccl::vendor {

/// What a ncclComm_t of ours points to: one of libsccl, for what plans serve,
/// and one of the vendor's library, for everything else. Either may be missing.
struct Member {
  int rank = 0, numRanks = 0, device = 0;
  /// In which floats are added up, of $SCCL_ORDER; empty if any will do.
  std::string order;
  bool oneRounding = false; ///< of $SCCL_ONE_ROUNDING
  std::unique_ptr<Rendezvous> meeting;
  scclComm ours = nullptr;
  RealComm real;
  /// Calls of `ours` that are under way: ncclCommAbort may come meanwhile.
  std::atomic<int> calls{0};
  std::atomic<bool> isGone{false};
  ~Member() { leave(); }
  /// Ends all but `real`.
  void leave();
  /// Has calls of `ours` that are under way return, and waits for that.
  void abortOurs();
};

/// A copy of a configuration of NCCL: calls in a group are executed at its end,
/// when the program may have let go of its own.
class Configuration {
public:
  /// Fails if the program has not initialized it.
  ncclResult_t take(const ncclConfig_t *config);
  bool isGiven() const { return !bytes.empty(); }
  /// As an argument; null if none was given.
  ncclConfig_t *get() { return bytes.empty() ? nullptr : bytes.data(); }

private:
  std::vector<char> bytes;
};

/// How a member is made.
struct Joining {
  Address address;
  int rank = 0, numRanks = 0;
  /// The current device of the thread, or rank `rank` where there is none.
  std::optional<int> device;
  /// Of the vendor's library: one that is there already, and is the member's
  /// from now on, or what to make one with.
  ncclComm_t real = nullptr;
  Configuration config;
  bool makesReal = true;
};

/// Collective. On failure nothing is made, what the vendor's library has made
/// goes, and ncclGetLastError tells why.
ncclResult_t joinRanks(Joining joining, ncclComm_t &result);

/// A result code of libsccl's last call as one of NCCL's, with its message.
ncclResult_t asVendor(scclResult code);

/// Of calls where `memberOf` is null.
inline constexpr char noMember[] = "the communicator is null or destroyed";
/// Null if there is none, also if it was destroyed.
inline Member *memberOf(ncclComm_t comm) {
  auto *member = static_cast<Member *>(comm);
  return member && !member->isGone ? member : nullptr;
}
/// Takes the member from the program, whose handle stays one that is gone.
/// Returns the vendor's communicator, for the caller to end.
ncclComm_t endMember(Member *member);
/// The vendor's communicator in `comm`; null if there is none.
inline ncclComm_t realOf(ncclComm_t comm) {
  Member *member = memberOf(comm);
  return member ? member->real.get() : nullptr;
}

} // namespace sccl::vendor

#endif // SCCL_LIB_VENDOR_MEMBER_H
