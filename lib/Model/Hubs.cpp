//===- Hubs.cpp - Sets of ports that many ports reach ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hubs.h"

#include <algorithm>
#include <map>

using namespace sccl;

using PortSet = std::vector<unsigned>;

void sccl::sortAndDropCopies(std::vector<unsigned> &list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// The sets that `port` may be said to reach: its targets alone, and with each
/// of `own`.
static std::vector<PortSet> optionsOf(const SendingPort &port,
                                      const PortSet &own) {
  std::vector<PortSet> options = {port.targets};
  for (unsigned receiving : own) {
    PortSet with = port.targets;
    with.insert(std::ranges::upper_bound(with, receiving), receiving);
    options.push_back(std::move(with));
  }
  return options;
}

std::vector<PortSet> sccl::hubsOf(std::vector<SendingPort> ports,
                                  const std::vector<PortSet> &receiving) {
  std::map<PortSet, size_t> numbers; // of ports that may be said to reach each
  std::vector<std::vector<std::map<PortSet, size_t>::iterator>> options;
  for (SendingPort &port : ports) {
    sortAndDropCopies(port.targets);
    auto &ofPort = options.emplace_back();
    for (PortSet &set : optionsOf(port, receiving[port.rank])) {
      auto [at, isNew] = numbers.try_emplace(std::move(set), 0);
      ++at->second;
      ofPort.push_back(at);
    }
  }
  std::vector<PortSet> hubs;
  for (const auto &ofPort : options) {
    auto count = [](const auto &at) { return at->second; };
    size_t most = std::ranges::max(ofPort, {}, count)->second;
    bool isClear = std::ranges::count(ofPort, most, count) == 1;
    hubs.push_back(isClear ? (*std::ranges::find(ofPort, most, count))->first
                           : ofPort.front()->first);
  }
  return hubs;
}
