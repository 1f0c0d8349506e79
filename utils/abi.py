#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what programs that were compiled before rely on in libsccl.

usage: abi.py INCLUDE-DIR LIBRARY...

The functions that each LIBRARY exports; sizes and offsets of the structs, and values of
the enumerators, of the C headers in INCLUDE-DIR, as the C compiler `cc` has them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = ["sccl/sccl.h", "sccl/sccl-trace.h"]


def symbols(library):
    command = ["llvm-nm", "--dynamic", "--defined-only", "--format=just-symbols", library]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    # A version, such as SCCL_0, is a symbol of its own.
    return [f"symbol {name}" for name in sorted(names) if not name.startswith("SCCL_")]


def definitions(text, keyword):
    """The name and the lines of each `typedef KEYWORD NAME {...} NAME;`."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(
        rf"^typedef {keyword} (\w+)[^{{;]*{{(.*?)^}} \1;", text, flags=re.M | re.S
    )


def fields(body):
    for declaration in body.split(";"):
        # Of a pointer to a function the arguments, else what follows the type.
        function = re.search(r"\(\*(\w+)\)", declaration)
        if function:
            yield function[1]
            continue
        for part in declaration.split(","):
            name = re.search(r"(\w+)\s*(\[\w+\])?\s*$", part)
            if name:
                yield name[1]


def prints(headers):
    """C code that prints the layout of what the headers define."""
    for text in headers:
        for name, body in definitions(text, "struct"):
            yield f'P("struct {name} %zu\\n", sizeof({name}));'
            for field in fields(body):
                yield (
                    f'P("  {field} %zu %zu\\n", offsetof({name}, {field}), '
                    f"sizeof((({name} *)0)->{field}));"
                )
        for name, body in definitions(text, "enum"):
            yield f'P("enum {name} %zu\\n", sizeof({name}));'
            for value in re.findall(r"^\s*(\w+)", body, flags=re.M):
                yield f'P("  {value} %d\\n", (int){value});'


def layout(include):
    code = "".join(f"#include <{header}>\n" for header in HEADERS)
    code += "#include <stdio.h>\n#define P printf\nint main(void) {\n"
    code += "\n".join(prints((include / header).read_text() for header in HEADERS))
    code += "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/layout"
        command = ["cc", "-std=c99", f"-I{include}", "-xc", "-", "-o", program]
        subprocess.run(command, check=True, input=code, text=True)
        return subprocess.run(
            [program], check=True, capture_output=True, text=True
        ).stdout.splitlines()


def main():
    lines = [line for library in sys.argv[2:] for line in symbols(library)]
    print("\n".join(lines + layout(pathlib.Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
