//===- LoweringOptions.h - The options of lowering --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LoweringOptions.td declares them; this is how C++ reads and prints them.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIONS_LOWERINGOPTIONS_H
#define SCCL_OPTIONS_LOWERINGOPTIONS_H

#include "sccl/Model/ElementType.h"
#include "sccl/Model/SumTree.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace mlir {
class Pass;
} // namespace mlir

namespace sccl {

/// Who is to move chunks.
enum class TransportChoice {
  Given, ///< as the schedule says, else push
  Push,
  Pull,
  DMA,
  Auto, ///< what is estimated to be fastest, per link
};

/// The transport of one link; never Given or Auto. Its text is "0-1:pull".
struct LinkTransport {
  unsigned src = 0, dst = 0;
  TransportChoice transport = TransportChoice::Push;
};
/// Their text is joined by commas.
struct LinkTransports : std::vector<LinkTransport> {
  using vector::vector;
};

/// How the operations of a program are to become code.
enum class CodeShapeChoice {
  Auto,     ///< as a table if there are many, see CodeShape.h
  Unrolled, ///< as a call for each of them
  Table,    ///< as a table, and a loop over it
};

/// In which type partial sums of floats of less than 32 bits are kept and sent.
enum class Wire {
  Element, ///< their own
  F32,
};

// Reads an option's text into `value`. Returns what is wrong with it, with what
// is expected instead; nothing if it was read.
std::optional<std::string> readOption(llvm::StringRef text,
                                      TransportChoice &value);
std::optional<std::string> readOption(llvm::StringRef text,
                                      LinkTransports &value);
std::optional<std::string> readOption(llvm::StringRef text,
                                      CodeShapeChoice &value);
/// A text that is neither an order nor a tree is the path of a file with one.
std::optional<std::string> readOption(llvm::StringRef text, SumOrder &value);
std::optional<std::string> readOption(llvm::StringRef text, Wire &value);
std::optional<std::string> readOption(llvm::StringRef text, Element &value);
std::optional<std::string> readOption(llvm::StringRef text, Reduction &value);

// Prints the text that is read as `value`.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, TransportChoice value);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const LinkTransports &value);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, CodeShapeChoice value);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const SumOrder &value);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Wire value);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Element value);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Reduction value);

/// What is printed for `value`.
template <typename T> std::string optionText(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

// The fields of LoweringOptions, with their defaults. Of the pass that TableGen
// takes this for, nothing is defined.
#define GEN_PASS_DECL_LOWERING
#include "sccl/Options/LoweringOptions.h.inc"

/// Whether each step is a kernel of its own: as asked for, or because copy
/// engines, which set no flags, move something.
bool runsBySteps(const LoweringOptions &options);

/// What the same code is to reduce: each of these types in each of these ways.
/// Where a list is empty, what LoweringOptions say.
struct ReductionSet {
  std::vector<Element> elements;
  std::vector<Reduction> reductions;
};

/// The order of summation that `options` ask for: any where nothing of `set`
/// depends on it, as integers, `min` and `max` do not.
SumOrder orderFor(const LoweringOptions &options, ReductionSet set = {});

/// Sets element and reduction of `options` to what restricts programs most, of
/// `set`, and the order of summation to orderFor().
void restrictTo(const ReductionSet &set, LoweringOptions &options);

/// What programs are held to.
struct SumContract {
  SumOrder order = SumOrder::Same;
  /// Elements are floats of less than 32 bits, or averages of floats: of
  /// several terms at once only the result is rounded, or scaled, which rounds
  /// subnormal numbers, so that it is another sum than one by one.
  bool roundsOnce = false;
  /// Averages weigh terms by how many ranks are in them.
  bool weighs = false;
  /// Of floats of less than 32 bits, each sum is rounded to the type once.
  bool oneRounding = false;
  /// Partial sums are kept and sent in f32, of so many times the bytes of an
  /// element; 1 if they have the type of the elements.
  unsigned sumWidth = 1;

  /// True if only inputs are to be added up, each sum at once.
  bool addsInputs() const { return oneRounding && sumWidth == 1; }
  /// True if terms are not to be added at once, as a tree says what is rounded.
  bool isOneByOne() const { return roundsOnce && order.isTree(); }
  /// True if a program may break it that is right else.
  bool asksForAnything() const { return order != SumOrder::Any || oneRounding; }
  /// True if terms may be added at once that an average would not weigh alike.
  bool isUnweighted() const { return !weighs && order.isTree(); }
};

/// What the programs that `options` ask for are held to.
SumContract contractFor(const LoweringOptions &options);

/// Which subcommands of the tool take an option.
enum class OptionGroup {
  Program,  ///< of programs: all that lower
  Data,     ///< of buffers: all that lower to code
  Shape,    ///< of functions and kernels: the same
  GPU,      ///< of kernels: what compiles for GPUs
  Code,     ///< of assembly: what compiles for GPUs, but no pipeline
  CPU,      ///< of functions: what compiles for CPUs
  Estimate, ///< none: derived from options in other units
  Machine,  ///< none: asked of the machine
};

/// A field of LoweringOptions as an option.
struct LoweringOptionRow {
  using Member =
      std::variant<bool LoweringOptions::*, unsigned LoweringOptions::*,
                   uint64_t LoweringOptions::*, double LoweringOptions::*,
                   TransportChoice LoweringOptions::*,
                   LinkTransports LoweringOptions::*,
                   CodeShapeChoice LoweringOptions::*,
                   SumOrder LoweringOptions::*, Wire LoweringOptions::*,
                   Element LoweringOptions::*, Reduction LoweringOptions::*>;
  Member member;
  const char *word;
  const char *description;
  OptionGroup group;
  bool isRepeatable; ///< several values make variants of a plan
};

/// All of them, in alphabetical order of fields.
std::span<const LoweringOptionRow> loweringOptionRows();

/// Parses options whose text `readOption` reads, for LLVM's command line.
template <typename T> class WordParser : public llvm::cl::basic_parser<T> {
public:
  using llvm::cl::basic_parser<T>::basic_parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef /*name*/,
             llvm::StringRef text, T &value) {
    std::optional<std::string> mistake = readOption(text, value);
    return mistake && option.error(*mistake);
  }
  void printOptionDiff(const llvm::cl::Option &option, const T &value,
                       const llvm::cl::OptionValue<T> & /*fallback*/,
                       size_t width) const {
    this->printOptionName(option, width);
    llvm::outs() << "= " << value << '\n';
  }
};

} // namespace sccl

namespace llvm::cl {
template <>
class parser<sccl::TransportChoice>
    : public sccl::WordParser<sccl::TransportChoice> {
  using WordParser::WordParser;
};
template <>
class parser<sccl::LinkTransports>
    : public sccl::WordParser<sccl::LinkTransports> {
  using WordParser::WordParser;
};
template <>
class parser<sccl::CodeShapeChoice>
    : public sccl::WordParser<sccl::CodeShapeChoice> {
  using WordParser::WordParser;
};
template <>
class parser<sccl::SumOrder> : public sccl::WordParser<sccl::SumOrder> {
  using WordParser::WordParser;
};
template <> class parser<sccl::Wire> : public sccl::WordParser<sccl::Wire> {
  using WordParser::WordParser;
};
template <>
class parser<sccl::Element> : public sccl::WordParser<sccl::Element> {
  using WordParser::WordParser;
};
template <>
class parser<sccl::Reduction> : public sccl::WordParser<sccl::Reduction> {
  using WordParser::WordParser;
};
} // namespace llvm::cl

#endif // SCCL_OPTIONS_LOWERINGOPTIONS_H
