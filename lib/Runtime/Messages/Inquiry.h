//===- Inquiry.h - Who is lost ----------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When one rank is lost all others stop, and most of them wait for a rank that
// only waits itself. So a rank to which nothing comes asks those for which it
// waits, several times. Whoever answers is there; who never does is suspected.
// A rank without a suspect leaves it to others for a while to name theirs.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_INQUIRY_H
#define SCCL_LIB_RUNTIME_MESSAGES_INQUIRY_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sccl {

/// What one rank knows of those for which it waits.
class Inquiry {
public:
  static constexpr unsigned nobody = ~0u;

  explicit Inquiry(unsigned numRanks) : peers(numRanks) {}

  /// Something has come or gone: nobody is suspected.
  void restart() {
    if (!isActive)
      return;
    std::fill(peers.begin(), peers.end(), Peer());
    isActive = false;
    ++theNumber;
  }
  /// Goes along with questions, and comes back with their answers.
  uint64_t number() const { return theNumber; }
  /// `peer` is asked.
  void ask(unsigned peer) {
    ++peers[peer].questions;
    isActive = true;
  }
  /// `peer` answers that it waits for `other`, or for nobody.
  void hear(unsigned peer, uint64_t number, unsigned other) {
    if (number != theNumber)
      return;
    peers[peer].hasAnswered = true;
    peers[peer].waitsFor = other;
  }

  bool hasAnswered(unsigned peer) const { return peers[peer].hasAnswered; }
  bool suspects(unsigned peer) const {
    return peers[peer].questions >= enough && !peers[peer].hasAnswered;
  }
  /// The first rank that is suspected, or `nobody`.
  unsigned suspect() const {
    unsigned peer = 0;
    while (peer < peers.size() && !suspects(peer))
      ++peer;
    return peer < peers.size() ? peer : nobody;
  }
  /// For whom `peer` waits, as far as it has said so.
  unsigned waitsFor(unsigned peer) const { return peers[peer].waitsFor; }
  /// The ranks that are suspected.
  std::vector<unsigned> suspects() const {
    std::vector<unsigned> result;
    for (unsigned peer = 0; peer < peers.size(); ++peer)
      if (suspects(peer))
        result.push_back(peer);
    return result;
  }
  bool hasAnyAnswered() const {
    return std::any_of(peers.begin(), peers.end(),
                       [](const Peer &peer) { return peer.hasAnswered; });
  }

private:
  /// Questions that somebody may miss who was not given the processor.
  static constexpr unsigned enough = 3;
  struct Peer {
    unsigned questions = 0;
    bool hasAnswered = false;
    unsigned waitsFor = nobody;
  };
  bool isActive = false; ///< somebody was asked
  uint64_t theNumber = 0;
  std::vector<Peer> peers;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_INQUIRY_H
