"""Writes the lists of names in crates/libcudart/names: what NVIDIA's runtime libraries export.

    python3 tests/runtime-api/names.py

It downloads the wheels with the libraries and reads their tables of dynamic symbols, nothing else.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

WHEELS = {
    12: ("nvidia-cuda-runtime-cu12==12.9.79", "libcudart.so.12"),
    13: ("nvidia-cuda-runtime==13.0.96", "libcudart.so.13"),
}
NAMES = pathlib.Path(__file__).parents[2] / "crates/libcudart/names"


def exported(package, library):
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, package], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [name for name in archive.namelist() if name.endswith(library)]
            extracted = archive.extract(path, folder)
        symbols = ["nm", "--dynamic", "--defined-only", extracted]
        lines = subprocess.run(symbols, check=True, capture_output=True, text=True).stdout
    names = {line.split()[2].split("@")[0] for line in lines.splitlines()}
    return sorted(name for name in names if name != library)


for version, (package, library) in WHEELS.items():
    header = f"# The functions that NVIDIA's {library} exports: tests/runtime-api/names.py\n"
    (NAMES / f"{version}.txt").write_text(header + "".join(f"{name}\n" for name in exported(package, library)))
