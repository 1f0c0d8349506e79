//===- PartialSumEncoding.h - Several partial sums on a rank ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions in which a rank may hold several partial sums of a chunk at once.
// Nothing is said about values of ranks: each send chooses which earlier
// arrivals at its source it adds up, and whether the source's input is among
// them, and each destination chooses so for the result. What is added must be
// disjoint. All schedules whose sends carry partial sums of one chunk are
// models, so a refutation holds for all of them, if enough sends of a chunk
// over a link in a step are looked at.
//
// Where each chunk goes to a single rank nothing is gained: let each rank that
// contributes, directly or on the way, keep of a schedule the last send with
// which its information reaches the destination. These sends form a tree in
// which every rank sends after all that it receives, so that it may send a
// running sum. In a single step only inputs can be sent, and of two ranks each
// may send its input where it first sends anything that has it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_SAT_PARTIALSUMENCODING_H
#define SCCL_LIB_SOLVER_SAT_PARTIALSUMENCODING_H

#include "ContributionEncoding.h"
#include "sccl/Model/PartialSums.h"

#include <optional>
#include <string>

namespace sccl {

/// Why a model of the complete form that is no schedule is no answer.
inline constexpr const char *moreSumsThanNamed =
    "there may be a schedule only with more partial sums on a rank than a "
    "schedule can name";

class PartialSumEncoding final : public ContributionEncoding {
public:
  struct Form {
    /// Sends of a chunk over a link in a step that are looked at.
    unsigned lanes = 1;
    /// Leaves out models that no schedule can be written for: results without
    /// the rank's own input to which two arrivals of one step belong, before
    /// any other does.
    bool isWritable = true;
  };
  PartialSumEncoding(const Instance &instance, std::vector<Permutation> group,
                     ClauseSolver &solver, Form form)
      : ContributionEncoding(instance, std::move(group), solver), form(form) {}

  /// `reason` why it is unknown whether there is a schedule, if there is none
  /// with one running sum for each rank and chunk.
  static std::string besideRunningSums(const std::string &reason) {
    return "there is no schedule with one running sum for each rank and chunk; "
           "with several partial sums: " +
           reason;
  }
  /// True if schedules with several partial sums may exist where none with one
  /// running sum for each rank and chunk does.
  static bool mayMatter(const Instance &instance);
  /// The form whose refutation is a proof.
  static Form completeForm(const Instance &instance);
  /// About the variables of the formula, the counters of the limits excluded.
  static uint64_t numVariables(const Instance &instance, size_t groupOrder,
                               Form form);

  /// Whether the model that was found last can be written as a schedule.
  bool isDecodable() const override;

private:
  /// What a send or a result takes of an earlier message.
  struct Use {
    size_t message;
    int literal;
  };
  struct Sum {
    int own = never; ///< the rank's input is in it
    std::vector<Use> uses = {};
  };
  struct Message {
    unsigned step, link; ///< the step from 0 on
    int sent;
    Sum sum;
    Value carried = {};
  };
  /// The messages of one chunk, step by step, and the results by rank.
  struct Chunk {
    std::vector<Message> messages = {};
    std::vector<std::vector<size_t>> into = {}; ///< by rank
    std::vector<Sum> results = {};
  };
  void encodeOrbit(Orbit &orbit) override;
  void encodeMessage(const Orbit &orbit, unsigned step, unsigned link,
                     Chunk &chunk, Phase &phase);
  void encodeResult(const Orbit &orbit, unsigned rank, Chunk &chunk);
  Sum chooseParts(const Orbit &orbit, unsigned rank, size_t numMessages,
                  const Chunk &chunk);
  Value unite(unsigned rank, const Sum &sum, const Chunk &chunk);
  void decodeOrbit(const Orbit &orbit, std::vector<Step> &steps) const override;
  PartialSum chosen(const Sum &sum) const;
  std::optional<std::vector<std::optional<Send>>>
  write(const Orbit &orbit) const;

  const Form form;
  std::vector<Chunk> chunks; ///< by orbit
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_SAT_PARTIALSUMENCODING_H
