# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a reader in Python and sccl say of damaged files."""
import collections
import importlib.util
import subprocess


def load(path):
    """The module in the file at `path`."""
    spec = importlib.util.spec_from_file_location("reader", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Comparison:
    """Counts mutants by the kind of damage, a function, and those that both accept."""

    def __init__(self):
        self.made, self.accepted = collections.Counter(), collections.Counter()

    def agree(self, kind, what, own, command):
        """Whether sccl's `command` accepts what the reader does, or neither; tells of
        `what` if they differ. `own` is what the reader says."""
        run = subprocess.run(command, capture_output=True, text=True)
        self.made[kind.__name__] += 1
        self.accepted[kind.__name__] += own
        if run.returncode in (0, 1) and own == (run.returncode == 0):
            return True
        print(f"{what}: the second reader {'accepts' if own else 'refuses'} it, sccl exits with {run.returncode}: {run.stderr}")
        return False

    def report(self):
        for name in sorted(self.made):
            print(f"{name}: {self.made[name]} made, {self.accepted[name]} accepted by both")
