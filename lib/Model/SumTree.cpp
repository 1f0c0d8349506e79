//===- SumTree.cpp - Orders of summation ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/SumTree.h"

#include "sccl/Model/Text.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

SumTree::SumTree(unsigned leaves) : nodes(leaves) {
  for (uint32_t leaf = 0; leaf < leaves; ++leaf)
    nodes[leaf].least = leaf;
}

uint32_t SumTree::join(uint32_t a, uint32_t b) {
  auto rank = [&](uint32_t node) {
    return std::pair(-int64_t(nodes[node].size), nodes[node].least);
  };
  auto number = uint32_t(nodes.size());
  auto [left, right] = rank(a) < rank(b) ? std::pair(a, b) : std::pair(b, a);
  nodes.push_back({.left = left,
                   .right = right,
                   .size = nodes[left].size + nodes[right].size,
                   .least = std::min(nodes[left].least, nodes[right].least)});
  nodes[left].parent = nodes[right].parent = number;
  return number;
}

uint32_t SumTree::addBalanced(unsigned first, unsigned count) {
  if (count == 1)
    return first;
  unsigned half = std::bit_floor(count - 1);
  uint32_t left = addBalanced(first, half);
  return join(left, addBalanced(first + half, count - half));
}

SumTree SumTree::balanced(unsigned leaves) {
  SumTree tree(leaves);
  tree.addBalanced(0, leaves);
  tree.numberPlaces();
  return tree;
}

SumTree SumTree::chain(unsigned leaves, unsigned first) {
  SumTree tree(leaves);
  uint32_t sum = first;
  for (unsigned i = 1; i < leaves; ++i)
    sum = tree.join(sum, (first + i) % leaves);
  tree.numberPlaces();
  return tree;
}

uint32_t SumTree::sibling(uint32_t node) const {
  const Node &above = nodes[parent(node)];
  return above.left == node ? above.right : above.left;
}

unsigned SumTree::depth() const {
  std::vector<unsigned> depths(nodes.size());
  for (uint32_t node = numLeaves(); node < nodes.size(); ++node)
    depths[node] = 1 + std::max(depths[left(node)], depths[right(node)]);
  return depths.back();
}

std::string SumTree::toString(std::span<const unsigned> leafNames) const {
  std::string text;
  // What is left to print, the next one last; characters beyond the nodes.
  std::vector<uint32_t> left = {root()};
  while (!left.empty()) {
    uint32_t next = left.back();
    left.pop_back();
    if (next >= nodes.size())
      text += char(next - nodes.size());
    else if (isLeaf(next))
      text += std::to_string(leafNames.empty() ? next : leafNames[next]);
    else
      for (uint32_t part :
           {numNodes() + ')', nodes[next].right, numNodes() + '+',
            nodes[next].left, numNodes() + '('})
        left.push_back(part);
  }
  return text;
}

/// The right children down the left side of each subtree that is no left child
/// itself follow each other, after the leaf where that side ends; so nodes on
/// it have the place of that leaf.
void SumTree::numberPlaces() {
  for (uint32_t top = numNodes(); top-- > 0;) {
    bool isLeft = top != root() && left(parent(top)) == top;
    if (isLeft || (isLeaf(top) && top != root()))
      continue;
    std::vector<uint32_t> side = {top};
    while (!isLeaf(side.back()))
      side.push_back(left(side.back()));
    uint32_t own = nodes[top].place, first = places++;
    for (uint32_t node : side)
      nodes[node].place = first;
    if (own != none)
      nodes[top].place = own;
    for (size_t i = side.size() - 1; i-- > 0;)
      nodes[right(side[i])].place = places++;
  }
}

