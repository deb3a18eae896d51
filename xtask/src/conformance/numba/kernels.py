"""Kernels of numba-cuda, each checked against numpy. Run by `cargo xtask conformance numba`."""

import math
import sys
import traceback
import warnings

import numpy as np
from numba import cuda, float32

# Grids are small, and the driver links: no need to say so.
warnings.simplefilter("ignore")

N = 10_000
BLOCKS = (N + 127) // 128
RANDOM = np.random.default_rng(7)


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def block_sums(x, out):
    shared = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    width = 64
    while width > 0:
        if t < width:
            shared[t] += shared[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        out[cuda.blockIdx.x] = shared[0]


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit(device=True)
def wave(x):
    return math.sin(x) * math.exp(-x)


@cuda.jit
def waves(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = wave(x[i])


@cuda.jit
def matmul(a, b, out):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        out[row, column] = total


def numbers(*shape):
    return RANDOM.random(shape, dtype=np.float32)


def test_elements_of_vectors_are_added():
    x, y = numbers(N), numbers(N)
    out = np.zeros_like(x)
    add[BLOCKS, 128](x, y, out)
    assert np.array_equal(out, x + y)


def test_blocks_sum_in_shared_memory():
    x, sums = numbers(N), np.zeros(BLOCKS, np.float32)
    block_sums[BLOCKS, 128](x, sums)
    expected = np.add.reduceat(x.astype(np.float64), np.arange(0, N, 128))
    assert np.allclose(sums, expected, rtol=1e-5)


def test_threads_count_with_atomic_operations():
    values = RANDOM.integers(0, 16, N).astype(np.int32)
    bins = np.zeros(16, np.int32)
    histogram[BLOCKS, 128](values, bins)
    assert np.array_equal(bins, np.bincount(values, minlength=16))


def test_functions_of_the_device_and_of_mathematics_are_called():
    x = numbers(N).astype(np.float64)
    out = np.zeros_like(x)
    waves[8, 64](x, out)
    assert np.allclose(out, np.sin(x) * np.exp(-x), rtol=1e-12)


def test_grids_have_two_dimensions():
    a, b = numbers(33, 20), numbers(20, 17)
    out = np.zeros((33, 17), np.float32)
    matmul[(3, 2), (16, 16)](a, b, out)
    assert np.allclose(out, a @ b, rtol=1e-5)


def test_streams_order_copies_and_launches():
    streams = [cuda.stream() for _ in range(3)]
    hosts = [numbers(N) for _ in streams]
    results = []
    for stream, host in zip(streams, hosts):
        x = cuda.to_device(host, stream)
        out = cuda.device_array_like(x, stream)
        add[BLOCKS, 128, stream](x, x, out)
        results.append(out.copy_to_host(stream=stream))
    for stream, host, result in zip(streams, hosts, results):
        stream.synchronize()
        assert np.array_equal(result, host + host)


def test_a_device_says_what_it_is():
    device = cuda.get_current_device()
    assert device.compute_capability >= (7, 5) and device.WARP_SIZE == 32


def main():
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    failed = 0
    for test in tests:
        try:
            test()
        except Exception:
            failed += 1
            print(f"{test.__name__} fails")
            traceback.print_exc()
    said = "FAILED" if failed else "ok"
    print(f"test result: {said}. {len(tests) - failed} passed; {failed} failed")
    sys.exit(1 if failed else 0)


main()
