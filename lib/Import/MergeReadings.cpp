//===- MergeReadings.cpp - What several files say of one box --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace sccl;
using namespace sccl::import;

static Error ofOtherHost(const Reading &box, const Reading &other) {
  return Error{other.path + ": " + std::to_string(other.gpus.size()) +
               " GPUs, where " + box.path + " has " +
               std::to_string(box.gpus.size()) +
               "; are they of the same host?"};
}

/// Takes what nvlink -s says of a box into its reading.
static std::optional<Error> applyStatus(Reading &box, const Reading &status) {
  if (status.gpus.size() != box.gpus.size())
    return ofOtherHost(box, status);
  for (unsigned i = 0; i < box.gpus.size(); ++i)
    if (box.gpus[i].chip.empty())
      box.gpus[i].chip = status.status[i].gpu;
  // Without a line of a link it was not allowed to look, or there are none.
  if (llvm::all_of(status.status, [](const LinkStatusReading &gpu) {
        return gpu.active + gpu.inactive == 0;
      })) {
    box.warnings.push_back(status.path + " has no line of a link: left out");
    return std::nullopt;
  }
  box.status = status.status;
  std::vector<unsigned> linksOf(box.gpus.size());
  for (const LinkReading &link : box.switchLinks)
    linksOf[link.a] += link.links.value_or(0);
  for (const LinkReading &link : box.pairs.value_or(std::vector<LinkReading>()))
    for (unsigned gpu : {link.a, link.b})
      linksOf[gpu] += link.links.value_or(0);
  for (unsigned i = 0; i < box.gpus.size(); ++i) {
    const LinkStatusReading &gpu = status.status[i];
    if (gpu.active != linksOf[i])
      box.warnings.push_back(
          box.gpus[i].name + ": " + std::to_string(gpu.active) +
          " links are active, " + std::to_string(linksOf[i]) + " are in " +
          box.path + "; the active ones count, if all lead to one place");
    if (gpu.inactive)
      box.warnings.push_back(box.gpus[i].name + ": " +
                             std::to_string(gpu.inactive) +
                             " links are inactive: not counted");
  }
  for (LinkReading &link : box.switchLinks)
    if (linksOf[link.a] == link.links)
      link.links = status.status[link.a].active;
  // A bridge between two has no more links than the worse end.
  if (!box.pairs)
    return std::nullopt;
  for (LinkReading &link : *box.pairs) {
    std::optional<unsigned> given = link.links;
    for (unsigned gpu : {link.a, link.b})
      if (unsigned active = status.status[gpu].active;
          linksOf[gpu] == given && active > 0)
        link.links = std::min(*link.links, active);
  }
  return std::nullopt;
}

/// The GPUs of `box` that those of `xgmi` are, by bus id, or by number where
/// one of the files has none.
static std::optional<std::vector<unsigned>> matchGpus(const Reading &box,
                                                      const Reading &xgmi) {
  if (box.gpus.size() != xgmi.gpus.size())
    return std::nullopt;
  std::vector<unsigned> same;
  for (const DeviceReading &gpu : xgmi.gpus) {
    auto it = llvm::find_if(box.gpus, [&](const DeviceReading &other) {
      return gpu.busId.empty() || other.busId.empty()
                 ? gpu.number == other.number
                 : gpu.busId == other.busId;
    });
    if (it == box.gpus.end())
      return std::nullopt;
    same.push_back(it - box.gpus.begin());
  }
  return same;
}

/// Takes the links of amd-smi xgmi, which knows how many there are, how fast
/// and in which state, in place of those of a box.
static std::optional<Error> applyXgmi(Reading &box, Reading xgmi) {
  std::optional<std::vector<unsigned>> same = matchGpus(box, xgmi);
  if (!same)
    return ofOtherHost(box, xgmi);
  std::map<std::pair<unsigned, unsigned>, LinkReading> links;
  for (LinkReading link : *xgmi.pairs) {
    auto [a, b] = std::minmax((*same)[link.a], (*same)[link.b]);
    links[{a, b}] = {a, b, link.links, link.bandwidth};
  }
  auto name = [&](unsigned a, unsigned b) {
    return box.gpus[a].name + " and " + box.gpus[b].name;
  };
  if (box.pairs)
    for (const LinkReading &pair : *box.pairs)
      if (!links.count({pair.a, pair.b}))
        box.warnings.push_back(name(pair.a, pair.b) + " are joined in " +
                               box.path + ", and have no link that is up in " +
                               xgmi.path + ": left out");
  box.pairs.emplace();
  for (auto &[ends, link] : links)
    box.pairs->push_back(std::move(link));
  box.noMachine.clear();
  for (unsigned i = 0; i < same->size(); ++i)
    if (DeviceReading &gpu = box.gpus[(*same)[i]]; gpu.busId.empty())
      gpu.busId = xgmi.gpus[i].busId;
  // It counts what the box's file does not.
  llvm::erase_if(box.assumptions, [](const std::string &line) {
    return line.starts_with("one XGMI link");
  });
  llvm::append_range(box.warnings, xgmi.warnings);
  llvm::append_range(box.assumptions, xgmi.assumptions);
  return std::nullopt;
}

static bool isAmdBox(const Reading &reading) {
  return llvm::is_contained(
      {ImportFormat::AmdSmi, ImportFormat::AmdSmiJson, ImportFormat::RocmSmi},
      reading.format);
}

/// topo -m, not topo -p2p.
static bool isMatrix(const Reading &reading) {
  return reading.format == ImportFormat::TopoMatrix &&
         !reading.pairsWithoutAccess;
}

/// Takes what `more` says of a box into its reading.
static std::optional<Error> apply(Reading &box, Reading more) {
  if (more.pairsWithoutAccess) {
    if (more.numGpus != box.numGpus)
      return ofOtherHost(box, more);
    warnOfAccess(box, *more.pairsWithoutAccess);
    return std::nullopt;
  }
  return more.format == ImportFormat::NvlinkStatus ? applyStatus(box, more)
         : more.format == ImportFormat::NvidiaSmiXml
             ? applyInventory(box, more)
             : applyXgmi(box, std::move(more));
}

Result<std::vector<Reading>>
import::mergeReadings(std::vector<Reading> readings) {
  bool hasAmdBox = llvm::any_of(readings, isAmdBox);
  bool hasMatrix = llvm::any_of(readings, isMatrix);
  std::vector<Reading> boxes;
  std::vector<std::pair<size_t, Reading>> more;
  for (Reading &reading : readings) {
    bool isMore = reading.pairsWithoutAccess ||
                  reading.format == ImportFormat::NvidiaSmiXml ||
                  (reading.format == ImportFormat::NvlinkStatus &&
                   (hasMatrix || !reading.noMachine.empty())) ||
                  (reading.format == ImportFormat::AmdXgmi && hasAmdBox);
    if (isMore)
      more.emplace_back(boxes.empty() ? 0 : boxes.size() - 1,
                        std::move(reading));
    else
      boxes.push_back(std::move(reading));
  }
  for (auto &[box, reading] : more) {
    if (boxes.empty())
      return Error{reading.path + ": " + reading.noMachine};
    if (std::optional<Error> error = apply(boxes[box], std::move(reading)))
      return *error;
  }
  return boxes;
}
