//===- LoweringOptions.cpp - The options of lowering ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Options/LoweringOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sccl;
using llvm::StringRef;

namespace sccl {
#define GET_LoweringOptionRows_IMPL
#include "sccl/Options/LoweringOptionRows.inc"
} // namespace sccl

std::span<const LoweringOptionRow> sccl::loweringOptionRows() {
  return LoweringOptionRows;
}

namespace {
/// A value of an enumeration and its word.
template <typename T> struct Word {
  const char *text;
  T value;
};
} // namespace

static constexpr Word<TransportChoice> transports[] = {
    {"given", TransportChoice::Given},
    {"push", TransportChoice::Push},
    {"pull", TransportChoice::Pull},
    {"dma", TransportChoice::DMA},
    {"auto", TransportChoice::Auto}};

static constexpr Word<CodeShapeChoice> codeShapes[] = {
    {"auto", CodeShapeChoice::Auto},
    {"unrolled", CodeShapeChoice::Unrolled},
    {"table", CodeShapeChoice::Table}};

static constexpr Word<Wire> wires[] = {{"element", Wire::Element},
                                       {"f32", Wire::F32}};

template <typename T, size_t size>
static bool findWord(StringRef text, const Word<T> (&words)[size], T &value) {
  const Word<T> *word =
      llvm::find_if(words, [&](const Word<T> &w) { return text == w.text; });
  if (word == std::end(words))
    return false;
  value = word->value;
  return true;
}

std::optional<std::string> sccl::readOption(StringRef text,
                                            TransportChoice &value) {
  if (findWord(text, transports, value))
    return std::nullopt;
  return "unknown transport '" + text.str() +
         "', expected given, push, pull, dma or auto";
}

std::optional<std::string> sccl::readOption(StringRef text,
                                            CodeShapeChoice &value) {
  if (findWord(text, codeShapes, value))
    return std::nullopt;
  return "unknown code shape '" + text.str() +
         "', expected auto, unrolled or table";
}

std::optional<std::string> sccl::readOption(StringRef text, Wire &value) {
  if (findWord(text, wires, value))
    return std::nullopt;
  return "unknown wire '" + text.str() + "', expected element or f32";
}

std::optional<std::string> sccl::readOption(StringRef text, SumOrder &value) {
  Result<SumOrder> order = SumOrder::parse(text);
  if (!order && text.find_first_of("([") == StringRef::npos)
    if (auto file = llvm::MemoryBuffer::getFile(text, /*IsText=*/true))
      order = SumOrder::parse((*file)->getBuffer().trim());
  if (!order)
    return order.error();
  value = std::move(*order);
  return std::nullopt;
}

/// Reads "0-1:pull".
static bool readLink(StringRef text, LinkTransport &link) {
  auto [ends, word] = text.split(':');
  auto [src, dst] = ends.split('-');
  return !src.getAsInteger(10, link.src) && !dst.getAsInteger(10, link.dst) &&
         findWord(word, transports, link.transport) &&
         link.transport != TransportChoice::Given &&
         link.transport != TransportChoice::Auto;
}

std::optional<std::string> sccl::readOption(StringRef text,
                                            LinkTransports &value) {
  value.clear();
  for (StringRef part : llvm::split(text, ',')) {
    LinkTransport link;
    if (!readLink(part, link))
      return "cannot read '" + part.str() +
             "' as the transport of a link, expected SRC-DST:TRANSPORT with "
             "push, pull or dma";
    value.push_back(link);
  }
  return std::nullopt;
}

std::optional<std::string> sccl::readOption(StringRef text, Element &value) {
  Result<ElementType> type = findElementType(text);
  if (!type)
    return type.error();
  value = type->id;
  return std::nullopt;
}

std::optional<std::string> sccl::readOption(StringRef text, Reduction &value) {
  Result<Reduction> reduction = findReduction(text);
  if (!reduction)
    return reduction.error();
  value = *reduction;
  return std::nullopt;
}

