# ===- wheelhouse.py - Make the wheel of the package -------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""The PEP 517 back end of the package, so that pip needs no network.

pip builds in an environment of its own, into which it would fetch setuptools. The
package is pure Python: its wheel is a zip file with three files of metadata.
"""
import base64
import hashlib
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
WHEEL = """Wheel-Version: 1.0
Generator: sccl
Root-Is-Purelib: true
Tag: py3-none-any
"""


def project(field):
    """A string of the table [project] of pyproject.toml."""
    text = (HERE / "pyproject.toml").read_text()
    return re.search(rf'^{field} = "(.*)"$', text, flags=re.M)[1]


def version():
    """That of the interface, as everywhere: a wheel is built in the source tree."""
    text = (HERE.parent / "include/sccl/sccl.h").read_text()
    code = int(re.search(r"^#define SCCL_VERSION_CODE (\d+)$", text, flags=re.M)[1])
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}"


def metadata():
    lines = ["Metadata-Version: 2.1"]
    lines += [
        f"Name: {project('name')}",
        f"Version: {version()}",
        f"Summary: {project('description')}",
        f"Requires-Python: {project('requires-python')}",
    ]
    for extra in ["numpy", "torch"]:
        lines += [f"Provides-Extra: {extra}"]
        lines += [f'Requires-Dist: {extra}; extra == "{extra}"']
    return "\n".join(lines) + "\n"


def write_wheel(directory, files):
    """Writes a wheel with `files`, contents by path, and returns its name."""
    stem = f"{project('name')}-{version()}"
    info = f"{stem}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    record = ""
    for path, contents in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest())
        record += f"{path},sha256={digest.decode().rstrip('=')},{len(contents)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory) / wheel, "w") as archive:
        for path, contents in files.items():
            # Without a date the same sources give the same bytes.
            archive.writestr(zipfile.ZipInfo(path), contents)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    sources = sorted((HERE / "sccl").rglob("*"))
    return write_wheel(
        wheel_directory,
        {
            str(file.relative_to(HERE)): file.read_bytes()
            for file in sources
            if file.suffix in {".py", ".typed"}
        },
    )


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    path = f"{HERE}\n".encode()
    return write_wheel(wheel_directory, {"sccl_editable.pth": path})


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("sccl has no source distribution: build a wheel")
