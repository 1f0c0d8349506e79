//===- Transfers.cpp - Where chunks are, and what moves them --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transfers.h"

#include <algorithm>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

Location Locations::output(unsigned rank, unsigned chunk) const {
  using enum CollectiveKind;
  if (collective.kind() == ReduceScatter || collective.kind() == Scatter)
    return {Buffer::Output, int(chunk - rank * part())};
  if (collective.kind() != AllToAll)
    return {Buffer::Output, int(chunk)};
  unsigned source = chunk / collective.chunks();
  return {Buffer::Output,
          int(source * part() + chunk % collective.chunks() - rank * part())};
}

std::vector<Transfer> exchange::transfersOf(const Step &step,
                                            Locations &locations) {
  constexpr size_t mostChunks = 64;
  std::vector<Send> sends = step.sends;
  auto key = [](const Send &send) {
    return std::tuple(send.src, send.dst, send.action, send.payload,
                      send.chunk);
  };
  std::ranges::sort(sends, {}, key);
  std::vector<Location> from;
  for (const Send &send : sends)
    from.push_back(send.payload == SendPayload::Input
                       ? locations.input(send.src, send.chunk)
                       : locations.of(send.src, send.chunk));
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < sends.size(); ++i) {
    const Send &send = sends[i];
    bool reduces = send.action == SendAction::Reduce;
    Location local = reduces ? locations.of(send.dst, send.chunk) : from[i];
    Location to = locations.write(send.dst, send.chunk);
    Transfer *last = transfers.empty() ? nullptr : &transfers.back();
    size_t count = last ? last->chunks.size() : 0;
    if (last && last->src == send.src && last->dst == send.dst &&
        last->reduces == reduces && count < mostChunks &&
        after(last->from, count) == from[i] &&
        after(last->local, count) == local && after(last->to, count) == to)
      last->chunks.push_back(send.chunk);
    else
      transfers.push_back(
          {send.src, send.dst, {send.chunk}, reduces, from[i], local, to});
  }
  return transfers;
}
