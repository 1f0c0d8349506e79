# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes C++ with functions and a class that are just too long, and just not.

usage: write-long.py FILE-OF-FUNCTIONS FILE-OF-CLASSES
"""
import sys


def function(name, lines, indent=""):
    body = [indent + "  if (true) {", indent + "  }"] + [indent + "  work();"] * (lines - 4)
    return [f"{indent}void {name}(int value,", f"{indent}          int other = 1) {{"] + body[1:] + [indent + "}"]


def write(path, lines):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    text = function("fine", 60) + function("huge", 61) + function("allowed", 80)
    text += function("larger", 71)
    # None of these is a function.
    text += ["static const int table[] = {", *["  1,"] * 70, "};"]
    text += ["void outer() {", "  each(list, [&](int value) {", *["    work();"] * 30, "  });", "}"]
    write(sys.argv[1], text)
    methods = [line for i in range(4) for line in function(f"method{i}", 49, "  ")]
    fine = ["struct Fine {", *methods, *["  int field;"] * 52, "};"]
    giant = ["class Giant : public Base {", *methods, *["  int field;"] * 53, "};"]
    write(sys.argv[2], fine + giant[:-1] + ["};"])


main()
