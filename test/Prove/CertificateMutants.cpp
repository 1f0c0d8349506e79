//===- CertificateMutants.cpp - Proofs with one change --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/Certificate.h"

#include "llvm/ADT/StringExtras.h"

#include <functional>

using namespace sccl;
using namespace sccl::test;

namespace {
using Lines = std::vector<std::string>;
/// Changes line `index` of a certificate; returns false if it cannot.
using Change = std::function<bool(Lines &lines, size_t index, Random &random)>;

bool dropLine(Lines &lines, size_t index, Random &) {
  lines.erase(lines.begin() + index);
  return true;
}
bool repeatLine(Lines &lines, size_t index, Random &) {
  lines.insert(lines.begin() + index, lines[index]);
  return true;
}
bool swapLines(Lines &lines, size_t index, Random &) {
  if (index + 1 >= lines.size() || lines[index] == lines[index + 1])
    return false;
  std::swap(lines[index], lines[index + 1]);
  return true;
}
bool endEarly(Lines &lines, size_t index, Random &) {
  lines.resize(index);
  return true;
}

/// Adds `difference` to one of the numbers of the line.
Change changeNumber(int difference) {
  return [=](Lines &lines, size_t index, Random &random) {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::StringRef(lines[index]).split(words, ' ');
    size_t first = random() % words.size();
    for (size_t i = 0; i < words.size(); ++i) {
      llvm::StringRef &word = words[(first + i) % words.size()];
      int64_t number;
      if (word.getAsInteger(10, number))
        continue;
      std::string changed = std::to_string(number + difference);
      word = changed;
      lines[index] = llvm::join(words, " ");
      return true;
    }
    return false;
  };
}

/// The number of steps that the claim, which is the second line, is about.
bool claimMoreSteps(Lines &lines, size_t, Random &) {
  llvm::StringRef claim = lines[1];
  auto [before, after] = claim.split(" with ");
  unsigned steps;
  if (after.consumeInteger(10, steps))
    return false;
  lines[1] = (before + " with " + llvm::Twine(steps + 1) + after).str();
  return true;
}

/// The numerator of the bound.
bool claimMore(Lines &lines, size_t, Random &) {
  auto [before, bound] = llvm::StringRef(lines[1]).rsplit(' ');
  uint64_t numerator;
  if (bound.consumeInteger(10, numerator))
    return false;
  lines[1] = (before + " " + llvm::Twine(numerator + 1) + bound).str();
  return true;
}

struct MutantClass {
  const char *name;
  Change change;
};

const std::vector<MutantClass> &mutantClasses() {
  static const std::vector<MutantClass> classes = {
      {"line dropped", dropLine},
      {"line twice", repeatLine},
      {"lines swapped", swapLines},
      {"end missing", endEarly},
      {"number one more", changeNumber(1)},
      {"number one less", changeNumber(-1)},
      {"number ten more", changeNumber(10)},
      {"larger bound", claimMore},
      {"more steps", claimMoreSteps},
  };
  return classes;
}

/// True if a bound of our own is at least what `claim` claims, or what it says
/// follows from `original`, which holds.
bool isTrue(const Certificate &claim, const Certificate &original,
            const RandomCase &given) {
  auto isAtMost = [&](const std::optional<Rational> &known) {
    return !known || (claim.bound && *claim.bound <= *known);
  };
  bool coversSteps =
      !original.steps || (claim.steps && *claim.steps <= *original.steps);
  if (coversSteps && isAtMost(original.bound))
    return true;
  if (!claim.steps)
    return false;
  Result<LowerBound> own = availableBound(
      given.topology, given.implementation.collective, *claim.steps);
  return own && isAtMost(own->value);
}

Fate judge(const std::string &text, const Certificate &original,
           const RandomCase &given) {
  Result<Certificate> certificate = parseCertificate(text);
  if (!certificate)
    return {Fate::Caught, "the reader"};
  const auto &[collective, schedule] = given.implementation;
  if (checkCertificate(*certificate, given.topology, collective))
    return {Fate::Caught, "the check of certificates"};
  // Nobody may have a schedule that is better than what is proved.
  Cost cost = costOf(schedule, collective);
  bool isForIt = !certificate->steps || cost.steps <= *certificate->steps;
  if (isForIt && (!certificate->bound || cost.bandwidth < *certificate->bound))
    return {Fate::Missed, "the check of certificates (a schedule is better)"};
  if (!isTrue(*certificate, original, given))
    return {Fate::Missed, "the check of certificates (more than is known)"};
  return {Fate::Equivalent, "a bound that is known"};
}
} // namespace

void test::mutateCertificate(const RandomCase &given, Random &random,
                             KillMatrix &matrix) {
  const auto &[collective, schedule] = given.implementation;
  Result<LowerBound> bound =
      availableBound(given.topology, collective, schedule.steps.size());
  if (!bound)
    return;
  std::string text = printCertificate(bound->certificate);
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, '\n');
  for (const MutantClass &one : mutantClasses()) {
    Lines lines;
    for (llvm::StringRef part : parts)
      lines.push_back(part.str());
    bool isChanged = false;
    for (unsigned tries = 0; tries < 8 && !isChanged; ++tries)
      isChanged = one.change(lines, random() % lines.size(), random);
    // Without its hash, so that the rest is looked at.
    for (std::string &line : lines)
      if (llvm::StringRef(line).starts_with("end"))
        line = "end";
    std::string mutant = llvm::join(lines, "\n");
    if (isChanged && mutant != text)
      matrix.add("certificate", one.name,
                 judge(mutant, bound->certificate, given));
  }
}
