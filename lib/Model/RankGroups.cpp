//===- RankGroups.cpp - Some of the ranks, or several groups --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/RankGroups.h"

#include "sccl/Model/Text.h"

using namespace sccl;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Adds the ranks of "5", "0-7" or "0-56:8" to `group`.
static std::optional<Error> addRanks(std::string_view item, unsigned numRanks,
                                     std::vector<unsigned> &group) {
  std::string_view range = item.substr(0, item.find(':'));
  std::string_view from = range.substr(0, range.find('-'));
  std::optional<unsigned> first = wholeNumber(from), last = first, stride = 1;
  if (from.size() < range.size())
    last = wholeNumber(range.substr(from.size() + 1));
  if (range.size() < item.size())
    stride = wholeNumber(item.substr(range.size() + 1));
  bool isRange = from.size() < range.size();
  if (!first || !last || !stride || *stride == 0 || *last < *first ||
      (!isRange && range.size() < item.size()))
    return Error{quoted(item) + " is no rank and no range of ranks, as 5, 0-7 "
                                "or 0-56:8"};
  if (*last >= numRanks)
    return Error{"rank " + std::to_string(*last) + " is out of range for " +
                 std::to_string(numRanks) + " ranks"};
  for (unsigned rank = *first; rank <= *last; rank += *stride) {
    group.push_back(rank);
    if (*last - rank < *stride)
      break;
  }
  return std::nullopt;
}

/// All ranks, in groups of `size` neighbours or in `size` groups of ranks that
/// are `size` apart.
static Result<RankGroups> regularGroups(std::string_view text, bool isStrided,
                                        unsigned numRanks) {
  std::string_view number = text.substr(text.find(':') + 1);
  std::optional<unsigned> size = wholeNumber(number);
  if (!size || *size == 0 || numRanks % *size != 0)
    return Error{quoted(text) + ": " + quoted(number) +
                 " is no divisor of the number of ranks, " +
                 std::to_string(numRanks)};
  unsigned count = isStrided ? *size : numRanks / *size;
  RankGroups groups(count);
  for (unsigned rank = 0; rank < numRanks; ++rank)
    groups[isStrided ? rank % count : rank / *size].push_back(rank);
  return groups;
}

Result<RankGroups> sccl::parseRankGroups(std::string_view text,
                                         unsigned numRanks) {
  RankGroups groups;
  bool isStrided = text.starts_with("strides:");
  if (isStrided || text.starts_with("blocks:")) {
    Result<RankGroups> regular = regularGroups(text, isStrided, numRanks);
    if (!regular)
      return regular;
    groups = std::move(*regular);
  } else {
    for (std::string_view group : split(text, '/')) {
      groups.emplace_back();
      if (group.empty())
        return Error{"a group without ranks in " + quoted(text)};
      for (std::string_view item : split(group, ','))
        if (auto error = addRanks(item, numRanks, groups.back()))
          return *error;
    }
  }
  if (auto error = checkRankGroups(groups, numRanks))
    return *error;
  return groups;
}

std::optional<Error> sccl::checkRankGroups(const RankGroups &groups,
                                           unsigned numRanks) {
  constexpr size_t none = ~size_t(0);
  if (groups.empty())
    return Error{"there must be at least one group"};
  std::vector<size_t> groupOf(numRanks, none);
  for (size_t i = 0; i < groups.size(); ++i) {
    for (unsigned rank : groups[i]) {
      if (rank >= numRanks)
        return Error{"rank " + std::to_string(rank) + " is out of range for " +
                     std::to_string(numRanks) + " ranks"};
      if (groupOf[rank] == i)
        return Error{"rank " + std::to_string(rank) +
                     " is twice in the group " + printRankGroups({groups[i]})};
      if (groupOf[rank] != none)
        return Error{"rank " + std::to_string(rank) +
                     " is in two groups, which must not overlap: " +
                     printRankGroups({groups[groupOf[rank]]}) + " and " +
                     printRankGroups({groups[i]})};
      groupOf[rank] = i;
    }
    if (groups[i].empty())
      return Error{"a group has no ranks"};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// The end of the run of at least three ranks, equally far apart, that begins
/// at `begin`; of two neighbours, those.
static size_t endOfRun(const std::vector<unsigned> &ranks, size_t begin) {
  size_t end = begin + 1;
  while (end < ranks.size() && ranks[end] > ranks[end - 1] &&
         ranks[end] - ranks[end - 1] == ranks[begin + 1] - ranks[begin])
    ++end;
  bool areNeighbours = end - begin == 2 && ranks[begin] + 1 == ranks[begin + 1];
  return end - begin > 2 || areNeighbours ? end : begin + 1;
}

static std::string printGroup(const std::vector<unsigned> &ranks) {
  std::string text;
  for (size_t begin = 0, end; begin < ranks.size(); begin = end) {
    end = endOfRun(ranks, begin);
    text += (begin ? "," : "") + std::to_string(ranks[begin]);
    if (end - begin == 1)
      continue;
    text += "-" + std::to_string(ranks[end - 1]);
    if (unsigned stride = ranks[begin + 1] - ranks[begin]; stride > 1)
      text += ":" + std::to_string(stride);
  }
  return text;
}

std::string sccl::printRankGroups(const RankGroups &groups) {
  std::string text;
  for (const std::vector<unsigned> &group : groups)
    text += (text.empty() ? "" : "/") + printGroup(group);
  return text;
}
