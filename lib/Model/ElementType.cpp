//===- ElementType.cpp - Element types and reductions ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/ElementType.h"

#include <algorithm>
#include <iterator>

using namespace sccl;
using enum ElementKind;

static constexpr ElementType types[] = {
#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, bytes, kind,       \
                          exponentBits, mantissaBits, hasInfinity, semantics)  \
  {Element::id, name,         alias,        number,     bytes,                 \
   kind,        exponentBits, mantissaBits, hasInfinity},
#include "sccl/Model/ElementTypes.def"
};

std::span<const ElementType> sccl::elementTypes() { return types; }

const ElementType &sccl::elementType(Element element) {
  return types[unsigned(element)];
}

std::span<const Reduction> sccl::reductions() {
  using enum Reduction;
  static constexpr Reduction all[] = {Sum, Prod, Min, Max, Avg};
  return all;
}

const char *sccl::toString(Reduction reduction) {
  static constexpr const char *names[] = {"sum", "prod", "min", "max", "avg"};
  return names[unsigned(reduction)];
}

/// "unknown WHAT 'NAME', expected A, B or C".
template <typename Range, typename NameOf>
static Error unknown(const char *what, std::string_view name,
                     const Range &range, NameOf nameOf) {
  std::string message = std::string("unknown ") + what + " '" +
                        std::string(name) + "', expected ";
  for (size_t i = 0; i < range.size(); ++i) {
    if (i != 0)
      message += i + 1 == range.size() ? " or " : ", ";
    message += nameOf(range[i]);
  }
  return Error{message};
}

Result<ElementType> sccl::findElementType(std::string_view name) {
  for (const ElementType &type : types)
    if (name == type.name || (type.alias && name == type.alias))
      return type;
  return unknown("element type", name, elementTypes(),
                 [](const ElementType &type) { return type.name; });
}

Result<Reduction> sccl::findReduction(std::string_view name) {
  for (Reduction reduction : reductions())
    if (name == toString(reduction))
      return reduction;
  return unknown("reduction", name, reductions(), toString);
}
