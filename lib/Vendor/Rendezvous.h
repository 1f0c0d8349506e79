//===- Rendezvous.h - How ranks with one unique id meet -*- C++ -* --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_VENDOR_RENDEZVOUS_H
#define SCCL_LIB_VENDOR_RENDEZVOUS_H

#include <memory>
#include <string>
#include <vector>

namespace sccl::vendor {

/// What a unique id holds: where a thread of the process that made it listens.
struct Address {
  char magic[8];
  unsigned address; ///< IPv4, in the network's order
  unsigned short port;
  unsigned long long secret;
};

/// Begins to listen, for one group of ranks. Returns an empty text, or what
/// went wrong. The thread ends with the last rank, or after 5 minutes without
/// any. Whoever connects has 5 seconds to say which rank it is; others are
/// served meanwhile.
std::string listenForRanks(Address &address);

/// A rank's connection: gathers bytes of all ranks.
class Rendezvous {
public:
  /// Fails, and returns nothing, with `problem`, if nobody listens there.
  static std::unique_ptr<Rendezvous> join(const Address &address, int rank,
                                          int numRanks, std::string &problem);
  ~Rendezvous();
  /// `mine` of rank r, which all ranks pass with equally many bytes, ends at
  /// `all + r * bytes`. Returns false if a rank has gone.
  bool gather(const void *mine, void *all, size_t bytes);
  /// A word of each rank, cut off after 500 bytes. Empty if a rank has gone.
  std::vector<std::string> gatherText(const std::string &mine);
  const int numRanks;

private:
  Rendezvous(int socket, int numRanks) : numRanks(numRanks), socket(socket) {}
  int socket;
};

} // namespace sccl::vendor

#endif // SCCL_LIB_VENDOR_RENDEZVOUS_H
