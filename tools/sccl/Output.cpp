//===- Output.cpp - What goes to terminals --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Output.h"

#include "sccl/Model/Text.h"

using namespace sccl;

namespace {
/// Has no buffer, so that characters come whole and in order with what others
/// write to the same stream.
class TextStream : public llvm::raw_ostream {
public:
  explicit TextStream(llvm::raw_ostream &stream)
      : raw_ostream(/*unbuffered=*/true), stream(stream) {}

private:
  void write_impl(const char *text, size_t size) override {
    stream << escapeControls({text, size});
  }
  uint64_t current_pos() const override { return stream.tell(); }

  llvm::raw_ostream &stream;
};
} // namespace

llvm::raw_ostream &driver::out() {
  static TextStream stream(llvm::outs());
  return stream;
}

llvm::raw_ostream &driver::err() {
  static TextStream stream(llvm::errs());
  return stream;
}
