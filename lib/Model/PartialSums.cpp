//===- PartialSums.cpp - Schedules written from partial sums --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/PartialSums.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

using namespace sccl;

namespace {
class SumWriter {
public:
  SumWriter(const Collective &collective,
            const std::vector<SumMessage> &messages)
      : collective(collective), messages(messages), rows(messages.size()) {}

  std::optional<std::vector<std::optional<Send>>>
  write(const std::vector<SumResult> &results);

private:
  using Place = std::pair<uint32_t, uint32_t>; ///< rank and chunk
  /// What becomes of a message.
  struct Row {
    bool isNeeded = false;
    bool isInValue = false; ///< it is added to the value of its destination
    bool isCurrent = false; ///< it is the value of its source at its step
    unsigned lastUse = 0;   ///< step in which it is last sent as a kept one
    uint8_t keep = 0;
  };
  static Place sourceOf(const SumMessage &message) {
    return {message.src, message.chunk};
  }
  static Place targetOf(const SumMessage &message) {
    return {message.dst, message.chunk};
  }
  bool contributes(Place place) const {
    return collective.pre().contains(place.first, place.second);
  }

  bool isInputOf(size_t message, uint32_t rank) const;
  void enterResults(const std::vector<SumResult> &results);
  void findNeeded();
  void settleRelays();
  void findKept();
  bool numberKept();
  bool findReplacing();
  Send sendOf(size_t message) const;

  const Collective &collective;
  const std::vector<SumMessage> &messages;
  std::vector<Row> rows;              ///< by message
  std::map<Place, PartialSum> values; ///< at the end
  /// Where an arrival replaces the input: the step in which it does.
  std::map<Place, unsigned> replacing;
};
} // namespace

/// True if `message` is nothing but the input of `rank`.
bool SumWriter::isInputOf(size_t message, uint32_t rank) const {
  const PartialSum *sum = &messages[message].sum;
  for (; !sum->own && sum->parts.size() == 1; sum = &messages[message].sum)
    message = sum->parts.front();
  return sum->own && sum->parts.empty() && messages[message].src == rank;
}

/// An input that comes back as it was need not have gone.
void SumWriter::enterResults(const std::vector<SumResult> &results) {
  for (const SumResult &result : results) {
    PartialSum &value = values[{result.rank, result.chunk}];
    value = result.sum;
    if (value.own || !contributes({result.rank, result.chunk}))
      continue;
    value.own = std::erase_if(value.parts, [&](size_t part) {
                  return isInputOf(part, result.rank);
                }) > 0;
  }
}

void SumWriter::findNeeded() {
  for (const auto &[place, value] : values)
    for (size_t part : value.parts)
      rows[part].isNeeded = true;
  for (size_t i = rows.size(); i-- > 0;)
    if (rows[i].isNeeded)
      for (size_t part : messages[i].sum.parts)
        rows[part].isNeeded = true;
}

/// Where no result is asked for, the value is the largest sum that is sent.
void SumWriter::settleRelays() {
  std::map<Place, PartialSum> ofRelays;
  for (size_t i = 0; i < rows.size(); ++i) {
    Place place = sourceOf(messages[i]);
    const PartialSum &sum = messages[i].sum;
    size_t addends = sum.parts.size() + sum.own;
    if (!rows[i].isNeeded || addends < 2 || sum.own != contributes(place) ||
        values.contains(place))
      continue;
    PartialSum &value = ofRelays[place];
    if (sum.parts.size() > value.parts.size())
      value = sum;
  }
  values.merge(ofRelays);
  for (const auto &[place, value] : values)
    for (size_t part : value.parts)
      rows[part].isInValue = true;
}

/// Which messages are values of their sources, and which arrivals have to be
/// kept for the others, and until when.
void SumWriter::findKept() {
  for (size_t i = 0; i < rows.size(); ++i) {
    const SumMessage &message = messages[i];
    if (!rows[i].isNeeded || message.sum.parts.empty())
      continue;
    Place place = sourceOf(message);
    PartialSum now{contributes(place), {}};
    if (auto value = values.find(place); value != values.end())
      for (size_t part : value->second.parts)
        if (messages[part].step < message.step) {
          now.parts.push_back(part);
          now.own = value->second.own;
        }
    rows[i].isCurrent = message.sum == now;
    if (!rows[i].isCurrent)
      for (size_t part : message.sum.parts)
        rows[part].lastUse = std::max(rows[part].lastUse, message.step);
  }
}

/// False if some rank keeps too much at a time. What is kept is read for the
/// last time before the step ends in which its number is taken again.
bool SumWriter::numberKept() {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, {},
                           [&](size_t i) { return messages[i].step; });
  std::map<Place, std::array<unsigned, Send::maxKept>> busyUntil;
  for (size_t i : order) {
    if (rows[i].lastUse == 0)
      continue;
    auto &busy = busyUntil[targetOf(messages[i])];
    auto free = std::ranges::find_if(
        busy, [&](unsigned last) { return last <= messages[i].step; });
    if (free == busy.end())
      return false;
    *free = rows[i].lastUse;
    rows[i].keep = uint8_t(free - busy.begin() + 1);
  }
  return true;
}

/// False if what would replace an input arrives in two parts.
bool SumWriter::findReplacing() {
  for (const auto &[place, value] : values) {
    if (value.own || value.parts.empty() || !contributes(place))
      continue;
    unsigned first = ~0u, count = 0;
    for (size_t part : value.parts)
      first = std::min(first, messages[part].step);
    for (size_t part : value.parts)
      count += messages[part].step == first;
    if (count > 1)
      return false;
    replacing[place] = first;
  }
  return true;
}

Send SumWriter::sendOf(size_t i) const {
  const SumMessage &message = messages[i];
  Send send{message.chunk, message.src, message.dst, SendAction::Keep};
  send.keep = rows[i].keep;
  if (rows[i].isInValue) {
    auto step = replacing.find(targetOf(message));
    bool isCopy = step != replacing.end() && step->second == message.step;
    send.action = isCopy ? SendAction::Copy : SendAction::Reduce;
  }
  if (rows[i].isCurrent)
    return send;
  send.payload = message.sum.own ? SendPayload::Input : SendPayload::Kept;
  for (size_t part : message.sum.parts)
    send.kept |= 1u << (rows[part].keep - 1);
  return send;
}

std::optional<std::vector<std::optional<Send>>>
SumWriter::write(const std::vector<SumResult> &results) {
  enterResults(results);
  findNeeded();
  settleRelays();
  findKept();
  if (!numberKept() || !findReplacing())
    return std::nullopt;
  std::vector<std::optional<Send>> sends(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].isNeeded)
      sends[i] = sendOf(i);
  return sends;
}

std::optional<std::vector<std::optional<Send>>>
sccl::writePartialSums(const Collective &collective,
                       const std::vector<SumMessage> &messages,
                       const std::vector<SumResult> &results) {
  return SumWriter(collective, messages).write(results);
}
