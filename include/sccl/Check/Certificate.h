//===- Certificate.h - Lower bounds that can be checked ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A certificate is a claim "no schedule of this collective on this topology
// with S steps has R/C below p/q", for every k, R and C, together with numbers
// that prove it. Whoever found them is of no interest: `checkCertificate`
// verifies them in exact integer arithmetic from the definitions alone, and
// links no solver.
//
// Why a set of prices proves a bound
// ----------------------------------
// Give each limit L and step t a price l(L,t) >= 0, and a link e the price
// p(e,t) = sum of l(L,t) over the limits L that contain e. Let D be the largest
// sum of bandwidth(L) * l(L,t) over L, for any t. Take any schedule with S
// steps (some may be empty), r(t) rounds in step t and R in all, and let n(e,t)
// be the sends over e in step t. The limits say that the links of L carry at
// most bandwidth(L) * r(t) chunks in step t, hence
//
//   sum of p(e,t) n(e,t) = sum of l(L,t) * (sum of n(e,t) over e in L)
//                       <= sum of l(L,t) * bandwidth(L) * r(t)
//                       <= D * (sum of r(t)) = D * R.
//
// The left side is the sum, over the chunks c, of the price of the sends X of
// c. If chunks with the same pre- and postcondition (a *commodity* k of N(k)
// chunks) cost at least V(k) each, then R >= (sum of N(k) V(k)) / D. Neither k,
// R, C nor the rounds of a step matter, and nothing is said about how the
// schedule was made: unneeded sends only add to the left side.
//
// Which schedules. A send carries contributions to one chunk, and a rank may
// hold any number of partial sums of a chunk: the value, and what it keeps.
// Nothing below asks how many, or what is sent of them; it asks only which
// ranks a contribution can have got to.
//
// Why V(k) is what it is. What a rank has of a chunk changes only by sends of
// that chunk, which carry what their rank had before their step. So if
// information must get from rank a to rank b, then X contains a path from a to
// b in ascending steps, and V(k) is at least the price of the cheapest such
// path. Without reductions some rank of pre(k) must be joined to each rank of
// post(k); with them every rank of pre(k) to each rank of post(k), as its
// contribution must arrive. That needs no further evidence. Where a chunk goes
// to many ranks, more is true:
//
// Trees. Let Q be pre(k) (without reductions), or any one rank of pre(k)
// (with). Let each rank that information from Q gets to, other than Q, keep of
// X one send that brought it first. As information moves on only in a later
// step, these sends X' form a tree rooted in Q that spans all targets, post(k)
// less Q:
//   (i)   each target is entered exactly once, any other rank at most once, and
//         a rank of Q never; a send from u in step t has t > distance(Q, u);
//   (ii)  if a rank u outside Q sends to v by step t, it was entered by t - 1;
//   (iii) for each target d there is a path from Q to d in X'.
// With reductions one may also read backwards: links turned round, steps
// counted from the end, Q one rank of post(k), targets pre(k) less Q. A
// certificate gives numbers a(v) to (i), not positive if v is no target, b(e,t)
// >= 0 to (ii) and m(d,e,t) >= 0 to (iii). For a tree X' the sum over its sends
// (e = (u,v), t) of
//
//   w(e,t) = a(v) - (b(e,s) over s >= t) + (b((v,x),s) over x and s > t)
//            + (m(d,e,t) over d)
//
// is at least V = (sum of a) + (sum over targets d of the price of the cheapest
// path from Q to d at prices m(d)): (i) gives the first part, (iii) the second,
// and the terms of b are >= 0 by (ii). If w <= p for all (e,t) that (i) allows,
// the tree costs at least V at prices p. A commodity may have several trees: if
// the sum of max(0, w) over them is at most p, it costs at least the sum of V.
//
// Gossip. If all contributions of pre(k) must reach all of post(k), a chunk
// needs at least |pre| + |post| - 2 sends: put the sends of a step in any order
// and let v be the first rank to know everything, by some send. Up to that send
// each rank of pre but v has sent; after it, each rank of post but v must
// receive, since that send informed v alone. So a number g may be taken from
// every price, for V larger by g (|pre| + |post| - 2). The same holds for any
// partition of the ranks into blocks, such as boxes, with blocks in place of
// ranks: a block knows what some rank of it knows, and only sends between
// blocks count. Then g is taken from the prices of links between blocks.
//
// Search. The cheapest sends that a chunk can do with may be dearer than all of
// this can show, as it lets halves of two trees pass for one. Formula
// (ChunkFormula.h) has a variable for each send (e,t) and says that the sends
// join the ranks that must be joined, by paths in ascending steps, and that
// their prices add up to less than V. The sends of a chunk of any schedule that
// cost less than V would satisfy it. So a refutation of the formula, clause by
// clause, proves that the commodity costs at least V. Nothing is assumed of the
// chunk but that it is informed: contributions may be reduced twice there.
//
// Symmetry. A renumbering of the ranks that maps links to links of the same
// prices maps trees to trees of the same price. So commodities that it maps to
// one another have the same V.
//
// Orders of summation. A claim may be about schedules that add up each chunk by
// a given tree (SumTree.h) only; whatever holds for all schedules holds for
// them. What a rank gets of a chunk is of use there only if it is one node of
// the tree, and each send carries one. So the result at rank d costs at least
// the cheapest way to compute the root there: a sum at a rank after step t was
// there before, came over a link in step t, or is that of both its operands,
// which are there after step t. Without evidence V(k) is that of the rank of
// post(k) where it is dearest. Ways to several ranks may have sends in common.
// So a certificate can give each rank d of post(k) shares s(d,n,e,t) >= 0 of
// what it costs to send node n: if for each n their sum over d is at most
// p(e,t), all results cost at least the sum over d of the cheapest way to d at
// prices s(d), for a send of n serves each d whose way has it. A symmetry need
// not keep the tree, so such a claim has none.
//
// Pipelined schedules (Schedule.h) pay for the fullest limit, all steps taken
// together: with a load of P/C, the links of L carry at most bandwidth(L) * P
// chunks in all. Let l(L) be the largest of l(L,t) over t. Then the sum of
// p(e,t) n(e,t) is at most the sum of l(L) * bandwidth(L) * P over L, and all
// of this holds for P in place of R and D = sum of l(L) * bandwidth(L). Prices
// that change from step to step are of no use there, but of no harm either.
//
// Switches. Where switches copy or reduce, the proof is about the graph that
// has vertices for them (SwitchGraph.h), on which a schedule takes 2 S steps,
// and as that of a pipelined one, for R or for P.
//
// Any S. If the prices do not depend on the step, all of this except (ii) holds
// without counting steps, with paths in the plain graph.
//
// Cuts. For a set W of ranks, price each link from W to its complement at least
// 1: a chunk with pre(k) inside W and a target outside costs at least 1.
//
// Distance. Information moves over one link per step. If some rank needs what
// is more than S links away, there is no schedule at all.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CHECK_CERTIFICATE_H
#define SCCL_CHECK_CERTIFICATE_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Rational.h"
#include "sccl/Model/SumTree.h"
#include "sccl/Model/Topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sccl {

