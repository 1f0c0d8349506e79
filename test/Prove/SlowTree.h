//===- SlowTree.h - Orders of summation as texts ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Numerics.md promises, written down a second time: nothing here asks
// SumTree.h or the checks of programs. A sum is "(a b)", with the lesser text
// first, and "{a b}" if it is not rounded.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_SLOWTREE_H
#define SCCL_TEST_PROVE_SLOWTREE_H

#include <algorithm>
#include <string>
#include <vector>

namespace sccl::test {

inline std::string slowSum(const std::string &a, const std::string &b,
                           bool isRounded = true) {
  std::string both = std::min(a, b) + " " + std::max(a, b);
  return isRounded ? "(" + both + ")" : "{" + both + "}";
}

/// The most roundings that an input of `sum` goes through.
inline unsigned slowRoundings(const std::string &sum) {
  unsigned depth = 0, most = 0;
  for (char letter : sum) {
    depth += letter == '(';
    depth -= letter == ')';
    most = std::max(most, depth);
  }
  return most;
}

/// Of `count` ranks from number `first` on. All of a subtree but the last ones
/// have as many ranks as the largest power of two that leaves some over.
inline std::string slowBalanced(const std::vector<unsigned> &ranks,
                                size_t first, size_t count) {
  if (count == 1)
    return std::to_string(ranks[first]);
  size_t half = 1;
  while (2 * half < count)
    half *= 2;
  return slowSum(slowBalanced(ranks, first, half),
                 slowBalanced(ranks, first + half, count - half));
}

inline std::string slowChain(const std::vector<unsigned> &ranks, size_t first) {
  std::string sum = std::to_string(ranks[first]);
  for (size_t i = 1; i < ranks.size(); ++i)
    sum = slowSum(sum, std::to_string(ranks[(first + i) % ranks.size()]));
  return sum;
}

/// Reads "((0+1)+2)" from `at` on.
inline std::string slowListed(const std::vector<unsigned> &ranks,
                              const std::string &text, size_t &at) {
  if (text[at] != '(') {
    size_t length;
    unsigned leaf = std::stoul(text.substr(at), &length);
    at += length;
    return std::to_string(ranks[leaf]);
  }
  std::string sum = slowListed(ranks, text, ++at);
  while (text[at] == '+')
    sum = slowSum(sum, slowListed(ranks, text, ++at));
  ++at;
  return sum;
}

/// The tree that `order`, an option such as "tree" or "ring:2", asks for where
/// `ranks` contribute; empty for any and same, which ask for none.
inline std::string slowTree(const std::string &order,
                            const std::vector<unsigned> &ranks) {
  if (order == "any" || order == "same")
    return "";
  if (order == "tree" || order == "rank")
    return slowBalanced(ranks, 0, ranks.size());
  if (order == "left")
    return slowChain(ranks, 0);
  if (order.starts_with("ring:"))
    return slowChain(ranks, std::stoul(order.substr(5)));
  size_t at = 0;
  return slowListed(ranks, order, at);
}

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_SLOWTREE_H
