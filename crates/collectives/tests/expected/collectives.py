"""Writes what torch.distributed gives for small tensors of four ranks (gloo, on the CPU).

    python crates/collectives/tests/expected/collectives.py > crates/collectives/tests/expected/collectives.txt

A line has the operation, the rank, and the rank's numbers. Rank r puts in (r + 1) * sqrt(i + 1) / 3
for i = 0, 1, ..
"""

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 4
ELEMENTS = 8


def own(rank):
    return (rank + 1) * torch.sqrt(torch.arange(1.0, ELEMENTS + 1)) / 3


def run(rank, results):
    dist.init_process_group("gloo", "tcp://127.0.0.1:29517", rank=rank, world_size=RANKS)
    ops = dist.ReduceOp
    for name, op in [("sum", ops.SUM), ("product", ops.PRODUCT), ("min", ops.MIN), ("max", ops.MAX)]:
        x = own(rank)
        dist.all_reduce(x, op)
        results.put(("all_reduce_" + name, rank, x.tolist()))
    x = own(rank)
    dist.broadcast(x, 2)
    results.put(("broadcast", rank, x.tolist()))
    x = own(rank)
    dist.reduce(x, 1)
    if rank == 1:
        results.put(("reduce", rank, x.tolist()))
    parts = [torch.empty(ELEMENTS) for _ in range(RANKS)]
    dist.all_gather(parts, own(rank))
    results.put(("all_gather", rank, torch.stack(parts).flatten().tolist()))
    part = torch.empty(ELEMENTS // RANKS)
    dist.reduce_scatter_tensor(part, own(rank))
    results.put(("reduce_scatter", rank, part.tolist()))
    entries = list(own(rank).reshape(RANKS, -1)) if rank == 3 else None
    dist.scatter(part, entries, 3)
    results.put(("scatter", rank, part.tolist()))
    dist.gather(own(rank), parts if rank == 2 else None, 2)
    if rank == 2:
        results.put(("gather", rank, torch.stack(parts).flatten().tolist()))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(run, (results,), RANKS)
    lines = []
    while not results.empty():
        name, rank, values = results.get()
        lines.append(f"{name} {rank} {' '.join(map(repr, values))}")
    sys.stdout.write("\n".join(sorted(lines)) + "\n")