/// Largest absolute value of a number in a proof. Sums of such numbers over all
/// links, steps and chunks that the model allows stay below 2^127.
constexpr int64_t maxProofValue = int64_t(1) << 40;

/// One number per step, or a single one if the claim holds for any S.
using StepValues = std::vector<int64_t>;

/// Prices of one limit, which is named by its set of links, ascending by
/// (src, dst). Of several limits on the same set the tightest is meant.
struct LimitPrices {
  std::vector<Link> links;
  StepValues values;
  bool operator==(const LimitPrices &) const = default;
};

/// Numbers of one link, for rule (ii).
struct RelayValues {
  Link link;
  StepValues values;
  bool operator==(const RelayValues &) const = default;
};

/// Prices of one link on the way to `target`, for rule (iii).
struct PathPrices {
  unsigned target;
  Link link;
  StepValues values;
  bool operator==(const PathPrices &) const = default;
};

/// Why every tree from `roots` has at least some price. Links and steps are
/// those of the topology even if the tree is read backwards.
struct TreeProof {
  bool backward = false;
  std::vector<unsigned> roots;   ///< ascending
  std::vector<int64_t> arrivals; ///< a(v), one per rank
  std::vector<RelayValues> relays;
  std::vector<PathPrices> paths;
  bool operator==(const TreeProof &) const = default;
};

/// A clause that follows from others: with all of its literals false, each
/// clause of `reasons` in turn leaves one literal, which it makes true, but for
/// the last, which leaves none.
struct RefutationStep {
  std::vector<int> literals; ///< variables count from 1, negative for "not"
  /// Clauses of the formula and then of the steps before, counted from 1.
  std::vector<unsigned> reasons;
  bool operator==(const RefutationStep &) const = default;
};

/// Why no sends of a price below `value` are enough: the last step has no
/// literals.
struct SearchProof {
  int64_t value = 0;
  std::vector<RefutationStep> steps;
  bool operator==(const SearchProof &) const = default;
};

/// What a target has to pay for sends of one sum over one link.
struct SumShare {
  unsigned target;
  /// The sum of so many ranks, of which this is the least.
  unsigned first, count;
  Link link;
  StepValues values;
  bool operator==(const SumShare &) const = default;
};

