//===- Wishes.h - What ranks ask for by name --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_WISHES_H
#define SCCL_LIB_RUNTIME_MESSAGES_WISHES_H

#include "Runtime/Bootstrap.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <string>

namespace sccl {

/// An environment variable by which a rank asks for one of several ways.
struct WishNames {
  const char *variable;
  /// By number; the first is none, and that behind the last is another text.
  llvm::ArrayRef<const char *> names;

  /// What this rank asks for.
  template <typename Wish> Wish read() const {
    const char *text = std::getenv(variable);
    return text ? Wish(llvm::find(names, llvm::StringRef(text)) - names.begin())
                : Wish::None;
  }

  /// What `all` ask for together. Fails if that is not one thing, or if it is
  /// unknown for some rank, of which `unknown` says why.
  template <typename Wish, typename T>
  Status agree(const Gathered<T> &all,
               llvm::function_ref<std::string(unsigned rank)> unknown,
               Wish &wish) const {
    auto nameOf = [&](Wish of, unsigned rank) {
      return std::string(names[unsigned(of)]) + " for rank " +
             std::to_string(rank);
    };
    unsigned first = 0;
    wish = Wish::None;
    for (unsigned rank = 0; rank < all.size(); ++rank) {
      Wish own = all[rank].wish;
      if (own == Wish::Unknown)
        return {scclErrorInvalidArgument,
                "rank " + std::to_string(rank) + ": " + unknown(rank)};
      if (own == Wish::None || own == wish)
        continue;
      if (wish != Wish::None)
        return {scclErrorMismatch, std::string(variable) + " is " +
                                       nameOf(wish, first) + " and " +
                                       nameOf(own, rank)};
      wish = own;
      first = rank;
    }
    return {};
  }
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_WISHES_H
