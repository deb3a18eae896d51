"""Asks a CUDA driver what its manual leaves open, and prints a line for each answer.

    python3 crates/cuda-sim/tests/probe/probe.py > nvidia.txt                            # NVIDIA's
    python3 crates/cuda-sim/tests/probe/probe.py --library target/libcuda/libcuda.so.1   # the software one

What NVIDIA's driver 580 (CUDA 13.0) answers on an H200 is in `nvidia-580.txt`. There it ended in the
middle of the first family, asked about a captured stream that had been destroyed, which is not
asked any more: answers for relaxed captures are missing.

Three families of questions: what a capture forbids to its thread, and what is left of the capture
afterwards; what is said to room for nothing; and which calls wait for a stream that is held back by
a host function. Each family runs in a process of its own, as a driver may not survive it.
"""

import argparse
import ctypes
import re
import subprocess
import sys
import threading
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 p)
{
    .reg .b64 a;
    .reg .b32 v;
    ld.param.u64 a, [p];
    cvta.to.global.u64 a, a;
    ld.global.u32 v, [a];
    add.u32 v, v, 1;
    st.global.u32 [a], v;
    ret;
}
"""
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)
# The longest that a call takes which does not wait, in seconds.
PATIENCE = 0.7


class Handle(c_void_p):
    """A pointer that stays one: ctypes makes integers of plain `c_void_p` results."""


class Driver:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.must("cuInit", 0)
        self.context = Handle()
        device = c_int()
        self.must("cuDeviceGet", byref(device), 0)
        self.must("cuDevicePrimaryCtxRetain", byref(self.context), device)
        self.enter()

    def enter(self):
        """Makes the device's context current in the calling thread."""
        self.must("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        """The name of what the call gives back."""
        code = getattr(self.library, name)(*arguments)
        text = ctypes.c_char_p()
        self.library.cuGetErrorName(code, byref(text))
        return text.value.decode().removeprefix("CUDA_") if text.value else str(code)

    def must(self, name, *arguments):
        answer = self.call(name, *arguments)
        if answer != "SUCCESS":
            raise RuntimeError(f"{name}: {answer}")

    def made(self, name, *arguments):
        """A handle that a call makes."""
        handle = Handle()
        self.must(name, byref(handle), *arguments)
        return handle

    def stream(self):
        return self.made("cuStreamCreate", c_uint(1))

    def event(self):
        return self.made("cuEventCreate", c_uint(0))

    def memory(self, size=4096):
        return self.made("cuMemAlloc_v2", c_size_t(size))

    def pinned(self, size=4096):
        return self.made("cuMemHostAlloc", c_size_t(size), c_uint(0))

    def module(self):
        return self.made("cuModuleLoadData", PTX)

    def function(self):
        return self.made("cuModuleGetFunction", self.module(), b"increment")

    def warm_function(self, memory):
        function = self.function()
        self.must(*self.launch(function, memory, None))
        self.must("cuCtxSynchronize")
        return function

    def launch(self, function, memory, stream):
        """The arguments of a launch."""
        value = c_uint64(memory.value)
        parameters = (c_void_p * 1)(ctypes.addressof(value))
        self.kept = getattr(self, "kept", []) + [value, parameters]
        return ("cuLaunchKernel", function, *[c_uint(1)] * 6, c_uint(0), stream, parameters, None)

    def executable(self, function, memory):
        """A graph of one launch, and its executable form."""
        stream = self.stream()
        self.must("cuStreamBeginCapture_v2", stream, c_int(RELAXED))
        self.must(*self.launch(function, memory, stream))
        graph = Handle()
        self.must("cuStreamEndCapture", stream, byref(graph))
        return graph, self.made("cuGraphInstantiateWithFlags", graph, c_uint64(0))

    def physical(self):
        """Properties for `cuMemCreate`: pinned memory of device 0."""
        properties = (ctypes.c_byte * 64)()
        ctypes.memmove(properties, bytes([1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), 16)
        return properties


def calls(driver):
    """Calls by name: each a function that prepares, and gives the arguments of the call. Prepared is
    what NVIDIA's driver would wait for, or what a capture would forbid."""
    idle, other, memory, pinned = driver.stream(), driver.stream(), driver.memory(), driver.pinned()
    warm = driver.warm_function(memory)
    graph, executable = driver.executable(warm, memory)
    recorded = driver.event()
    driver.must("cuEventRecord", recorded, idle)
    driver.must("cuStreamSynchronize", idle)
    pageable = ctypes.create_string_buffer(4096)
    size, four = c_size_t(4096), c_size_t(4)
    page = c_size_t(2 << 20)
    out = Handle()
    two = [c_size_t(), c_size_t()]
    nothing = HOST_FUNCTION(lambda _: None)
    driver.kept = getattr(driver, "kept", []) + [pageable, nothing, out, two]

    def reserved():
        return driver.made("cuMemAddressReserve", page, c_size_t(0), c_uint64(0), c_uint64(0))

    def created():
        return driver.made("cuMemCreate", page, driver.physical(), c_uint64(0))

    def mapped():
        addresses, block = reserved(), created()
        driver.must("cuMemMap", addresses, page, c_size_t(0), block, c_uint64(0))
        return addresses

    access = (c_int * 3)(1, 0, 3)
    driver.kept.append(access)
    return {
        "cuStreamQuery, idle": lambda: ("cuStreamQuery", idle),
        "cuStreamSynchronize, idle": lambda: ("cuStreamSynchronize", idle),
        "cuStreamCreate": lambda: ("cuStreamCreate", byref(out), c_uint(1)),
        "cuStreamDestroy, idle": lambda: ("cuStreamDestroy_v2", driver.stream()),
        "cuStreamGetPriority": lambda: ("cuStreamGetPriority", idle, byref(c_int())),
        "cuEventCreate": lambda: ("cuEventCreate", byref(out), c_uint(2)),
        "cuEventQuery, over": lambda: ("cuEventQuery", recorded),
        "cuEventSynchronize, over": lambda: ("cuEventSynchronize", recorded),
        "cuEventRecord, idle": lambda: ("cuEventRecord", driver.event(), idle),
        "cuEventDestroy": lambda: ("cuEventDestroy_v2", driver.event()),
        "cuCtxGetCurrent": lambda: ("cuCtxGetCurrent", byref(out)),
        "cuMemGetInfo": lambda: ("cuMemGetInfo_v2", byref(two[0]), byref(two[1])),
        "cuMemAlloc": lambda: ("cuMemAlloc_v2", byref(out), size),
        "cuMemAlloc, 64 MiB": lambda: ("cuMemAlloc_v2", byref(out), c_size_t(64 << 20)),
        "cuMemFree": lambda: ("cuMemFree_v2", driver.memory()),
        "cuMemHostAlloc": lambda: ("cuMemHostAlloc", byref(out), size, c_uint(0)),
        "cuMemFreeHost": lambda: ("cuMemFreeHost", driver.pinned()),
        "cuMemAllocAsync, idle": lambda: ("cuMemAllocAsync", byref(out), size, idle),
        "cuMemAddressReserve": lambda: (
            "cuMemAddressReserve", byref(out), page, c_size_t(0), c_uint64(0), c_uint64(0)),
        "cuMemCreate": lambda: ("cuMemCreate", byref(out), page, driver.physical(), c_uint64(0)),
        "cuMemMap": lambda: ("cuMemMap", reserved(), page, c_size_t(0), created(), c_uint64(0)),
        "cuMemSetAccess": lambda: ("cuMemSetAccess", mapped(), page, access, c_size_t(1)),
        "cuMemUnmap": lambda: ("cuMemUnmap", mapped(), page),
        "cuMemRelease": lambda: ("cuMemRelease", created()),
        "cuMemAddressFree": lambda: ("cuMemAddressFree", reserved(), page),
        "cuModuleLoadData": lambda: ("cuModuleLoadData", byref(out), PTX),
        "cuModuleGetFunction, first": lambda: (
            "cuModuleGetFunction", byref(out), driver.module(), b"increment"),
        "cuModuleUnload": lambda: ("cuModuleUnload", driver.module()),
        "cuLaunchKernel, idle, first": lambda: driver.launch(driver.function(), memory, idle),
        "cuLaunchKernel, idle": lambda: driver.launch(warm, memory, idle),
        "cuMemsetD8, pageable wait": lambda: ("cuMemsetD8_v2", memory, ctypes.c_ubyte(0), size),
        "cuMemsetD8Async, idle": lambda: ("cuMemsetD8Async", memory, ctypes.c_ubyte(0), size, idle),
        "cuMemcpyHtoD": lambda: ("cuMemcpyHtoD_v2", memory, pageable, size),
        "cuMemcpyDtoH": lambda: ("cuMemcpyDtoH_v2", pageable, memory, size),
        "cuMemcpyHtoDAsync, pageable, idle": lambda: (
            "cuMemcpyHtoDAsync_v2", memory, pageable, size, idle),
        "cuMemcpyDtoHAsync, pageable, idle": lambda: (
            "cuMemcpyDtoHAsync_v2", pageable, memory, size, idle),
        "cuMemcpyHtoDAsync, page-locked, idle": lambda: (
            "cuMemcpyHtoDAsync_v2", memory, pinned, size, idle),
        "cuMemcpyDtoHAsync, page-locked, idle": lambda: (
            "cuMemcpyDtoHAsync_v2", pinned, memory, size, idle),
        "cuLaunchHostFunc, idle": lambda: ("cuLaunchHostFunc", idle, nothing, None),
        "cuGraphInstantiate": lambda: (
            "cuGraphInstantiateWithFlags", byref(out), graph, c_uint64(0)),
        "cuGraphLaunch, idle": lambda: ("cuGraphLaunch", executable, other),
        "cuGraphExecDestroy": lambda: (
            "cuGraphExecDestroy",
            driver.made("cuGraphInstantiateWithFlags", graph, c_uint64(0))),
        "cuCtxSynchronize": lambda: ("cuCtxSynchronize",),
    }, warm, memory, pinned, executable, recorded, four


def told(question, answer):
    print(f"{question}: {answer}", flush=True)


def captures(driver):
    """What a capture forbids to the thread that it is in."""
    known, warm, memory, pinned, executable, recorded, four = calls(driver)
    held, nothing = driver.stream(), HOST_FUNCTION(lambda _: None)
    pageable = ctypes.create_string_buffer(4096)
    known |= {
        "cuStreamQuery, captured": lambda: ("cuStreamQuery", held),
        "cuStreamSynchronize, captured": lambda: ("cuStreamSynchronize", held),
        "cuGraphLaunch, captured": lambda: ("cuGraphLaunch", executable, held),
        "cuLaunchHostFunc, captured": lambda: ("cuLaunchHostFunc", held, nothing, None),
        "cuLaunchKernel, captured": lambda: driver.launch(warm, memory, held),
        "cuLaunchKernel, captured, first": lambda: driver.launch(driver.function(), memory, held),
        "cuLaunchKernel, stream 0": lambda: driver.launch(warm, memory, None),
        "cuEventRecord, captured": lambda: ("cuEventRecord", driver.event(), held),
        "cuMemcpyHtoDAsync, pageable, captured": lambda: (
            "cuMemcpyHtoDAsync_v2", memory, pageable, four, held),
        "cuMemcpyDtoHAsync, pageable, captured": lambda: (
            "cuMemcpyDtoHAsync_v2", pageable, memory, four, held),
        "cuMemAllocAsync, captured": lambda: ("cuMemAllocAsync", byref(Handle()), four, held),
        "cuStreamWaitEvent, captured, of outside": lambda: (
            "cuStreamWaitEvent", held, recorded, c_uint(0)),
    }
    for mode, code in (("global", GLOBAL), ("thread local", THREAD_LOCAL), ("relaxed", RELAXED)):
        for name, prepare in known.items():
            held = driver.stream()
            arguments = prepare()
            driver.must("cuStreamBeginCapture_v2", held, c_int(code))
            answer = driver.call(*arguments)
            status, graph = c_int(), Handle()
            asked = driver.call("cuStreamIsCapturing", held, byref(status))
            after = ["none", "active", "invalidated"][status.value] if asked == "SUCCESS" else asked
            end = driver.call("cuStreamEndCapture", held, byref(graph))
            told(f"{mode} capture, {name}", f"{answer}, then {after}, end {end}")
            driver.call("cuCtxSynchronize")


def rooms(driver):
    """What is said to room for nothing, and for less than there is."""
    memory = driver.memory()
    function = driver.warm_function(memory)
    one, _ = driver.executable(function, memory)
    none = driver.made("cuGraphCreate", c_uint(0))
    for graph, size in ((none, "empty"), (one, "of one node")):
        for name in ("cuGraphGetNodes", "cuGraphGetRootNodes"):
            for room in (0, 1, 2):
                count, nodes = c_size_t(room), (c_void_p * 2)()
                answer = driver.call(name, graph, nodes, byref(count))
                told(f"{name}, {size}, room {room}", f"{answer}, {count.value}")
        for room in (0, 1):
            count, starts, ends = c_size_t(room), (c_void_p * 2)(), (c_void_p * 2)()
            answer = driver.call("cuGraphGetEdges", graph, starts, ends, byref(count))
            told(f"cuGraphGetEdges, {size}, room {room}", f"{answer}, {count.value}")
        count = c_size_t(7)
        answer = driver.call("cuGraphGetEdges", graph, None, None, byref(count))
        told(f"cuGraphGetEdges, {size}, counted", f"{answer}, {count.value}")
    total, free = c_size_t(), c_size_t()
    driver.must("cuMemGetInfo_v2", byref(free), byref(total))
    page = 2 << 20
    for what, size in (
        ("no multiple of the granularity", page + 4096),
        ("more than there is", (total.value // page + 1) * page),
        ("much more than there is", 1 << 50),
        ("nothing", 0),
    ):
        handle = Handle()
        answer = driver.call(
            "cuMemCreate", byref(handle), c_size_t(size), driver.physical(), c_uint64(0))
        told(f"cuMemCreate, {what}", answer)
        answer = driver.call("cuMemAlloc_v2", byref(handle), c_size_t(size))
        told(f"cuMemAlloc, {what}", answer)
        answer = driver.call("cuMemHostAlloc", byref(handle), c_size_t(size), c_uint(0))
        if size < 1 << 40 and size > page * 2:
            continue  # The host may have that much.
        told(f"cuMemHostAlloc, {what}", answer)
    # A child graph in a capture, in the steps that a program can make by itself.
    stream = driver.stream()
    driver.must("cuStreamBeginCapture_v2", stream, c_int(THREAD_LOCAL))
    status, graph, node = c_int(), Handle(), Handle()
    before, count = Handle(), c_size_t()
    asked = driver.call(
        "cuStreamGetCaptureInfo_v2", stream, byref(status), None, byref(graph), byref(before),
        byref(count))
    added = driver.call(
        "cuGraphAddChildGraphNode", byref(node), graph, before, count, one)
    updated = driver.call(
        "cuStreamUpdateCaptureDependencies", stream, byref(node), c_size_t(1), c_uint(1))
    ended = driver.call("cuStreamEndCapture", stream, byref(graph))
    told("a child graph in a capture", f"{asked}, {added}, {updated}, end {ended}")


class Held:
    """A stream that a host function holds back until the end of the `with`."""

    def __init__(self, driver):
        self.driver, self.stream = driver, driver.stream()
        self.opened, self.reached = threading.Event(), threading.Event()
        self.function = HOST_FUNCTION(self.hold)

    def hold(self, _):
        self.reached.set()
        self.opened.wait(20)

    def __enter__(self):
        self.driver.must("cuLaunchHostFunc", self.stream, self.function, None)
        self.reached.wait(5)
        return self

    def __exit__(self, *_):
        self.opened.set()
        self.driver.must("cuCtxSynchronize")

    def ask(self, question, arguments):
        """Whether a call returns while the stream is held, and what it gives."""
        answers = []

        def call():
            self.driver.enter()
            answers.append(self.driver.call(*arguments))

        asker = threading.Thread(target=call)
        asker.start()
        asker.join(PATIENCE)
        waited = asker.is_alive()
        self.opened.set()
        asker.join(20)
        told(f"while a stream is held, {question}", f"{'waits' if waited else 'returns'}, {answers}")


def waits(driver):
    """Which calls wait for a stream that a host function holds back."""
    known, warm, memory, *_ = calls(driver)
    for name, prepare in known.items():
        arguments = prepare()
        with Held(driver) as held:
            driver.must(*driver.launch(warm, memory, held.stream))
            held.ask(name, arguments)
    large = driver.memory(64 << 20)
    for size in (16, 64 << 10, 1 << 20, 64 << 20):
        pageable = ctypes.create_string_buffer(size)
        for name, operands in (
            ("cuMemcpyHtoDAsync_v2", (large, pageable)),
            ("cuMemcpyDtoHAsync_v2", (pageable, large)),
        ):
            with Held(driver) as held:
                held.ask(f"{name}, {size} pageable bytes, on it", (
                    name, *operands, c_size_t(size), held.stream))
    event, fresh = driver.event(), driver.function()
    for name, arguments in (
        ("cuStreamSynchronize, on it", lambda stream: ("cuStreamSynchronize", stream)),
        ("cuStreamDestroy, on it", lambda stream: ("cuStreamDestroy_v2", stream)),
        ("cuEventRecord, on it", lambda stream: ("cuEventRecord", event, stream)),
        ("cuLaunchKernel, first, on it", lambda stream: driver.launch(fresh, memory, stream)),
    ):
        with Held(driver) as held:
            held.ask(name, arguments(held.stream))
    ran = threading.Event()
    told_of = HOST_FUNCTION(lambda _: ran.set())
    other = driver.stream()
    with Held(driver):
        driver.must("cuLaunchHostFunc", other, told_of, None)
        runs = "runs" if ran.wait(PATIENCE) else "does not run"
    told("while a stream is held, a host function of another one", runs)


FAMILIES = {"captures": captures, "rooms": rooms, "waits": waits}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--library", default="libcuda.so.1", help="the driver to ask")
    parser.add_argument("--family", choices=FAMILIES, help="these questions alone, in this process")
    arguments = parser.parse_args()
    if arguments.family:
        FAMILIES[arguments.family](Driver(arguments.library))
        sys.exit()
    for family in FAMILIES:
        again = [sys.executable, __file__, "--library", arguments.library, "--family", family]
        done = subprocess.run(again, timeout=120, text=True, stderr=subprocess.PIPE)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            told(f"the questions about {family} ended", f"{done.returncode} {last}")
