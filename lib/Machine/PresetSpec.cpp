//===- PresetSpec.cpp - Names of presets, with parameters -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PresetSpec.h"

#include "sccl/Machine/Machine.h"
#include "sccl/Machine/Units.h"
#include "sccl/Model/Text.h"

#include <algorithm>
#include <set>

using namespace sccl;

bool PresetSpec::has(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

/// A whole number in [1, most].
static Result<unsigned> parseCount(std::string_view whole,
                                   std::string_view text, unsigned most) {
  std::optional<unsigned> value = wholeNumber(text);
  if (value && *value >= 1 && *value <= most)
    return *value;
  return Error{"machine " + quoted(whole) + ": " + quoted(text) +
               " is no number between 1 and " + std::to_string(most)};
}

static std::vector<std::string_view> flagsOf(const PresetGrammar &grammar) {
  return grammar.flags.empty() ? std::vector<std::string_view>()
                               : split(grammar.flags, ',');
}

static Error unknownParameter(std::string_view whole, std::string_view text,
                              const PresetGrammar &grammar) {
  std::string known = "boxes=N, rails, core, nic-gbps=X";
  for (std::string_view flag : flagsOf(grammar))
    known += ", " + std::string(flag);
  if (grammar.mostExtents)
    known += ", extents such as 4x4";
  return Error{"machine " + quoted(whole) + " has no parameter " +
               quoted(text) + "; there are: " + known};
}

/// Reads "4x4x4".
static std::optional<Error> parseExtents(PresetSpec &spec,
                                         std::string_view text,
                                         const PresetGrammar &grammar) {
  uint64_t product = 1;
  for (std::string_view part : split(text, 'x')) {
    Result<unsigned> extent = parseCount(spec.whole, part, 1u << 16);
    if (!extent)
      return Error{extent.error()};
    spec.extents.push_back(*extent);
    product *= *extent;
    if (product > 1u << 16)
      return Error{"machine " + quoted(spec.whole) + " has more than " +
                   std::to_string(1u << 16) + " GPUs"};
  }
  if (spec.extents.size() >= grammar.leastExtents &&
      spec.extents.size() <= grammar.mostExtents)
    return std::nullopt;
  return Error{"machine " + quoted(spec.whole) + " has " +
               std::to_string(spec.extents.size()) +
               " dimensions, expected between " +
               std::to_string(grammar.leastExtents) + " and " +
               std::to_string(grammar.mostExtents)};
}

static std::optional<Error> parseParameter(PresetSpec &spec,
                                           std::string_view text,
                                           const PresetGrammar &grammar) {
  std::vector<std::string_view> flags = flagsOf(grammar);
  bool hasFlag = std::find(flags.begin(), flags.end(), text) != flags.end();
  if (text.starts_with("boxes=")) {
    Result<unsigned> boxes = parseCount(spec.whole, text.substr(6), 4096);
    if (!boxes)
      return Error{boxes.error()};
    spec.boxes = *boxes;
  } else if (text == "rails" || text == "core") {
    spec.hasRails = text == "rails";
  } else if (text.starts_with("nic-gbps=")) {
    Result<Rational> rate = parseDecimal(text.substr(9));
    if (!rate || *rate <= Rational(0) || *rate > Rational(Machine::maxQuantity))
      return Error{"machine " + quoted(spec.whole) + ": " +
                   quoted(text.substr(9)) +
                   " is no number of gigabits per second"};
    spec.nicGbps = *rate;
  } else if (hasFlag) {
    spec.flags.emplace_back(text);
  } else if (grammar.mostExtents && !text.empty() && text[0] >= '0' &&
             text[0] <= '9' && spec.extents.empty()) {
    return parseExtents(spec, text, grammar);
  } else {
    return unknownParameter(spec.whole, text, grammar);
  }
  return std::nullopt;
}

/// What `text` is about: of what has one name there is one.
static std::string nameOf(std::string_view text) {
  bool isCoreOrRails = text == "rails" || text == "core";
  return isCoreOrRails ? "rails or core"
                       : std::string(text.substr(0, text.find('=')));
}

Result<PresetSpec> sccl::parsePresetSpec(std::string_view spec,
                                         const PresetGrammar &grammar) {
  PresetSpec result;
  result.whole = std::string(spec);
  std::set<std::string> given;
  size_t colon = spec.find(':');
  if (colon != spec.npos)
    for (std::string_view text : split(spec.substr(colon + 1), ',')) {
      if (std::optional<Error> error = parseParameter(result, text, grammar))
        return *error;
      if (!given.insert(nameOf(text)).second)
        return Error{"machine " + quoted(spec) + " gives " + nameOf(text) +
                     " twice"};
    }
  if (grammar.leastExtents && result.extents.empty())
    return Error{"machine " + quoted(spec) + " lacks its extents, as in 4x4x4"};
  return result;
}
