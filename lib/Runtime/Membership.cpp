//===- Membership.cpp - What a communicator is ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Membership.h"

#include "TraceRecords.h"
#include "Tracer.h"
#include "sccl/Model/ElementType.h"
#include "sccl/Model/SumTree.h"

#include <algorithm>

using namespace sccl;

Membership::~Membership() = default;

/// False if all that `plan` reduces has the same result in any way of adding it
/// up: all but sums, products and averages of types that `matter`.
static bool mayDiffer(const plan::Manifest &plan,
                      bool (ElementType::*matters)() const) {
  return plan.combining &&
         std::ranges::any_of(plan.kernels, [&](const plan::KernelInfo &kernel) {
           Result<ElementType> type = findElementType(kernel.element);
           return !type || (((*type).*matters)() && kernel.reduction != "min" &&
                            kernel.reduction != "max");
         });
}

/// True if sums in the order of `plan` are those in the order that is `asked`
/// for.
static bool keepsOrder(const plan::Manifest &plan, const SumOrder &asked) {
  Result<SumOrder> own = SumOrder::parse(plan.sumOrder);
  if (asked == SumOrder::Any || !mayDiffer(plan, &ElementType::isFloat))
    return true;
  if (!asked.isTree())
    return own && *own != SumOrder::Any;
  Result<SumTree> tree = asked.treeOf(plan.ranks);
  Result<SumTree> same = own ? own->treeOf(plan.ranks) : Error{own.error()};
  return tree && same && tree->toString() == same->toString();
}

static Status checkOrder(const plan::Manifest &plan, const char *asked) {
  Result<SumOrder> order = SumOrder::parse(asked);
  if (order && keepsOrder(plan, *order))
    return {};
  return {scclErrorUnsupported,
          "the plan for " + plan.collective + " adds up in the order " +
              plan.sumOrder + ", and the communicator is for the order " +
              asked + "; compile it with --order=" + asked};
}

static Status checkRounding(const plan::Manifest &plan) {
  if (plan.oneRounding || !mayDiffer(plan, &ElementType::combinesAsF32))
    return {};
  return {scclErrorUnsupported,
          "the plan for " + plan.collective +
              " may round a sum several times, and the communicator is for one "
              "rounding; compile it with --one-rounding"};
}

Status Membership::load(const std::shared_ptr<const LoadedPlan> &plan) {
  constexpr size_t mostPlans = 1 << 12;
  if (JoinedPlan *known = plan ? find(*plan) : nullptr)
    return known->loadAgain();
  std::unique_ptr<JoinedPlan> loaded;
  // The others exchange what they have to say, whatever is wrong here.
  Status status = attempt([&]() -> Status {
    if (!plan)
      return invalid("plan is null");
    if (plans.size() == mostPlans)
      return {scclErrorUnsupported,
              "the communicator has " + std::to_string(mostPlans) + " plans"};
    if (config().order)
      if (Status status = checkOrder(plan->view.manifest, config().order);
          !status.ok())
        return status;
    if (config().oneRounding)
      if (Status status = checkRounding(plan->view.manifest); !status.ok())
        return status;
    plans.reserve(plans.size() + 1);
    return {};
  });
  if (status = join(plan, plans.size(), status, loaded); !status.ok())
    return status;
  plans.push_back(std::move(loaded));
  return {};
}

JoinedPlan *Membership::find(const LoadedPlan &plan) const {
  for (const std::unique_ptr<JoinedPlan> &known : plans)
    if (&known->source() == &plan ||
        known->source().view.hash == plan.view.hash)
      return known.get();
  return nullptr;
}

/// "all_gather (ring4), broadcast from 2 (dgx1: f32 sum)": what is loaded.
std::string Membership::describePlans() const {
  std::string text;
  for (const std::unique_ptr<JoinedPlan> &plan : plans) {
    const plan::Manifest &info = plan->info();
    text += text.empty() ? "" : ", ";
    text += info.collective;
    if (info.root != 0)
      text += " with root " + std::to_string(info.root);
    text += " (" + info.topology;
    if (info.combining)
      text += ": " + listReductions(info);
    text += ")";
  }
  return text.empty() ? "nothing" : text;
}

static bool serves(const JoinedPlan &plan, const CollectiveCall &call,
                   const LaunchRequest &request) {
  const plan::Manifest &info = plan.info();
  return info.collective == call.name && !info.conditions &&
         (!call.root || int(info.root) == *call.root) &&
         plan.reduces(request.type, request.op);
}

Status Membership::choose(const CollectiveCall &call,
                          const LaunchRequest &request,
                          std::optional<bool> isInPlace, size_t &number) const {
  const char *typeName = dataTypeName(request.type);
  const char *opName = reductionName(request.op);
  if (!typeName || !opName)
    return invalid(typeName ? "op is " + std::to_string(int(request.op))
                            : "type is " + std::to_string(int(request.type)));
  if (call.root && (*call.root < 0 || unsigned(*call.root) >= numRanks()))
    return invalid("root is " + std::to_string(*call.root) +
                   ", and there are " + std::to_string(numRanks()) + " ranks");
  const JoinedPlan *best = nullptr;
  std::optional<Expectation> expected; // of the best one, when there are two
  for (size_t i = plans.size(); i-- > 0;) {
    const JoinedPlan &plan = *plans[i];
    if (!serves(plan, call, request))
      continue;
    if (best) {
      // With a root, ranks cannot know who else works in place.
      bool place =
          !call.root && (isInPlace ? *isInPlace : plan.isInPlace(request));
      if (!expected)
        expected = best->expect(request, place);
      Expectation other = plan.expect(request, place);
      if (!other.goesBefore(*expected))
        continue;
      expected = other;
    }
    best = &plan;
    number = i;
  }
  if (best)
    return {};
  return {scclErrorUnsupported,
          std::string("no plan is loaded for ") + call.name +
              (call.root ? " with root " + std::to_string(*call.root) : "") +
              " of " + typeName + " " + opName +
              "; loaded: " + describePlans()};
}

uint64_t Membership::ownBytes() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<JoinedPlan> &plan : plans)
    bytes += plan->ownBytes();
  return bytes;
}

Status Membership::checkGaps() const {
  for (const std::unique_ptr<JoinedPlan> &plan : plans)
    if (Status status = plan->checkGaps(); !status.ok())
      return status;
  return {};
}

Status Membership::recordTrace(bool on) {
  Status status;
  for (const std::unique_ptr<JoinedPlan> &plan : plans) {
    Status own = plan->recordTrace(on && status.ok());
    if (status.ok())
      status = own;
  }
  // Some may have begun.
  if (on && !status.ok())
    (void)recordTrace(false);
  else
    device().tracer()->record(on);
  return status;
}

Status Membership::readTrace(const scclTraceEvent *&events, size_t &count) {
  std::vector<scclTraceEvent> told;
  uint64_t lost = 0;
  for (const std::unique_ptr<JoinedPlan> &plan : plans)
    if (Status status = plan->readTrace(told, lost); !status.ok())
      return status;
  Tracer &tracer = *device().tracer();
  double period = 1;
  if (!told.empty())
    if (Status status = device().clockPeriod(period); !status.ok())
      return status;
  putOnHostClock(told, period, tracer.beginning(), traceClock());
  Status status = tracer.read(told, events, count);
  if (!status.ok() || lost == 0)
    return status;
  return {scclErrorOutOfMemory, "there was no memory for " +
                                    std::to_string(lost) +
                                    " more launches of a program"};
}
