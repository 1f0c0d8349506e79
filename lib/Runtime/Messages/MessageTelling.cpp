//===- MessageTelling.cpp - What ranks tell each other beside programs ----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageGroup.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

using namespace sccl;

void MessageGroup::Control::setText(const std::string &words) {
  std::strncpy(text, words.c_str(), sizeof(text) - 1);
}

/// Takes note of what a rank says, and is ready for more.
void MessageGroup::hear(const Control &message, unsigned from) {
  Control copy = message;
  copy.text[sizeof(copy.text) - 1] = '\0';
  bool isOfGroup = from < numRanks() && copy.group == nonce;
  if (isOfGroup)
    switch (copy.kind) {
    case Control::Call:
      notes[from] = copy.text;
      break;
    case Control::Question:
      isOwed[from] = true;
      owed[from] = copy.cause;
      break;
    case Control::Answer:
      theInquiry.hear(from, copy.cause, copy.rank);
      break;
    default:
      take(copy);
    }
  if (isOfGroup && copy.kind != Control::Cause) {
    lastCalls[from] = std::max(lastCalls[from], copy.call.number);
    if (calls.differs(from, copy.call))
      raiseMismatch(from, copy.call);
  }
  if (Status status = listen(); !status.ok() && cause.load() == 0)
    cause = AbortCause{scclErrorSystem, rank(), rank()}.encode();
}

/// The first cause counts.
void MessageGroup::take(const Control &message) {
  if (cause.load() != 0)
    return;
  causeText = message.text;
  cause = message.cause;
}

/// Sends to `peer`, unless something like it is on its way there.
void MessageGroup::tell(unsigned peer, const Control &message) {
  unsigned number = outboxOf(peer, Control::Kind(message.kind));
  Outbox &outbox = outboxes[number];
  if (peer == rank() || outbox.isUnderWay)
    return;
  outbox.message = message;
  outbox.message.group = nonce;
  size_t bytes = offsetof(Control, text) + std::strlen(message.text);
  outbox.isUnderWay =
      transport.send(transport.context, 1 + int(number), &outbox.message, bytes,
                     int(peer), controlTag) == 0;
  underWay += outbox.isUnderWay;
}

void MessageGroup::tellAll(const Control &message) {
  for (unsigned peer = 0; peer < numRanks(); ++peer)
    tell(peer, message);
}

void MessageGroup::ask(unsigned peer, unsigned mainPeer) {
  if (peer == rank())
    return;
  waitsFor = mainPeer;
  theInquiry.ask(peer);
  Control message = {};
  message.kind = Control::Question;
  message.cause = theInquiry.number();
  message.call = call();
  tell(peer, message);
}

/// Answers those who have asked, as soon as they can be told something.
void MessageGroup::answer() {
  for (unsigned peer = 0; peer < numRanks(); ++peer) {
    Control message = {};
    message.kind = Control::Answer;
    if (!isOwed[peer] || outboxes[outboxOf(peer, Control::Answer)].isUnderWay)
      continue;
    isOwed[peer] = false;
    message.call = call();
    message.rank = waitsFor;
    message.cause = owed[peer];
    tell(peer, message);
  }
}

void MessageGroup::restartInquiry() {
  theInquiry.restart();
  waitsFor = Inquiry::nobody;
}

std::string MessageGroup::hasWaited() const {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g s", config.timeoutSeconds);
  return nameOf(rank()) + " has waited " + seconds;
}

std::string MessageGroup::explainSilence(unsigned peer) const {
  unsigned next = theInquiry.waitsFor(peer);
  if (theInquiry.hasAnswered(peer))
    return "which waits itself" +
           (next < numRanks() ? ", for " + nameOf(next) : "") +
           ": no rank is known to be lost; have all made the same calls?";
  std::string text =
      "which has not made the call, has ended or cannot be reached";
  std::string others;
  for (unsigned other : theInquiry.suspects())
    if (other != peer)
      others += (others.empty() ? "" : ", ") + std::to_string(other);
  if (others.empty())
    return text;
  text += "; no answer came from " + others + " either";
  bool isAlone = theInquiry.hasAnyAnswered() || !areSeveralHosts();
  return isAlone ? text
                 : text + ", so the host of rank " + std::to_string(rank()) +
                       " may be cut off itself";
}

void MessageGroup::raise(const AbortCause &why, const std::string &text) {
  if (cause.load() != 0)
    return;
  Control message = {};
  message.cause = why.encode();
  message.setText(text);
  take(message);
  tellAll(message);
}

void MessageGroup::raise(const Status &status) {
  raise({status.code(), rank(), rank()}, status.message());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void MessageGroup::beginCall(const CallHistory::Announcement &what) {
  calls.begin(what);
  ownNote.clear();
  if (shared)
    shared->setCall(call());
  if (unsigned peer = calls.findEarly(); peer < numRanks())
    raiseMismatch(peer, calls.earlyMark(peer));
}

void MessageGroup::compare(unsigned peer, const CallMark &mark) {
  if (!mark.isSameAs(call()))
    raiseMismatch(peer, mark);
}

/// A message is of another call than the own one.
void MessageGroup::raiseMismatch(unsigned peer, const CallMark &mark) {
  // Words only where they are needed: launches do not allocate.
  if (!isPoisoned())
    raise({scclErrorMismatch, peer, rank()},
          calls.describe(mark, nameOf(peer), nameOf(rank()), notes[peer]));
}

void MessageGroup::tellCall(llvm::ArrayRef<unsigned> peers,
                            const std::string &note) {
  ownNote = note;
  for (unsigned peer : peers)
    if (peer != rank() && !isUntold[peer]) {
      isUntold[peer] = true;
      ++numUntold;
    }
  tellOwed();
}

void MessageGroup::tellAllOfCall(const std::string &note) {
  for (unsigned peer = 0; peer < numRanks(); ++peer)
    tellCall({peer}, note);
}

/// Tells of the current call as far as what was told before has arrived. Calls
/// between go untold: the history of this one has them.
void MessageGroup::tellOwed() {
  for (unsigned peer = 0; peer < numRanks() && numUntold != 0; ++peer) {
    if (!isUntold[peer] || outboxes[outboxOf(peer, Control::Call)].isUnderWay)
      continue;
    isUntold[peer] = false;
    --numUntold;
    Control message = {};
    message.kind = Control::Call;
    message.call = call();
    message.setText(ownNote);
    tell(peer, message);
  }
}
