//===- NearParts.h - What ranks of a host write early and late --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs of a host write to each other what a MessageTable has as messages. Where
// messages are long, a round has two launches for that: what needs nothing that
// the ranks compute in this round goes early, beside that, and the rest late.
// libsccl makes them so, and the advice simulates them so.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_NEARPARTS_H
#define SCCL_ABI_NEARPARTS_H

#include "sccl/ABI/MessageTable.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace sccl {

/// Divides the messages of the ranks of a host.
class NearParts {
public:
  /// Adds all rows of `rank` with their rounds; `next(i)` are the rows that
  /// need row number i, and `isNear(peer)` says who is of the host.
  template <typename Rows, typename Rounds, typename Next, typename IsNear>
  void add(uint32_t rank, const Rows &rows, const Rounds &rounds, Next next,
           IsNear isNear) {
    for (uint32_t i = 0; i < rows.size(); ++i) {
      const MessageRow &row = rows[i];
      if (row.kind == MessageRow::Send && isNear(row.peer))
        sends[rounds[i]].push_back({keyOf(rank, row), row.count});
      if (row.isMessage())
        continue;
      for (uint32_t after : next(i))
        if (rows[after].isMessage() && rounds[after] == rounds[i])
          late.insert(keyOf(rank, rows[after]));
    }
  }

  /// All ranks of the host are added. Two launches that are not busiest on the
  /// same links take longer than one; then all of the round is late.
  void settle() {
    for (const auto &[round, messages] : sends)
      if (!isAsFast(messages))
        for (const Message &message : messages)
          late.insert(message.key);
  }

  /// Of a message of `rank` within the host.
  bool isLate(uint32_t rank, const MessageRow &row) const {
    return late.count(keyOf(rank, row)) != 0;
  }

private:
  /// A sender, the receiver and a tag.
  using Key = std::array<uint32_t, 3>;
  struct Message {
    Key key;
    uint64_t chunks;
  };
  static Key keyOf(uint32_t rank, const MessageRow &row) {
    return row.kind == MessageRow::Send ? Key{rank, row.peer, row.tag}
                                        : Key{row.peer, rank, row.tag};
  }

  /// Both with a switch, whose ports are what is busy, and with a link for
  /// each two ranks.
  bool isAsFast(const std::vector<Message> &messages) const {
    enum Part { Early, Late, Whole };
    using Loads = std::array<uint64_t, Whole + 1>;
    std::array<std::map<std::array<uint32_t, 2>, Loads>, 3> loads;
    for (const auto &[key, chunks] : messages) {
      auto [from, to, tag] = key;
      for (Part part : {late.count(key) ? Late : Early, Whole}) {
        loads[0][{from, to}][part] += chunks;
        loads[1][{from}][part] += chunks;
        loads[2][{to}][part] += chunks;
      }
    }
    return std::all_of(loads.begin(), loads.end(), [](const auto &all) {
      Loads most = {};
      for (const auto &[where, load] : all)
        for (Part part : {Early, Late, Whole})
          most[part] = std::max(most[part], load[part]);
      return most[Early] + most[Late] <= most[Whole];
    });
  }

  std::map<uint32_t, std::vector<Message>> sends; ///< by round
  std::set<Key> late;
};

} // namespace sccl

#endif // SCCL_ABI_NEARPARTS_H
