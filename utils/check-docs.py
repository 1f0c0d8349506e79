#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what documents and .td files say against the sources and the tests.

usage: check-docs.py SOURCE-DIR

- Each labelled constraint of dialects/, such as (send_c2), has a negative test:
  a symbol that begins with the label, such as @send_c2_absent_link.
- Each check of docs/Checks.md, such as D1, is named in code and in tests.
- Each pass of include/ names an example file, which exists and runs the pass.
- Each environment variable that lib/, tools/ or python/ reads has a row in SECURITY.md,
  and no others have.
"""
import pathlib
import re
import sys


def labels_without_test(root):
    documented = set()
    for file in sorted((root / "dialects").rglob("*.td")):
        documented |= set(re.findall(r"\((\w+_c\d+)\)", file.read_text()))
    tested = set()
    for file in sorted((root / "test").rglob("*.mlir")):
        tested |= set(re.findall(r"@(\w+?_c\d+)_\w+", file.read_text()))
    problems = [f"no test has a symbol @{label}_..." for label in documented - tested]
    problems += [f"no .td file documents {label}" for label in tested - documented]
    return len(documented), problems


def checks_without_mention(root):
    def words(*folders):
        files = (file for folder in folders for file in (root / folder).rglob("*"))
        suffixes = {".cpp", ".h", ".py", ".td", ".mlir", ".test"}
        texts = (file.read_text() for file in files if file.suffix in suffixes)
        return {word for text in texts for word in re.findall(r"\b[A-Z]\d\b", text)}

    table = (root / "docs" / "Checks.md").read_text()
    checks = re.findall(r"^\| ([A-Z]\d) \|", table, flags=re.M)
    code, tests = words("lib", "include", "tools"), words("test")
    problems = [f"no code names check {check}" for check in checks if check not in code]
    problems += [f"no test names check {check}" for check in checks if check not in tests]
    return len(checks), problems


def passes_without_example(root):
    count, problems = 0, []
    for file in sorted((root / "include").rglob("Passes.td")):
        # The text before the first "def" belongs to no pass.
        for text in re.split(r"^def ", file.read_text(), flags=re.M)[1:]:
            name = re.search(r'Pass<"([\w-]+)"', text)
            if not name:
                continue
            count += 1
            example = re.search(r"Example: (test/[\w/.-]+\.mlir)", text)
            if not example:
                problems.append(f"{name[1]} names no example")
            elif not (root / example[1]).exists():
                problems.append(f"{name[1]}: {example[1]} does not exist")
            elif name[1] not in (root / example[1]).read_text():
                problems.append(f"{name[1]}: {example[1]} does not run it")
    return count, problems


def variables_without_row(root):
    read = set()
    for folder in "lib", "tools", "python":
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in {".cpp", ".c", ".py"}:
                continue
            text = file.read_text()
            read |= set(re.findall(r'"(SCCL_[A-Z_]+|CUDA_(?:ROOT|HOME|PATH))"', text))
            read |= set(re.findall(r'(?:getenv\(|environ\.get\()"(\w+)"', text))
    rows = re.findall(r"^\| (`[A-Z].*?) \|", (root / "SECURITY.md").read_text(), flags=re.M)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    problems = [f"SECURITY.md has no row for {name}" for name in read - named]
    problems += [f"nothing reads {name}, a row of SECURITY.md" for name in named - read]
    return len(read), problems


def main():
    root = pathlib.Path(sys.argv[1])
    labels, problems = labels_without_test(root)
    passes, more = passes_without_example(root)
    checks, others = checks_without_mention(root)
    variables, unknown = variables_without_row(root)
    problems += more + others + unknown
    for problem in sorted(problems):
        print(f"check-docs: {problem}")
    counts = [labels, passes, checks, variables]
    print("{} labels, {} passes, {} checks, {} variables, ".format(*counts), end="")
    print(f"{len(problems)} problems")
    return 1 if problems or 0 in counts else 0


if __name__ == "__main__":
    sys.exit(main())
