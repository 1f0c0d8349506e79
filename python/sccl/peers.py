# ===- peers.py - Why GPUs do not reach each other --------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Why GPUs of a host do not reach each other's memory over PCIe, or slowly.

Reads what is printed by ``lspci -vvv`` (as root: else it lacks what is needed),
``nvidia-smi topo -p2p r``, and what is in ``/proc/cmdline``. `findings` takes texts of
any host, and recognizes each by its content.
"""
from __future__ import annotations

import itertools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

Finding = Tuple[str, str, str]  #: as of doctor: state, name, and what there is to say

#: What ``nvidia-smi topo -p2p`` says of a pair, and what that means for it.
CODES = {
    "CNS": "the driver has no peer access through this chipset: kernels cannot reach these "
    "peers, and schedules have to go through memory of the host",
    "GNS": "the driver gives these GPUs no peer access at all, as with GeForce cards since "
    "Ada: a plan for them has to go through memory of the host",
    "TNS": "the driver has no peer access over this path, as between two processors: put "
    "the GPUs below one of them",
    "NS": "the driver has no peer access for this pair",
    "DR": "peer access is disabled by a key of the driver's registry: see "
    "NVreg_RegistryDwords in /etc/modprobe.d",
    "U": "the driver does not know",
}

#: PCI classes and vendors of what counts as a GPU.
_GPU = re.compile(r"(3D controller|VGA compatible controller|Display controller|"
                  r"Processing accelerators)[^:]*: (NVIDIA|Advanced Micro Devices)")
_HEAD = re.compile(r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)$")
_BUS = re.compile(r"Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), "
                  r"subordinate=([0-9a-f]{2})")
_LINK = re.compile(r"Lnk(Cap|Sta):.*?Speed ([0-9.]+)GT/s.*?Width x(\d+)")
_REGION = re.compile(r"Memory at .*64-bit, prefetchable.*\[size=(\d+)([KMG])\]")


@dataclass
class PciDevice:
    """One function of ``lspci``: its address as ``DDDD:BB:DD.F``, and what its text says."""

    address: str
    title: str
    buses: Optional[Tuple[int, int]] = None  #: behind a bridge, the first and the last
    redirects: bool = False  #: ACS sends requests of peers upstream
    knows_acs: bool = False
    cap: Optional[Tuple[float, int]] = None  #: GT/s and lanes that the link could have
    now: Optional[Tuple[float, int]] = None  #: and has
    window: int = 0  #: bytes of the largest prefetchable region

    @property
    def domain(self) -> int:
        return int(self.address.split(":")[0], 16)

    @property
    def bus(self) -> int:
        return int(self.address.split(":")[1], 16)

    def reaches(self, other: "PciDevice") -> bool:
        """True if `other` is behind this bridge."""
        return (
            self.buses is not None
            and self.domain == other.domain
            and self.buses[0] <= other.bus <= self.buses[1]
        )


@dataclass
class Host:
    """What the texts say of a host."""

    devices: List[PciDevice] = field(default_factory=list)
    refused: Dict[str, List[Tuple[int, int]]] = field(default_factory=dict)  #: by code
    allowed: int = 0  #: pairs with peer access
    boot: Optional[str] = None  #: the kernel's command line

    @property
    def gpus(self) -> List[PciDevice]:
        """In the order of their addresses, which is that of nvidia-smi."""
        found = [device for device in self.devices if _GPU.search(device.title)]
        return sorted(found, key=lambda device: device.address)

    def path(self, device: PciDevice) -> List[PciDevice]:
        """The bridges from the root port down to `device`."""
        above = [bridge for bridge in self.devices if bridge.reaches(device)]
        return sorted(above, key=lambda bridge: -(bridge.buses[1] - bridge.buses[0]))


def _read_device(lines: List[str]) -> PciDevice:
    address, title = _HEAD.match(lines[0]).groups()
    if address.count(":") == 1:
        address = "0000:" + address
    device = PciDevice(address, title)
    for line in lines[1:]:
        if found := _BUS.search(line):
            device.buses = (int(found.group(2), 16), int(found.group(3), 16))
        elif found := _LINK.search(line):
            link = (float(found.group(2)), int(found.group(3)))
            if found.group(1) == "Cap":
                device.cap = device.cap or link
            else:
                device.now = device.now or link
        elif found := _REGION.search(line):
            unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[found.group(2)]
            device.window = max(device.window, int(found.group(1)) * unit)
        elif "ACSCtl:" in line:
            device.knows_acs = True
            device.redirects = "ReqRedir+" in line
    return device


def _read_lspci(text: str) -> Iterator[PciDevice]:
    block: List[str] = []
    for line in text.splitlines():
        if _HEAD.match(line):
            if block:
                yield _read_device(block)
            block = [line]
        elif block:
            block.append(line)
    if block:
        yield _read_device(block)


def _read_access(text: str, host: Host) -> bool:
    """Reads a matrix of ``topo -p2p``. False if there is none."""
    found = False
    for line in text.splitlines():
        words = line.split()
        row = re.fullmatch(r"GPU(\d+)", words[0]) if words else None
        cells = words[1:]
        if not row or not cells or any(cell not in {*CODES, "OK", "X"} for cell in cells):
            continue
        found = True
        for column, cell in enumerate(cells):
            pair = (int(row.group(1)), column)
            if cell in CODES and pair[::-1] not in host.refused.get(cell, []):
                host.refused.setdefault(cell, []).append(pair)
            host.allowed += cell == "OK" and pair[0] < pair[1]
    return found


def read(texts: Iterable[Tuple[str, str]]) -> Host:
    """Reads texts, each with the name it has in errors. Raises ValueError for one that is
    none of those that it knows."""
    host = Host()
    for name, text in texts:
        devices = list(_read_lspci(text))
        if devices:
            host.devices += devices
        elif _read_access(text, host):
            continue
        elif re.search(r"\b(root|BOOT_IMAGE|initrd)=", text) and len(text.splitlines()) == 1:
            host.boot = text
        else:
            raise ValueError(
                f"{name} is none of: lspci -vvv, nvidia-smi topo -p2p r, /proc/cmdline"
            )
    return host


def _pairs(pairs: List[Tuple[int, int]]) -> str:
    shown = ", ".join(f"{a}-{b}" for a, b in pairs[:6])
    return shown + (f" and {len(pairs) - 6} more" if len(pairs) > 6 else "")


def _access(host: Host) -> Iterator[Finding]:
    for code, pairs in host.refused.items():
        yield "MISSING", "access", f"GPUs {_pairs(pairs)}: {code}, {CODES[code]}"
    if host.allowed and not host.refused:
        yield "OK", "access", f"the driver gives all {host.allowed} pairs peer access"


def _redirections(host: Host) -> Iterator[Finding]:
    """ACS on a port between two GPUs, and what they share."""
    gpus = host.gpus
    shared: Dict[str, List[Tuple[int, int]]] = {}
    apart: List[Tuple[int, int]] = []
    redirecting: Dict[str, List[Tuple[int, int]]] = {}
    for (i, first), (j, second) in itertools.combinations(enumerate(gpus), 2):
        paths = [host.path(first), host.path(second)]
        common = [bridge for bridge in paths[0] if bridge in paths[1]]
        if not common:
            apart.append((i, j))
            continue
        shared.setdefault(common[-1].address, []).append((i, j))
        for path in paths:
            # The port below the switch that both share, and those below it.
            for port in path[len(common):]:
                if port.redirects:
                    redirecting.setdefault(port.address, []).append((i, j))
    for address, pairs in redirecting.items():
        yield (
            "MISSING",
            "ACS",
            f"port {address} sends requests between GPUs {_pairs(pairs)} up to the processor, "
            f"in place of through the switch; outside of virtual machines, as root: "
            f"setpci -s {address} ECAP_ACS+6.w=0000",
        )
    ports = [device for device in host.devices if device.buses]
    if shared and not redirecting:
        if any(port.knows_acs for port in ports):
            yield "OK", "ACS", "no port below a switch redirects requests of peers"
        else:
            yield "--", "ACS", "lspci does not say: it has to be run by root, as lspci -vvv"
    for address, pairs in shared.items():
        yield "OK", "switch", f"GPUs {_pairs(pairs)} meet below {address}"
    if apart:
        yield (
            "--",
            "root port",
            f"GPUs {_pairs(apart)} have no switch in common: what they send each other "
            "passes a processor, and reads may be far slower than writes",
        )


def _iommu(host: Host) -> Iterator[Finding]:
    if host.boot is None:
        return
    words = host.boot.split()
    on = [word for word in words if re.fullmatch(r"(intel|amd)_iommu=(on|force_enable)", word)]
    if "iommu=pt" in words:
        yield "OK", "IOMMU", "iommu=pt: addresses of devices are not translated"
    elif on or "iommu=force" in words:
        yield (
            "MISSING",
            "IOMMU",
            f"{(on or ['iommu=force'])[0]} without iommu=pt: what GPUs send each other is "
            "translated by the processor; outside of virtual machines boot with iommu=pt",
        )
    else:
        yield (
            "--",
            "IOMMU",
            "the kernel's command line does not say whether it is on: dmesg does",
        )


def _links(host: Host) -> Iterator[Finding]:
    for number, gpu in enumerate(host.gpus):
        if gpu.cap and gpu.now and gpu.now[1] < gpu.cap[1]:
            yield (
                "--",
                "lanes",
                f"GPU {number} ({gpu.address}) has x{gpu.now[1]} of x{gpu.cap[1]} lanes: look "
                "at its slot and riser",
            )
        if 0 < gpu.window <= 256 << 20:
            yield (
                "--",
                "window",
                f"GPU {number} ({gpu.address}) shows {gpu.window >> 20} MiB of its memory: "
                "peers reach no more; turn on Resizable BAR and Above 4G Decoding",
            )


def findings(texts: Iterable[Tuple[str, str]]) -> List[Finding]:
    """What the texts tell; a text comes with the name it
    has in errors. Raises ValueError for a text that is none of those it knows."""
    host = read(texts)
    found = [*_access(host), *_redirections(host), *_iommu(host), *_links(host)]
    gpus = len(host.gpus)
    if host.devices and gpus < 2:
        found.append(("--", "GPUs", f"lspci shows {gpus}, and peers are at least two"))
    return found


def texts_of_this_host() -> List[Tuple[str, str]]:
    """What the tools of this host print, as far as they are there."""
    texts = []
    for command in (["lspci", "-vvv"], ["nvidia-smi", "topo", "-p2p", "r"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and done.stdout.strip():
            texts.append((" ".join(command), done.stdout))
    boot = Path("/proc/cmdline")
    if boot.exists() and texts:
        texts.append((str(boot), boot.read_text()))
    return texts
