//===- SumTreeTest.cpp - Orders of summation ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/SumTree.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace sccl;

TEST(SumTree, Balanced) {
  EXPECT_EQ(SumTree::balanced(1).toString(), "0");
  EXPECT_EQ(SumTree::balanced(4).toString(), "((0+1)+(2+3))");
  EXPECT_EQ(SumTree::balanced(6).toString(), "(((0+1)+(2+3))+(4+5))");
  EXPECT_EQ(SumTree::balanced(7).toString(), "(((0+1)+(2+3))+((4+5)+6))");
  EXPECT_EQ(SumTree::balanced(1024).depth(), 10u);
  // The sum of 2k ranks is that of the first k and of the last k.
  std::string eight = SumTree::balanced(8).toString();
  std::vector<unsigned> last = {4, 5, 6, 7};
  EXPECT_EQ(eight, "(" + SumTree::balanced(4).toString() + "+" +
                       SumTree::balanced(4).toString(last) + ")");
}

TEST(SumTree, Chains) {
  EXPECT_EQ(SumTree::chain(4).toString(), "(((0+1)+2)+3)");
  EXPECT_EQ(SumTree::chain(4, 2).toString(), "(((2+3)+0)+1)");
  EXPECT_EQ(SumTree::chain(1024).depth(), 1023u);
}

TEST(SumTree, ReadsWhatItPrints) {
  EXPECT_EQ(SumTree::parse("[0, [1, 2], 3]")->toString(), "(((1+2)+0)+3)");
  EXPECT_EQ(SumTree::parse("(2+3)+(1+0)")->toString(), "((0+1)+(2+3))");
  for (const SumTree &tree : {SumTree::balanced(13), SumTree::chain(9, 4)})
    EXPECT_EQ(SumTree::parse(tree.toString())->toString(), tree.toString());
}

TEST(SumTree, RefusesWhatIsNoTree) {
  auto error = [](std::string_view text) {
    return SumTree::parse(text).error();
  };
  EXPECT_EQ(error("(0+2)"),
            "a tree of additions has the numbers from 0 on, each once: 1 is "
            "missing");
  EXPECT_EQ(error("(0+(1+1))"), "a tree of additions has the numbers from 0 "
                                "on, each once: 1 is in it twice");
  EXPECT_EQ(error("(0+1"), "cannot read a tree of additions: a bracket is not "
                           "closed, at character 5");
  for (const char *wrong :
       {"", "()", "[0,,1]", "(0,1)", "(0+1]", "0 1", "(0)1", "(0+1))", "(0+)",
        "0+", "+", "[0 1]", "(0-1)", "99999999999", "(0+70000)", "0x1"})
    EXPECT_FALSE(SumTree::parse(wrong)) << wrong;
  // Brackets beyond any stack.
  EXPECT_FALSE(SumTree::parse(std::string(1 << 20, '(')));
  std::string deep =
      std::string(1 << 20, '[') + "0" + std::string(1 << 20, ']');
  EXPECT_EQ(SumTree::parse(deep)->toString(), "0");
}

/// What chainsOf() makes of `parts`, with the names of nodes.
static std::string sumOf(const SumTree &tree,
                         const std::vector<uint32_t> &parts) {
  auto chains = tree.chainsOf(parts);
  if (!chains)
    return "none";
  std::vector<std::string> names;
  for (uint32_t part : parts)
    names.push_back(std::to_string(part));
  for (const SumChain &chain : *chains) {
    std::string name = "(";
    for (uint32_t term : chain.terms)
      name += (name.size() > 1 ? " " : "") + names[term];
    names.push_back(name + ")");
  }
  return names.back();
}

TEST(SumTree, AddsPartsInChains) {
  SumTree eight = SumTree::balanced(8);
  EXPECT_EQ(sumOf(eight, {7, 6, 5, 4, 3, 2, 1, 0}), "(0 1 (2 3) (4 5 (6 7)))");
  EXPECT_EQ(sumOf(SumTree::chain(5), {3, 4, 0, 2, 1}), "(0 1 2 3 4)");
  EXPECT_EQ(sumOf(eight, {eight.parent(0), 2, 3}),
            "(" + std::to_string(eight.parent(0)) + " (2 3))");
  EXPECT_EQ(sumOf(eight, {5}), "5");
  EXPECT_EQ(sumOf(eight, {0, 2}), "none");
  EXPECT_EQ(sumOf(eight, {0, 1, 2}), "none");
}

/// Terms of a chain after its first follow each other, and parts of any sum
/// have places of their own.
TEST(SumTree, PlacesFollowEachOther) {
  std::mt19937 random(1);
  std::vector<SumTree> trees = {SumTree::balanced(13), SumTree::chain(6, 2),
                                *SumTree::parse("[[0,5],[1,[2,3],4],[6,7]]")};
  for (const SumTree &tree : trees)
    for (unsigned turn = 0; turn < 100; ++turn) {
      std::vector<uint32_t> parts = {tree.root()};
      for (unsigned cut = random() % tree.numNodes(); cut > 0; --cut) {
        uint32_t &part = parts[random() % parts.size()];
        if (tree.isLeaf(part))
          continue;
        uint32_t right = tree.right(part);
        part = tree.left(part);
        parts.push_back(right);
      }
      auto chains = tree.chainsOf(parts);
      ASSERT_TRUE(chains);
      std::vector<uint32_t> nodes = parts;
      for (const SumChain &chain : *chains) {
        for (size_t i = 2; i < chain.terms.size(); ++i)
          EXPECT_EQ(tree.place(nodes[chain.terms[i]]),
                    tree.place(nodes[chain.terms[i - 1]]) + 1);
        nodes.push_back(chain.node);
      }
      EXPECT_EQ(nodes.back(), tree.root());
      std::set<uint32_t> places;
      for (uint32_t part : parts)
        places.insert(tree.place(part));
      EXPECT_EQ(places.size(), parts.size());
      EXPECT_LT(*places.rbegin(), tree.numPlaces());
    }
}

TEST(SumOrder, ReadsWhatItPrints) {
  for (const char *text :
       {"any", "same", "rank", "tree", "left", "ring:3", "((0+1)+2)"})
    EXPECT_EQ(SumOrder::parse(text)->toString(), text);
  EXPECT_EQ(SumOrder::parse("[0,[1,2]]")->toString(), "((1+2)+0)");
  for (const char *wrong : {"", "Tree", "ring:", "ring:-1", "ring:x", "(0+2)"})
    EXPECT_FALSE(SumOrder::parse(wrong)) << wrong;
}

TEST(SumOrder, HasATreeForEachNumberOfRanks) {
  EXPECT_EQ(SumOrder(SumOrder::Rank).treeOf(4)->toString(), "((0+1)+(2+3))");
  EXPECT_EQ(SumOrder::parse("ring:1")->treeOf(3)->toString(), "((1+2)+0)");
  EXPECT_EQ(SumOrder::parse("ring:3")->treeOf(3).error(),
            "the ring of additions begins at rank 3, of 3");
  EXPECT_EQ(SumOrder::parse("(0+1)")->treeOf(3).error(),
            "the tree of additions is of 2 ranks, and 3 contribute");
  EXPECT_FALSE(SumOrder(SumOrder::Same).treeOf(3));
}
