"""The shares that PyTorch's DistributedSampler gives: writes samplers.txt beside this file.

Each line: samples, replicas, rank, whether the rest is dropped, and the indices. PyTorch 2.15.
"""

from pathlib import Path

from torch.utils.data.distributed import DistributedSampler

lines = []
for samples in (1, 2, 3, 5, 8, 10):
    for replicas in (1, 2, 3, 4, 7):
        for rank in range(replicas):
            for drop_last in (False, True):
                share = DistributedSampler(range(samples), replicas, rank, shuffle=False, drop_last=drop_last)
                lines.append(" ".join(map(str, [samples, replicas, rank, int(drop_last), *share])))
Path(__file__).with_name("samplers.txt").write_text("\n".join(lines) + "\n")
