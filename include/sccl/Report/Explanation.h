//===- Explanation.h - Why a schedule is as fast as it is -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_REPORT_EXPLANATION_H
#define SCCL_REPORT_EXPLANATION_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/CostModel.h"
#include "sccl/Report/Subject.h"

#include <array>

namespace sccl::report {

/// A limit on which a certificate puts a price, and what part of the bound
/// rests on it: were it wider by a small fraction x, the bound would be less by
/// at most x times this part.
struct PricedLimit {
  unsigned limit;
  double share;
};

/// What is known of one schedule.
struct Explanation {
  std::vector<LimitLoad> loads; ///< the fullest first
  size_t numFullest = 0;        ///< as many are as full as the first
  /// The certified bound on R/C with as many steps, and its proof: that of the
  /// file, or one that was found now. Nothing if there is none.
  std::optional<Certificate> certificate;
  bool isFromFile = false;
  /// The certified bound with any number of steps.
  std::optional<Rational> anySteps;
  std::vector<PricedLimit> priced; ///< the greatest share first

  /// True if no schedule of as many steps is cheaper.
  bool isOptimal = false;
};

/// Explains `subject`; bounds that its file does not have are looked for within
/// `limits`. Fails if the certificate in the file does not hold.
Result<Explanation> explain(const Subject &subject, const SearchLimits &limits);

/// Sentences about what limits the schedule; at `bytes` of a send buffer.
std::vector<std::string> limitSentences(const Subject &subject,
                                        const Explanation &explanation,
                                        const CostModel &model, double bytes);
/// What would have to change for a faster one.
std::vector<std::string> remedySentences(const Subject &subject,
                                         const Explanation &explanation,
                                         const CostModel &model, double bytes);
/// The certificate in three sentences: the claim, why it holds, and what it
/// says of this schedule. Empty without one.
std::vector<std::string> certificateSentences(const Subject &subject,
                                              const Explanation &explanation);

/// Why one of several schedules was chosen for a size.
struct ChoiceReason {
  size_t best;                     ///< its number
  double microseconds;             ///< in the model
  std::optional<size_t> second;    ///< the next best, if there are several
  double secondMicroseconds = 0;   ///< of that
  double from = 0;                 ///< it is best from so many bytes on
  std::optional<double> upTo = {}; ///< and below so many; nothing: for all more
};

/// Which of `costs` is best for `bytes`, by the model. There must be one.
ChoiceReason chooseFor(const std::vector<Cost> &costs, const CostModel &model,
                       double bytes);
/// The same in a sentence; `names` are those of the schedules.
std::string choiceSentence(const ChoiceReason &reason,
                           const std::vector<std::string> &names);

/// "12.5 us", "1.50 ms" or "2.00 s".
std::string timeText(double microseconds);
/// "1 MiB", "1.5 KiB", "100 bytes".
std::string sizeText(double bytes);

} // namespace sccl::report

#endif // SCCL_REPORT_EXPLANATION_H
