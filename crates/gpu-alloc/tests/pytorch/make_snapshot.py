"""Writes `snapshot.pickle`: a small snapshot as PyTorch 2.15 writes one.

PyTorch records snapshots on a GPU only, so this is made by hand, from the description of the
format in the documentation of `torch.cuda.memory._snapshot`. It is pickled as PyTorch does it, with
Python's own `pickle.dump`, stacks and texts shared among entries. It has what a reader may stumble
over: two devices, an expandable segment, a stream that is a pointer, a private pool, a block that
awaits its free, an out-of-memory without an address, metadata, entries and fields of newer versions.

Usage: make_snapshot.py > snapshot.pickle
"""

import pickle
import sys

MIB = 1 << 20
SIDE = 0x5581E3A0F2C0
BASE = 0x7F3A00000000

train = [
    {"filename": "/src/train.py", "line": 31, "name": "forward"},
    {"filename": "/src/train.py", "line": 90, "name": "main"},
]
load = [{"filename": "/src/data.py", "line": 7, "name": "load"}]
nobody = []


def block(address, size, requested, state, frames):
    return {
        "address": address,
        "size": size,
        "requested_size": requested,
        "state": state,
        "frames": frames,
    }


def segment(device, address, blocks, stream=0, kind="large", pool=(0, 0), expandable=False):
    def total(*states):
        return sum(block["size"] for block in blocks if block["state"] in states)

    return {
        "device": device,
        "address": address,
        "total_size": sum(block["size"] for block in blocks),
        "stream": stream,
        "segment_type": kind,
        "segment_pool_id": pool,
        "allocated_size": total("active_allocated"),
        "active_size": total("active_allocated", "active_awaiting_free"),
        "requested_size": sum(
            block["requested_size"] for block in blocks if block["state"] != "inactive"
        ),
        "is_expandable": expandable,
        "frames": train,
        "blocks": blocks,
    }


def entry(action, address, size, stream=0, frames=train, time=0, **more):
    return {
        "action": action,
        "addr": address,
        "size": size,
        "stream": stream,
        "time_us": 1_760_000_000_000_000 + time,
        "compile_context": "N/A",
        "user_metadata": "",
        "pool_id": (0, 0),
        "frames": frames,
        **more,
    }


def out_of_memory(size, free, time):
    oom = entry("oom", 0, size, time=time, device_free=free)
    del oom["addr"]
    return oom


SMALL, LARGE, GROWING = BASE, BASE + 64 * MIB, BASE + 512 * MIB

snapshot = {
    "segments": [
        segment(
            0,
            SMALL,
            [
                block(SMALL, 1024, 1000, "active_allocated", load),
                block(SMALL + 1024, 2 * MIB - 1024, 0, "inactive", nobody),
            ],
            kind="small",
        ),
        segment(
            0,
            LARGE,
            [
                block(LARGE, 8 * MIB, 8 * MIB - 40, "active_awaiting_free", train),
                block(LARGE + 8 * MIB, 12 * MIB, 0, "inactive", nobody),
            ],
            stream=SIDE,
        ),
        segment(
            1,
            GROWING,
            [block(GROWING, 40 * MIB, 40 * MIB, "active_allocated", train)],
            pool=(0, 3),
            expandable=True,
        ),
    ],
    "device_traces": [
        [
            entry("free_requested", SMALL + 4096, 512, frames=load, time=1),
            entry("free_completed", SMALL + 4096, 512, frames=load, time=2),
            entry("segment_alloc", LARGE, 20 * MIB, SIDE, time=3),
            entry("alloc", LARGE, 8 * MIB - 40, SIDE, time=4, user_metadata="activations"),
            entry("annotate", LARGE, 8 * MIB - 40, SIDE, time=5, user_metadata="batch 3"),
            entry("free_requested", LARGE, 8 * MIB - 40, SIDE, time=6),
            out_of_memory(1 << 40, 3 * MIB, time=7),
            entry("snapshot", 0, 0, frames=nobody, time=8),
        ],
        [
            entry("segment_map", GROWING, 20 * MIB, time=9, pool_id=(0, 3)),
            entry("segment_map", GROWING + 20 * MIB, 20 * MIB, time=10, pool_id=(0, 3)),
            entry("alloc", GROWING, 40 * MIB, time=11, pool_id=(0, 3)),
        ],
    ],
    "allocator_settings": {
        "PYTORCH_CUDA_ALLOC_CONF": "",
        "max_split_size": -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": True,
        "roundup_power2_divisions": {"1": 0, "2": 0},
    },
    "external_annotations": [],
}

pickle.dump(snapshot, sys.stdout.buffer)
