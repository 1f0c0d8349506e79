//===- LLAccess.h - Loading and storing LL words ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_LLACCESS_H
#define SCCL_LIB_CONVERSION_COMMON_LLACCESS_H

#include "CodeBuilder.h"

namespace sccl::coll {

/// The lines that a thread handles at once: `words` LL words each, or their
/// data in plain memory.
struct LineShape {
  unsigned words = 1;
  unsigned count = 1;
  int32_t step = 0; ///< bytes from one to the next in plain memory
  /// If not null, there is one line of one word, with so many bytes (i64) of
  /// data: all of a word's if `isWhole` (i1).
  mlir::Value size = {}, isWhole = {};
};

/// Builds accesses to lines.
class LLAccess {
public:
  using Value = mlir::Value;
  using Values = CodeBuilder::Values;

  /// LL words are of launch number `launch` (i32).
  LLAccess(CodeBuilder &code, bool isHost, Value launch, Value abort)
      : code(code), isHost(isHost), launch(launch), abort(abort) {}

  LineShape shape;

  /// The type of the data of a line.
  mlir::Type dataType() const;

  /// The data of each line, whether the launch is aborted, and the LL words
  /// that can be sent on as they came.
  struct Loaded {
    Values data;
    Value aborted;
    Values words = {};
  };
  /// Loads the lines at each of `places`, one after the other; polls for LL
  /// words, for all of them together.
  Loaded load(llvm::ArrayRef<Value> places, bool isLL);
  /// Stores what was loaded, or made of it.
  void store(Value place, bool isLL, const Loaded &lines);

private:
  Loaded pollWords(llvm::ArrayRef<Value> places);
  Values loadWords(llvm::ArrayRef<Value> places);
  void storeWords(Value place, unsigned line, llvm::ArrayRef<Value> words);
  /// LL words of this launch, for the data of a line.
  Values wordsOf(Value data);
  Value halves(Value word);

  Value isWord(Value address);
  Value shiftOf(Value index);
  Value loadPlain(Value address);
  Value loadBytes(Value address);
  void storePlain(Value address, Value data);

  CodeBuilder &code;
  bool isHost;
  Value launch, abort;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_LLACCESS_H
