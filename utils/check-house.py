#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the floor plan and the sizes of the source.

usage: check-house.py SOURCE-DIR EXCEPTIONS

- A folder of lib/ and include/sccl includes, and links in its CMakeLists.txt, only
  what the table "Which folder may use which" of docs/Pipeline.md allows. The table has no
  cycles, and a row for each folder.
- Nothing lies at the top that a tool wrote: a schedule, a plan, a proof.
- No class, struct, union or enum of one qualified name is defined in two files, which the
  linker would not notice, but for those in namespaces without a name.
- No function is longer than 60 lines, no class longer than 250, no file longer than
  500. EXCEPTIONS lists those that are, one per line as PATH or PATH:NAME, with the
  length that they may have at most. A line that is no longer needed is an error:
  the list only gets shorter.

Lengths are counted on formatted code: a block ends at the brace that is indented as
much as the line that opens it.
"""
import pathlib
import re
import sys

SUFFIXES = {".cpp", ".h", ".c", ".cu", ".td", ".py"}
LIMITS = {"function": 60, "class": 250, "file": 500}
# Libraries of more than one folder, and targets that are not called as theirs.
ROOM_OF_LIBRARY = {
    "SCCLCollDialect": "Dialect",
    "SCCLPlanBuilder": "Plan",
    "SCCLRanks": "Measure",
    "libsccl": "Runtime",
}


def read_table(root):
    """By room, the rooms that it may use."""
    text = (root / "docs" / "Pipeline.md").read_text()
    section = text.split("## Which folder may use which")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \|([^|]*)\|", section, flags=re.M)
    return {
        room: set(re.findall(r"\w+", uses)) for room, uses in rows if room != "folder"
    }


def rooms(root):
    """The folders that have a row, with the files of each."""
    found = {}
    for base in root / "lib", root / "include" / "sccl":
        for folder in sorted(base.iterdir()):
            if folder.is_dir():
                found.setdefault(folder.name, []).extend(sorted(folder.rglob("*")))
    return found


def used_by(file, names):
    """The rooms that `file` includes, or links to."""
    text = file.read_text()
    if file.name == "CMakeLists.txt":
        code = re.sub(r"#.*", "", text)
        for library in re.findall(r"\b(?:SCCL\w+|libsccl)\b", code):
            room = ROOM_OF_LIBRARY.get(library, library.removeprefix("SCCL"))
            if room in names:
                yield room
    elif file.suffix in SUFFIXES:
        for path in re.findall(r'^#?include "([^"]+)"', text, flags=re.M):
            room = path.removeprefix("sccl/").split("/")[0]
            if "/" in path and room in names:
                yield room


def check_top(root):
    """Sources and texts only: what belongs to a folder is in it."""
    kinds = {"", ".json", ".md", ".txt"}
    return [
        f"{file.name} does not belong at the top"
        for file in sorted(root.iterdir())
        if file.is_file() and file.suffix not in kinds
    ]


def check_rooms(root):
    allowed = read_table(root)
    found = rooms(root)
    problems = [f"docs/Pipeline.md has no row for {room}" for room in found.keys() - allowed.keys()]
    problems += [f"docs/Pipeline.md has a row for {room}, which is no folder" for room in allowed.keys() - found.keys()]
    for room, files in found.items():
        for file in files:
            if file.is_dir():
                continue
            for used in sorted(set(used_by(file, found)) - {room} - allowed.get(room, set())):
                problems.append(f"{file.relative_to(root)}: {room} may not use {used}")
    below = dict(allowed)
    while free := [room for room, uses in below.items() if not uses & below.keys()]:
        for room in free:
            del below[room]
    if below:
        problems.append("these use each other in a cycle: " + " ".join(sorted(below)))
    return len(found), problems


# Where a named or unnamed namespace begins and ends, and what defines a type outside of others; a
# namespace of one line, which declares something of another library, begins and ends at once.
SCOPES = re.compile(
    r"^(?:namespace ([\w:]*) ?\{(?:\n.*\n\}$)?|(\}) // namespace"
    r"|(?:template <.*>\s)?(?:class|struct|union|enum(?: class)?) (?:\w+ |\[\[\w+\]\] )*?"
    r"([\w:]+(?:<[^;{]*?>)?)(?: final)?(?:\s*:[^:][^;{]*)?\s*\{)",
    flags=re.M,
)


def types_of(text):
    """The qualified names of types that other files see; those in types and functions are not looked at."""
    inside = []
    for match in SCOPES.finditer(text):
        namespace, closing, name = match.groups()
        if closing:
            inside.pop()
        elif name and "" not in inside:
            yield "::".join([*inside, name])
        elif not name and not match.group().endswith("}"):
            inside.append(namespace)


def check_types(root):
    found = {}
    for folder in "include", "lib", "test", "tools":
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in {".cpp", ".h", ".cu"}:
                for name in types_of(file.read_text()):
                    found.setdefault(name, set()).add(str(file.relative_to(root)))
    return [f"{name} is defined in {' and '.join(sorted(files))}" for name, files in found.items() if len(files) > 1]


# What opens a block but is no function.
CONTROL = re.compile(r"\s*(?:\}|if\b|else\b|for\b|while\b|switch\b|do\b|case\b|default\b|try\b|return\b|auto\b.*= *\[)")
CLASS = re.compile(r"\s*(?:template\b.*>\s*)?(?:class|struct|union)\s+(?:\w+\s+)*?(\w+)[^;()]*\{$")
FUNCTION = re.compile(r"([~\w]+)\s*\([^;]*$|operator\S+\s*\(")
LAMBDA = re.compile(r"\[[&=\w, *]*\]\s*(?:\(|\{|mutable)")


def opener(lines, index):
    """The statement whose block the brace at the end of a line opens."""
    first = index
    while first > 0 and not re.search(r"[;{}:]\s*$|^\s*(//|#|$)", lines[first - 1]):
        first -= 1
    return first, " ".join(line.strip() for line in lines[first : index + 1])


def blocks_of_cpp(lines):
    """(kind, name, lines) of each function and class."""
    for index, line in enumerate(lines):
        if not line.endswith("{") or re.match(r"\s*(namespace|extern|enum|//)\b", line):
            continue
        first, text = opener(lines, index)
        indent = re.match(r"\s*", lines[first]).group()
        closing = re.compile(re.escape(indent) + r"\}")
        last = next((i for i in range(index + 1, len(lines)) if closing.match(lines[i])), None)
        if last is None or CONTROL.match(text):
            continue
        if match := CLASS.match(text):
            yield "class", match.group(1), last - first + 1
        elif match := FUNCTION.search(text):
            # Lambdas are part of the function that they are in.
            is_list = re.search(r"[,(]\s*\{$|>\{$", text)
            if not is_list and not LAMBDA.search(text) and "=" not in text.split("(")[0]:
                yield "function", match.group(1) or "operator", last - first + 1


def blocks_of_python(lines):
    for index, line in enumerate(lines):
        match = re.match(r"(\s*)(def|class) (\w+)", line)
        if not match:
            continue
        last = index
        for i in range(index + 1, len(lines)):
            if lines[i].strip() and not lines[i].startswith(match.group(1) + " ") and lines[i].strip() != "):":
                break
            last = i if lines[i].strip() else last
        kind = "function" if match.group(2) == "def" else "class"
        yield kind, match.group(3), last - index + 1


def lengths(root):
    """(what, length, limit) of all that is longer than it should be."""
    folders = ("dialects", "docs", "include", "lib", "test", "tools", "utils")
    for folder in folders:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            name = str(file.relative_to(root))
            lines = file.read_text().splitlines()
            if len(lines) > LIMITS["file"]:
                yield name, len(lines), "file"
            blocks = blocks_of_python if file.suffix == ".py" else blocks_of_cpp
            if file.suffix == ".td":
                continue
            for kind, block, length in blocks(lines):
                if length > LIMITS[kind]:
                    yield f"{name}:{block}", length, kind


def check_sizes(root, exceptions):
    permitted = {}
    for line in exceptions.read_text().splitlines():
        if line and not line.startswith("#"):
            what, length = line.split()
            permitted[what] = int(length)
    problems = []
    seen = set()
    for what, length, kind in lengths(root):
        seen.add(what)
        if length > permitted.get(what, LIMITS[kind]):
            problems.append(
                f"{what}: a {kind} of {length} lines, the limit is {permitted.get(what, LIMITS[kind])}"
            )
    problems += [f"{what} is short enough now; take it off {exceptions.name}" for what in permitted.keys() - seen]
    return len(permitted), problems


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, exceptions = map(pathlib.Path, sys.argv[1:])
    rooms_checked, problems = check_rooms(root)
    permitted, too_long = check_sizes(root, exceptions)
    problems += check_top(root) + check_types(root)
    for problem in sorted(problems) + sorted(too_long):
        print(problem)
    print(f"{rooms_checked} folders, {permitted} exceptions, {len(problems) + len(too_long)} problems")
    sys.exit(1 if problems or too_long else 0)


if __name__ == "__main__":
    main()
