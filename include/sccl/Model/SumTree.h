//===- SumTree.h - Orders of summation --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of floats depend on the order of the additions, which is a binary tree:
// its leaves are the ranks that contribute, its other nodes add two sums. The
// operands of an addition may change places (IEEE 754 rounds a + b and b + a
// alike), so a tree and its mirror images are one order.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SUMTREE_H
#define SCCL_MODEL_SUMTREE_H

#include "sccl/Model/Result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sccl {

/// Parts of a sum that are added up from left to right.
struct SumChain {
  /// Numbers of parts; the result of chain i counts as the part that comes i
  /// after the given ones.
  std::vector<uint32_t> terms;
  uint32_t node; ///< of the result
};

/// A binary tree of additions. Leaf i, which is node i, is the i-th of the
/// ranks that contribute; children have lower numbers than their parent. The
/// left child has at least as many leaves as the right one.
class SumTree {
public:
  static constexpr uint32_t none = ~0u;
  static constexpr unsigned maxLeaves = 1u << 16;

  /// The balanced tree in which ranks 0 to 2^k - 1 form a subtree, and likewise
  /// from each multiple of 2^k on. Of the tree of the next power of two it
  /// leaves out the leaves that there are not. So the sum of 2k ranks is that
  /// of the sums of the first k and of the last k.
  static SumTree balanced(unsigned leaves);
  /// Adds leaf after leaf, from `first` on and around to the one before it.
  static SumTree chain(unsigned leaves, unsigned first = 0);
  /// Reads "((0+1)+(2+3))", or nested lists as "[[0, 1], [2, 3]]", in which
  /// more than two are added from left to right. Fails unless each number from
  /// 0 to the largest is in it once.
  static Result<SumTree> parse(std::string_view text);

  unsigned numLeaves() const { return unsigned(nodes.size() + 1) / 2; }
  unsigned numNodes() const { return unsigned(nodes.size()); }
  uint32_t root() const { return numNodes() - 1; }
  bool isLeaf(uint32_t node) const { return node < numLeaves(); }
  uint32_t left(uint32_t node) const { return nodes[node].left; }
  uint32_t right(uint32_t node) const { return nodes[node].right; }
  /// `none` of the root.
  uint32_t parent(uint32_t node) const { return nodes[node].parent; }
  /// The other child of its parent; `node` must not be the root.
  uint32_t sibling(uint32_t node) const;
  /// The number of leaves below `node`, and the least of them: no two nodes
  /// have both in common.
  unsigned size(uint32_t node) const { return nodes[node].size; }
  uint32_t least(uint32_t node) const { return nodes[node].least; }
  /// The most additions that a leaf goes through: with u the unit roundoff, a
  /// sum is wrong by at most depth * u * (sum of |x_i|), to first order.
  unsigned depth() const;
  /// "((0+1)+(2+3))", with `leafNames` in place of the numbers of the leaves if
  /// there are any. Equal for trees that differ in the order of operands only.
  std::string toString(std::span<const unsigned> leafNames = {}) const;

  /// How to add up `parts`, which are nodes that have no leaf in common: the
  /// terms of each chain are parts or results of chains before it. Nothing if
  /// they do not add up to one node.
  std::optional<std::vector<SumChain>>
  chainsOf(std::span<const uint32_t> parts) const;

  /// Numbers for all nodes, such that the terms of a chain that come after its
  /// first follow each other, and parts that have no leaf in common differ.
  uint32_t place(uint32_t node) const { return nodes[node].place; }
  uint32_t numPlaces() const { return places; }

private:
  struct Node {
    uint32_t left = none, right = none, parent = none;
    uint32_t size = 1;     ///< leaves below it
    uint32_t least = none; ///< of them
    uint32_t place = none;
  };
  friend class SumTreeParser;
  explicit SumTree(unsigned leaves);
  /// Appends a node and returns its number.
  uint32_t join(uint32_t a, uint32_t b);
  uint32_t addBalanced(unsigned first, unsigned count);
  void numberPlaces();

  std::vector<Node> nodes;
  uint32_t places = 0;
};

/// What is asked of the order of summation.
class SumOrder {
public:
  enum Kind : uint8_t {
    Any,  ///< nothing
    Same, ///< all ranks that end with a chunk add it up in one order
    /// One tree for each number of ranks that contribute: here the same one as
    /// with Tree, which costs no more.
    Rank,
    Tree,  ///< SumTree::balanced
    Left,  ///< SumTree::chain from leaf 0 on
    Ring,  ///< SumTree::chain from another leaf on
    Listed ///< a given tree
  };
  SumOrder(Kind kind = Same) : order(kind) {}
  /// Reads "any", "same", "rank", "tree", "left", "ring:R", or a tree as
  /// SumTree::parse does.
  static Result<SumOrder> parse(std::string_view text);

  /// True if there is one tree for each number of ranks.
  bool isTree() const { return order >= Rank; }
  /// The tree for `leaves` ranks that contribute, of which there is at least
  /// one. Fails if there is none: a ring that begins further on, a listed tree
  /// of another size, or any and same.
  Result<SumTree> treeOf(unsigned leaves) const;
  /// What parse() reads as this.
  std::string toString() const;
  bool operator==(const SumOrder &) const = default;

private:
  Kind order;
  unsigned first = 0; ///< leaf, of a ring
  std::string listed; ///< as SumTree prints it
};

} // namespace sccl

#endif // SCCL_MODEL_SUMTREE_H
