"""Prints what ptxas gives each kernel of kernels/ptx: registers, shared memory and spills, as a table.

    python3 kernels/resources.py                   # for sm_90, by the ptxas of `cargo xtask toolkit`
    python3 kernels/resources.py --arch sm_80 --ptxas path/to/ptxas

Kernels of one operation that need the same stand in one row. The exit status is 1 if one spills.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
TOOLKIT = ROOT / "target/toolkit/nvidia/cu13/bin/ptxas"
KERNEL = re.compile(
    r"entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)",
    re.DOTALL,
)


def kernels(ptxas, architecture, path):
    """The name of each kernel of a file, and its registers, bytes of shared memory, and bytes spilled."""
    command = [ptxas, "-v", f"-arch={architecture}", str(path), "-o", "/dev/null"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    for name, stored, loaded, registers, rest in KERNEL.findall(report):
        shared = re.search(r"(\d+) bytes smem", rest)
        yield name, (int(registers), int(shared[1]) if shared else 0, int(stored) + int(loaded))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--ptxas", default=str(TOOLKIT))
    options = parser.parse_args()
    print("| kernels | registers | shared memory | spilled |\n|---|---:|---:|---:|")
    spills = False
    for path in sorted((ROOT / "kernels/ptx").glob("*.ptx")):
        rows = {}
        for name, needs in kernels(options.ptxas, options.arch, path):
            operation, _, dtype = name.rpartition("_")
            rows.setdefault((operation or name, needs), []).append(dtype if operation else "")
        for (operation, (registers, shared, spilled)), dtypes in sorted(rows.items()):
            spills |= spilled > 0
            print(f"| `{operation}` {' '.join(sorted(dtypes))} | {registers} | {shared} | {spilled} |")
    return 1 if spills else 0


if __name__ == "__main__":
    sys.exit(main())