/// Why a chunk that is in `pre` before and in `post` after has some price.
struct CommodityProof {
  std::vector<unsigned> pre, post; ///< ascending
  int64_t gossip = 0;
  std::vector<TreeProof> trees;
  /// Blocks of several ranks each, ascending, for the gossip value; all other
  /// ranks are blocks of their own.
  std::vector<std::vector<unsigned>> blocks = {};
  /// In place of all that.
  std::optional<SearchProof> search = {};
  /// Likewise, where the order of additions is given.
  std::vector<SumShare> shares = {};
  bool operator==(const CommodityProof &) const = default;
};

/// A bound from prices. Commodities that are not listed, nor the image of a
/// listed one, count with the dearest of the paths that they need.
struct PriceProof {
  std::vector<LimitPrices> prices;
  std::vector<std::vector<unsigned>> symmetries;
  std::vector<CommodityProof> commodities;
  bool operator==(const PriceProof &) const = default;
};

/// A bound for any S from the links that leave `side`.
struct CutProof {
  std::vector<unsigned> side; ///< ascending
  std::vector<LimitPrices> prices;
  bool operator==(const CutProof &) const = default;
};

/// No schedule, because `dst` needs what `src` has and is too far away. In a
/// collective without reductions all ranks that have it must be; any may be
/// named.
struct DistanceProof {
  unsigned src, dst;
  bool operator==(const DistanceProof &) const = default;
};

/// A claim with its proof.
struct Certificate {
  CollectiveKind kind = CollectiveKind::Custom;
  unsigned root = 0; ///< of a rooted kind
  /// Of a user-defined collective, see `fingerprint`; 0 for the named kinds.
  uint64_t collectivePrint = 0;
  unsigned numRanks = 0;
  uint64_t topologyPrint = 0; ///< see `fingerprint`
  /// Where switches copy or reduce, the vertices of the graph that the proof is
  /// about (SwitchGraph.h), with two steps for each; 0 if there are no such
  /// switches, and for a distance.
  unsigned vertices = 0;
  /// If it has trees, the claim is about schedules that add up by them.
  SumOrder order = SumOrder::Any;
  /// S; nothing if the claim holds for any number of steps.
  std::optional<unsigned> steps;
  /// The claim is about the load of pipelined schedules rather than R/C.
  bool pipelined = false;
  /// The lower bound on R/C, or on the load; nothing if there is no schedule at
  /// all.
  std::optional<Rational> bound;
  std::variant<PriceProof, CutProof, DistanceProof> proof;
  bool operator==(const Certificate &) const = default;
};

/// A hash of the ranks, links and limits, whatever their order and the name. It
/// protects from mistakes only: soundness does not rest on it.
uint64_t fingerprint(const Topology &topology);
/// A hash of whether it combines and how many chunks, for each of C, have the
/// same ranks before and after: the numbers of chunks do not matter, nor does
/// it matter into how many pieces all are cut.
uint64_t fingerprint(const Collective &collective);

/// A certificate without its proof for `collective` on `topology`.
Certificate makeClaim(const Topology &topology, const Collective &collective,
                      std::optional<unsigned> steps);

/// The claim as an English sentence, the second line of the text form. Groups
/// and user-defined collectives are called `name` if it is given, for people.
std::string claimText(const Certificate &certificate,
                      std::string_view name = {});

/// The text form: lines of words and decimal numbers, see docs of
/// `parseCertificate`.
std::string printCertificate(const Certificate &certificate);

/// Reads what `printCertificate` writes, and nothing else: one space between
/// words, no leading zeros, nothing twice, nothing after the line "end", which
/// holds the hash of the text before it; only that may be left out. Errors
/// begin with "line:column: ". Rank numbers are checked against the number of
/// ranks of the claim, but not yet against a topology.
Result<Certificate> parseCertificate(std::string_view text);

/// The bound on R/C, or on the load, that the proof of `certificate`
/// establishes, whatever its claim. Fails if the certificate is for another
/// topology or collective, or if any part of the proof does not hold. A proof
/// that no schedule exists establishes nothing here and fails.
Result<Rational> provenBound(const Certificate &certificate,
                             const Topology &topology,
                             const Collective &collective);

/// Nothing if the claim of `certificate` is proved for `collective` on
/// `topology`, else why not. Time is linear in the proof, times the links for
/// each target of a tree.
std::optional<std::string> checkCertificate(const Certificate &certificate,
                                            const Topology &topology,
                                            const Collective &collective);

} // namespace sccl

#endif // SCCL_CHECK_CERTIFICATE_H
