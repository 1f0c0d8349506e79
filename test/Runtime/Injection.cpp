//===- Injection.cpp - Failing what a thread asks the system for ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Injection.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

using namespace sccl;

#if defined(__x86_64__) && defined(__GLIBC__) &&                               \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&         \
    defined(PR_SET_SYSCALL_USER_DISPATCH)

namespace {
/// What the kernel looks at before each system call of this thread.
thread_local volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;

using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                       void *);
using Mask = int (*)(int, const sigset_t *, sigset_t *);
Create realCreate;
Mask realMask;

void findReal() {
  realCreate = Create(dlsym(RTLD_NEXT, "pthread_create"));
  realMask = Mask(dlsym(RTLD_NEXT, "pthread_sigmask"));
}
} // namespace

// System calls of this code are not looked at, wherever it is called from.
asm(R"(
  .text
  .globl sccl_real_code
sccl_real_code:
  .globl sccl_real_call
sccl_real_call:
  movq %rdi, %rax
  movq 0(%rsi), %rdi
  movq 16(%rsi), %rdx
  movq 24(%rsi), %r10
  movq 32(%rsi), %r8
  movq 40(%rsi), %r9
  movq 8(%rsi), %rsi
  syscall
  ret
  .globl sccl_real_return
sccl_real_return:
  movq $15, %rax
  syscall
  nop
  .globl sccl_real_end
sccl_real_end:
)");
extern "C" {
long sccl_real_call(long number, const long *arguments);
void sccl_real_return();
extern const char sccl_real_code[], sccl_real_end[];
}

/// Whether the caller can be told that it has failed: the C library does not
/// look at the others, ends the process, or has closed all the same.
static bool mayFail(long number) {
  switch (number) {
  case SYS_close:
  case SYS_munmap:
  case SYS_futex:
  case SYS_exit:
  case SYS_exit_group:
  case SYS_sched_yield:
  case SYS_rt_sigprocmask:
  case SYS_rt_sigreturn:
  case SYS_getpid:
  case SYS_gettid:
  case SYS_tgkill:
  case SYS_nanosleep:
  case SYS_clock_nanosleep:
    return false;
  default:
    return true;
  }
}

/// glibc 2.36 leaves a library half mapped when its second part has no room.
static bool isLinkersMap(long number, uint64_t place) {
  constexpr uint64_t mostCode = 0x40000;
  return number == SYS_mmap && place - getauxval(AT_BASE) < mostCode;
}

static void onCall(int, siginfo_t *, void *context) {
  greg_t *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  long number = registers[REG_RAX];
  long arguments[] = {registers[REG_RDI], registers[REG_RSI],
                      registers[REG_RDX], registers[REG_R10],
                      registers[REG_R8],  registers[REG_R9]};
  bool fails = mayFail(number) && !isLinkersMap(number, registers[REG_RIP]) &&
               injection.takes(Injected::SystemCalls);
  registers[REG_RAX] =
      fails ? -injection.error : sccl_real_call(number, arguments);
}

/// Takes the signals, and has them sent to this thread. The kernel's own
/// interface: the C library's way back from a handler is a system call.
static bool watchCalls() {
  struct {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } action = {onCall, SA_SIGINFO | SA_NODEFER | 0x04000000, sccl_real_return,
              0};
  return syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, 8) == 0 &&
         prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, sccl_real_code,
               sccl_real_end - sccl_real_code, &selector) == 0;
}

bool sccl::canInject(Injected what) {
  return what != Injected::SystemCalls || watchCalls();
}

static void setSelector(bool isArmed) {
  bool counts = isArmed && injection.what == Injected::SystemCalls;
  selector =
      counts ? SYSCALL_DISPATCH_FILTER_BLOCK : SYSCALL_DISPATCH_FILTER_ALLOW;
}

// A new thread begins with the registers of its parent, which may not be in a
// handler of signals then.
extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                              void *(*body)(void *), void *argument) {
  if (!realCreate)
    findReal();
  if (injection.takes(Injected::SystemCalls))
    return EAGAIN;
  Arming disarmed(injection.what == Injected::Allocations && injection.isArmed);
  return realCreate(thread, attr, body, argument);
}

// The signal of a system call ends the process where it is blocked.
extern "C" int pthread_sigmask(int how, const sigset_t *set,
                               sigset_t *before) noexcept {
  if (!realMask)
    findReal();
  sigset_t changed;
  if (set) {
    changed = *set;
    if (how != SIG_UNBLOCK)
      sigdelset(&changed, SIGSYS);
  }
  return realMask(how, set ? &changed : nullptr, before);
}

#else

bool sccl::canInject(Injected what) { return what == Injected::Nothing; }
static void setSelector(bool) {}
static bool watchCalls() { return true; }

#endif

constinit thread_local Injection sccl::injection;

void sccl::inject(Injected what, uint64_t failAt, int error) {
  injection = {what, false, error, 0, failAt};
  if (what == Injected::SystemCalls)
    watchCalls();
}

Arming::Arming(bool arms) : before(injection.isArmed) {
  injection.isArmed = arms;
  setSelector(arms);
}

Arming::~Arming() {
  injection.isArmed = before;
  setSelector(before);
}
