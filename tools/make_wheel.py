#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Packs the Python module `softib`, with the installed tree of a build, as a wheel.

    tools/make_wheel.py BUILD FOLDER

The wheel needs only NumPy and the C library of the build; nothing is downloaded."""
import base64
import hashlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
LICENSE = "BSD-2-Clause"


def version_of(build):
    cache = (build / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", cache, re.M).group(1)


def platform_tag():
    name, version = platform.libc_ver()
    if name != "glibc":
        return f"linux_{platform.machine()}"
    return f"manylinux_{version.replace('.', '_')}_{platform.machine()}"


def files_of(build):
    """Returns the files of the wheel: path -> (bytes, mode)."""
    files = {}
    module = SOURCE / "python" / "softib"
    for path in [*sorted(module.glob("*.py")), module / "py.typed"]:
        files[f"softib/{path.name}"] = (path.read_bytes(), 0o644)
    with tempfile.TemporaryDirectory(prefix="softib-wheel-") as prefix:
        subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True,
                       stdout=subprocess.DEVNULL)
        for path in sorted(Path(prefix).rglob("*")):
            inside = path.relative_to(prefix).as_posix()
            # A wheel has no symbolic links: the file that one names is packed in its place.
            if path.is_file() and inside.startswith(("bin/", "lib")):
                files[f"softib/_tree/{inside}"] = (path.read_bytes(), path.stat().st_mode & 0o777)
    return files


def metadata(version, tag):
    folder = f"softib-{version}.dist-info"
    return folder, {
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: softib\nVersion: {version}\n"
                              "Summary: InfiniBand in user space: live, simulated, planned\n"
                              f"License: {LICENSE}\nRequires-Python: >=3.10\n"
                              "Requires-Dist: numpy\nProvides-Extra: frames\n"
                              "Requires-Dist: pandas; extra == 'frames'\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: softib\nRoot-Is-Purelib: false\n"
                           f"Tag: py3-none-{tag}\n",
        f"{folder}/entry_points.txt": "[console_scripts]\nsoftib = softib._command:main\n",
    }


def digest(data):
    hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return hashed.rstrip(b"=").decode()


def pack(build, folder):
    version, tag = version_of(build), platform_tag()
    info, texts = metadata(version, tag)
    files = files_of(build) | {name: (text.encode(), 0o644) for name, text in texts.items()}
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n"
                     for name, (data, _) in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = (record.encode(), 0o644)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"softib-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data)
    return wheel


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build = Path(sys.argv[1])
    if not (build / "CMakeCache.txt").exists():
        sys.exit(f"{build} is no build folder; build one with `make build`")
    print(pack(build, Path(sys.argv[2])))


if __name__ == "__main__":
    main()