std::optional<std::vector<SumChain>>
SumTree::chainsOf(std::span<const uint32_t> parts) const {
  std::map<uint32_t, uint32_t> known; // nodes, and the numbers of their parts
  for (uint32_t i = 0; i < parts.size(); ++i)
    known[parts[i]] = i;
  std::set<uint32_t> open(parts.begin(), parts.end());
  std::vector<uint32_t> next(parts.begin(), parts.end());
  while (!next.empty()) {
    uint32_t node = next.back();
    next.pop_back();
    if (node == root() || !open.contains(node) || !open.contains(sibling(node)))
      continue;
    open.erase(node);
    open.erase(sibling(node));
    open.insert(parent(node));
    next.push_back(parent(node));
  }
  if (open.size() != 1)
    return std::nullopt;
  std::vector<SumChain> chains;
  auto add = [&](auto &self, uint32_t node) -> uint32_t {
    if (auto it = known.find(node); it != known.end())
      return it->second;
    std::vector<uint32_t> beside;
    uint32_t first = node;
    for (; !known.contains(first); first = left(first))
      beside.push_back(right(first));
    SumChain chain{{known[first]}, node};
    for (; !beside.empty(); beside.pop_back())
      chain.terms.push_back(self(self, beside.back()));
    chains.push_back(std::move(chain));
    return uint32_t(parts.size() + chains.size() - 1);
  };
  add(add, *open.begin());
  return chains;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace sccl {
/// Reads a tree as a row of operands in each pair of brackets.
class SumTreeParser {
public:
  explicit SumTreeParser(std::string_view text) : text(text), tree(0) {}

  Result<SumTree> parse() {
    if (auto error = count())
      return *error;
    for (at = 0; at < text.size();)
      if (auto error = takeNext())
        return *error;
    if (open.size() > 1)
      return wrong("a bracket is not closed");
    if (open[0].sum == SumTree::none || open[0].isOpen)
      return wrong("an operand is missing");
    tree.numberPlaces();
    return std::move(tree);
  }

private:
  struct Row {
    char bracket;
    uint32_t sum = SumTree::none; ///< of what has been read
    bool isOpen = true;           ///< an operand has to come
  };

  Error wrong(const std::string &what) const {
    return Error{"cannot read a tree of additions: " + what +
                 ", at character " + std::to_string(at + 1)};
  }
  /// The number that begins at `at`, which is moved behind it.
  std::optional<unsigned> takeNumber() {
    size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      ++at;
    return wholeNumber(text.substr(begin, at - begin));
  }
  /// Makes the leaves. Fails unless their numbers are those from 0 on.
  std::optional<Error> count();
  std::optional<Error> takeNext();
  std::optional<Error> takeOperand(uint32_t node);

  std::string_view text;
  size_t at = 0;
  SumTree tree;
  std::vector<Row> open = {{'('}};
};
} // namespace sccl

std::optional<Error> SumTreeParser::count() {
  std::vector<unsigned> leaves;
  while ((at = text.find_first_of("0123456789", at)) != text.npos) {
    std::optional<unsigned> leaf = takeNumber();
    if (!leaf || *leaf >= SumTree::maxLeaves)
      return wrong("a number is not below " +
                   std::to_string(SumTree::maxLeaves));
    leaves.push_back(*leaf);
  }
  std::ranges::sort(leaves);
  for (unsigned i = 0; i < leaves.size(); ++i)
    if (leaves[i] != i)
      return Error{
          "a tree of additions has the numbers from 0 on, each once: " +
          std::to_string(std::min(leaves[i], i)) + " is " +
          (leaves[i] < i ? "in it twice" : "missing")};
  tree = SumTree(unsigned(leaves.size()));
  return std::nullopt;
}

std::optional<Error> SumTreeParser::takeOperand(uint32_t node) {
  Row &row = open.back();
  if (!row.isOpen)
    return wrong("two operands have nothing between them");
  row.sum = row.sum == SumTree::none ? node : tree.join(row.sum, node);
  row.isOpen = false;
  return std::nullopt;
}

std::optional<Error> SumTreeParser::takeNext() {
  char next = text[at];
  if (next >= '0' && next <= '9')
    return takeOperand(*takeNumber());
  Row &row = open.back();
  if (next == '(' || next == '[') {
    open.push_back({next});
  } else if (next == '+' || next == ',') {
    if (row.isOpen || (next == ',') != (row.bracket == '['))
      return wrong(std::string("unexpected '") + next + "'");
    row.isOpen = true;
  } else if (next == ')' || next == ']') {
    if (row.isOpen || open.size() == 1 || (next == ']') != (row.bracket == '['))
      return wrong(std::string("unexpected '") + next + "'");
    uint32_t sum = row.sum;
    open.pop_back();
    ++at;
    return takeOperand(sum);
  } else if (next != ' ' && next != '\n' && next != '\t' && next != '\r') {
    return wrong(std::string("unexpected ") + quoted(std::string(1, next)));
  }
  ++at;
  return std::nullopt;
}

Result<SumTree> SumTree::parse(std::string_view text) {
  return SumTreeParser(text).parse();
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

static constexpr std::pair<std::string_view, SumOrder::Kind> orderWords[] = {
    {"any", SumOrder::Any},
    {"same", SumOrder::Same},
    {"rank", SumOrder::Rank},
    {"tree", SumOrder::Tree},
    {"left", SumOrder::Left}};
static constexpr std::string_view ringWord = "ring:";

Result<SumOrder> SumOrder::parse(std::string_view text) {
  for (auto [word, kind] : orderWords)
    if (text == word)
      return SumOrder(kind);
  SumOrder order;
  if (text.starts_with(ringWord)) {
    std::optional<unsigned> first = wholeNumber(text.substr(ringWord.size()));
    if (!first)
      return Error{"expected a rank after 'ring:', got " + quoted(text)};
    order.order = Ring;
    order.first = *first;
    return order;
  }
  if (text.find_first_of("([") == text.npos)
    return Error{"unknown order of summation " + quoted(text) +
                 ", expected any, same, rank, tree, left, ring:R, or a tree as "
                 "'((0+1)+(2+3))' or in a file"};
  Result<SumTree> tree = SumTree::parse(text);
  if (!tree)
    return Error{tree.error()};
  order.order = Listed;
  order.listed = tree->toString();
  return order;
}

Result<SumTree> SumOrder::treeOf(unsigned leaves) const {
  switch (order) {
  case Any:
  case Same:
    return Error{"the order " + toString() + " asks for no tree"};
  case Rank:
  case Tree:
    return SumTree::balanced(leaves);
  case Left:
    return SumTree::chain(leaves);
  case Ring:
    if (first >= leaves)
      return Error{"the ring of additions begins at rank " +
                   std::to_string(first) + ", of " + std::to_string(leaves)};
    return SumTree::chain(leaves, first);
  case Listed:
    break;
  }
  Result<SumTree> tree = SumTree::parse(listed);
  if (tree && tree->numLeaves() != leaves)
    return Error{"the tree of additions is of " +
                 std::to_string(tree->numLeaves()) + " ranks, and " +
                 std::to_string(leaves) + " contribute"};
  return tree;
}

std::string SumOrder::toString() const {
  for (auto [word, kind] : orderWords)
    if (order == kind)
      return std::string(word);
  return order == Ring ? std::string(ringWord) + std::to_string(first) : listed;
}