template <typename T, size_t size>
static const char *textOf(const Word<T> (&words)[size], T value) {
  return llvm::find_if(words,
                       [&](const Word<T> &word) { return word.value == value; })
      ->text;
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os,
                                    TransportChoice value) {
  return os << textOf(transports, value);
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os,
                                    CodeShapeChoice value) {
  return os << textOf(codeShapes, value);
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os, Wire value) {
  return os << textOf(wires, value);
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os,
                                    const SumOrder &value) {
  return os << value.toString();
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os,
                                    const LinkTransports &value) {
  llvm::interleave(
      value, os,
      [&](const LinkTransport &link) {
        os << link.src << '-' << link.dst << ':' << link.transport;
      },
      ",");
  return os;
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os, Element value) {
  return os << elementType(value).name;
}

llvm::raw_ostream &sccl::operator<<(llvm::raw_ostream &os, Reduction value) {
  return os << toString(value);
}

/// True if results depend on the order in which ranks reduce: those of sums,
/// products and averages of floats.
static bool dependsOnOrder(Element element, Reduction reduction) {
  return elementType(element).isFloat() && reduction != Reduction::Min &&
         reduction != Reduction::Max;
}

static bool roundsOnce(Element element) {
  return elementType(element).combinesAsF32();
}

SumOrder sccl::orderFor(const LoweringOptions &options, ReductionSet set) {
  if (set.elements.empty())
    set.elements = {options.element};
  if (set.reductions.empty())
    set.reductions = {options.reduction};
  bool depends = llvm::any_of(set.elements, [&](Element element) {
    return llvm::any_of(set.reductions, [&](Reduction reduction) {
      return dependsOnOrder(element, reduction);
    });
  });
  return depends ? options.sumOrder : SumOrder::Any;
}

static bool usesCopyEngines(const LoweringOptions &options) {
  auto isDMA = [](const LinkTransport &link) {
    return link.transport == TransportChoice::DMA;
  };
  return options.transport == TransportChoice::DMA ||
         llvm::any_of(options.links, isDMA);
}

/// True if partial sums would be rounded that are to be f32.
static bool wantsWideSums(const LoweringOptions &options) {
  return options.wire == Wire::F32 && roundsOnce(options.element) &&
         dependsOnOrder(options.element, options.reduction);
}

/// Times the bytes of an element that partial sums have. LL words have no room
/// for f32, and copy engines convert nothing: there, only inputs are added up.
static unsigned sumWidthFor(const LoweringOptions &options) {
  if (!wantsWideSums(options) || options.ll || usesCopyEngines(options))
    return 1;
  return elementType(Element::F32).bytes / elementType(options.element).bytes;
}

SumContract sccl::contractFor(const LoweringOptions &options) {
  // An average scales the sum of several terms once, which rounds where numbers
  // are subnormal.
  bool weighs = options.reduction == Reduction::Avg;
  bool isFloat = elementType(options.element).isFloat();
  bool isSmall = roundsOnce(options.element);
  unsigned sumWidth = sumWidthFor(options);
  // In f32, terms at once are what they are one by one.
  return {orderFor(options), (isSmall && sumWidth == 1) || (weighs && isFloat),
          weighs, (isSmall && options.oneRounding) || wantsWideSums(options),
          sumWidth};
}

void sccl::restrictTo(const ReductionSet &set, LoweringOptions &options) {
  options.sumOrder = orderFor(options, set);
  // Contracts are of one element and reduction, and that of floats must hold
  // whatever integers are beside them.
  auto strictness = [](Element element) {
    return elementType(element).isFloat() + roundsOnce(element);
  };
  auto element = llvm::max_element(set.elements, [&](Element a, Element b) {
    return strictness(a) < strictness(b);
  });
  if (element != set.elements.end())
    options.element = *element;
  if (!set.reductions.empty())
    options.reduction = set.reductions.front();
  for (Reduction one : {Reduction::Prod, Reduction::Sum, Reduction::Avg})
    if (llvm::is_contained(set.reductions, one))
      options.reduction = one;
}

bool sccl::runsBySteps(const LoweringOptions &options) {
  return options.steps || usesCopyEngines(options);
}
