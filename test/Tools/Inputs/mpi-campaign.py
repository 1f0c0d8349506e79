# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does something to one of two ranks of MPI, at random moments, and looks at the other.

usage: mpi-campaign.py openmpi|mpich PROGRAM PLAN COUNT [SEED]

PROGRAM is mpi-attacked.c; PLAN is of an all_reduce of two ranks, for memory and messages.
Prints how often what was done, and each fault whose end is not what it should be.
"""

import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Codes of sccl.h.
success, timeout, lost, aborted = 0, 8, 9, 10
expected = {
    "kill": lost,
    "stop": success,
    "stop too long": timeout,
    "suspend all": success,
    "abort": aborted,
    "leave": timeout,
}
# The survivors of a rank that has died are not to die with it; mpirun may kill them all the
# same.
launchers = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--enable-recovery", "-n", "2"],
    "mpich": ["mpirun.mpich", "-disable-auto-cleanup", "-n", "2"],
}
# Open MPI wants to be asked.
as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
patience_s = 40


def code_of(fault, way):
    """MPI does not say that a process has ended: its messages are late."""
    return timeout if fault == "kill" and way == "messages" else expected[fault]


def limit_of(fault, way):
    """Seconds; long where nobody is to be late on a busy machine."""
    return 1 if code_of(fault, way) == timeout or fault == "suspend all" else 20


class Job:
    def __init__(self, mpi, program, plan, way, fault, rng):
        self.folder = tempfile.mkdtemp(prefix="sccl-mpi-")
        self.fault, self.way = fault, way
        self.rng = rng
        self.victim = rng.randrange(2)
        os.mkdir(self.path("tmp"))
        count = 1 << rng.randrange(18)
        arguments = [program, plan, self.folder, str(limit_of(fault, way)), str(count), way]
        self.process = subprocess.Popen(
            launchers[mpi] + arguments,
            env=dict(os.environ, TMPDIR=self.path("tmp"), **as_root),
            cwd=self.path("tmp"),
            start_new_session=True,
            stdout=open(self.path("output"), "w"),
            stderr=subprocess.STDOUT,
        )

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, name):
        open(self.path(name), "w").close()

    def await_word(self, name, pid=None):
        """The number in a file that a rank writes, and the text after it. Of process
        `pid`, which may end before, if that is known."""
        end = time.monotonic() + patience_s
        while not os.path.exists(self.path(name)):
            if time.monotonic() > end:
                raise TimeoutError(f"no {name}")
            if pid and not os.path.exists(f"/proc/{pid}") and not os.path.exists(self.path(name)):
                raise ProcessLookupError(f"no {name}, the rank has ended")
            time.sleep(0.002)
        with open(self.path(name)) as file:
            number, text = file.read().split(" ", 1)
        return int(number), text.strip()

    def strike(self, pids):
        victim = pids[self.victim]
        time.sleep(self.rng.uniform(0, 0.05))
        if self.fault == "kill":
            os.kill(victim, signal.SIGKILL)
        elif self.fault in ("abort", "leave"):
            self.make(f"{self.victim}.{self.fault}")
        else:
            stopped = pids if self.fault == "suspend all" else [victim]
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            if self.fault != "stop too long":
                time.sleep(1.5 if self.fault == "suspend all" else self.rng.uniform(0, 0.02))
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)

    def run(self):
        """What is not as it should be; empty if all is."""
        pids = [self.await_word(f"{rank}.pid")[0] for rank in range(2)]
        self.strike(pids)
        try:
            return self.judge(pids)
        except ProcessLookupError:
            if self.fault == "kill" and not self.has_crashed():
                self.fault = "kill, and mpirun the other one"
                return ""
            raise

    def judge(self, pids):
        code = code_of(self.fault, self.way)
        if code == success:
            self.make("end")
        survivor = 1 - self.victim
        found, text = self.await_word(f"{survivor}.result", pids[survivor])
        if found != code:
            return f"code {found} ({text}), expected {code}"
        if code == success:
            return "" if self.process.wait(patience_s) == 0 else "a bad end"
        names = f"rank {self.victim}" in text
        # Who has begun the launch is not known to be the one that is late.
        if not names and not (self.fault == "stop too long" and "was not done" in text):
            return f"names nobody: {text}"
        if self.fault == "stop too long":
            os.kill(pids[self.victim], signal.SIGCONT)
            self.await_word(f"{self.victim}.result")
        self.make("end")
        untouched, _ = self.await_word(f"{survivor}.memory", pids[survivor])
        return "" if untouched else "wrote to memory after the end"

    def has_crashed(self):
        with open(self.path("output")) as file:
            text = file.read()
        return any(word in text for word in ("signal 6", "signal 7", "signal 11"))

    def close(self):
        """Ends what is left of the job; the files of the library that are left."""
        self.make("end")
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        left = [name for name in os.listdir("/dev/shm") if name.startswith("sccl")]
        for folder, _, files in os.walk(self.path("tmp")):
            left += [name for name in files if "sccl" in name]
        shutil.rmtree(self.folder, ignore_errors=True)
        return left


def main():
    mpi, program, plan, count = sys.argv[1:5]
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    made, wrong = collections.Counter(), 0
    for number in range(seed, seed + int(count)):
        rng = random.Random(number)
        way = rng.choice(["memory", "messages"])
        fault = rng.choice(list(expected))
        job = Job(mpi, program, plan, way, fault, rng)
        try:
            problem = job.run()
        except (TimeoutError, ProcessLookupError) as error:
            problem = str(error)
        left = job.close()
        made[f"{way}: {job.fault}"] += 1
        if problem or left:
            wrong += 1
            print(f"fault {number}, {way}: {fault}: {problem} {left or ''}", flush=True)
    print(", ".join(f"{name} {times}" for name, times in sorted(made.items())))
    print(f"{count} faults, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
