"""Runs every kernel of kernels/ptx on a CUDA driver and compares with PyTorch on the CPU.

    python3 kernels/check                                    # NVIDIA's driver
    python3 kernels/check --library path/to/libcuda.so.1     # the software one, or any other
"""

import argparse
import sys

import torch

import attention
import convolutions
import others
import radix
import selected
import windows
from driver import Driver

parser = argparse.ArgumentParser(description=__doc__)
parser.formatter_class = argparse.RawDescriptionHelpFormatter
parser.add_argument("--library", default="libcuda.so.1", help="the driver to load")

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    driver = Driver(parser.parse_args().library)
    checks, failures = 0, 0
    modules = [others, attention, convolutions, windows, selected, radix]
    for family in [*(module.check for module in modules), others.out_of_range]:
        for name, problem in family(driver):
            checks += 1
            if problem:
                failures += 1
                print(f"{name}: {problem}")
    left_out = sorted(driver.functions.keys() - driver.launched)
    print(f"{checks} checks of {len(driver.launched)} kernels, {failures} failed")
    if left_out:
        print("never launched:", *left_out)
    sys.exit(1 if failures or left_out else 0)
