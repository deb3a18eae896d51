"""PyTorch's own wheel over our runtime library: devices, memory, copies, streams, events, graphs.
Run by `cargo xtask conformance torch`, on two devices of 8 GiB."""

import sys
import traceback

try:
    import torch
except ImportError:
    print("skipped: torch: this Python does not have it")
    sys.exit()

if torch.version.cuda is None:
    print("skipped: torch: the one of this Python was built without CUDA")
    sys.exit()

MIB = 1 << 20
GIB = 1 << 30
DEVICES = ["cuda:0", "cuda:1"]


def numbers(count):
    return torch.arange(count, dtype=torch.float32)


def same(tensor, expected):
    return torch.equal(tensor.cpu(), expected)


def raised(error, call):
    try:
        call()
    except error as raised:
        return str(raised)
    raise AssertionError(f"no {error.__name__}")


def test_there_are_two_devices():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1


def test_a_device_says_what_it_is():
    properties = torch.cuda.get_device_properties(0)
    assert properties.total_memory == 8 * GIB
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(0) == (8, 0)
    assert properties.warp_size == 32 and properties.multi_processor_count > 0
    assert properties.name == torch.cuda.get_device_name(0) == "Sluice software GPU 0"
    assert properties.uuid != torch.cuda.get_device_properties(1).uuid
    assert torch.cuda.can_device_access_peer(0, 1)


def test_memory_is_counted_where_it_is_taken():
    free, total = torch.cuda.mem_get_info(1)
    assert total == 8 * GIB and free <= total
    before = torch.cuda.memory_allocated(1)
    tensor = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda:1")
    assert torch.cuda.memory_allocated(1) == before + 64 * MIB
    assert torch.cuda.mem_get_info(1)[0] <= free - 64 * MIB
    del tensor
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated(1) == before
    assert torch.cuda.mem_get_info(1)[0] == free


def test_running_out_of_memory_is_an_error_that_passes():
    message = raised(
        torch.OutOfMemoryError, lambda: torch.empty(9 * GIB, dtype=torch.uint8, device="cuda")
    )
    assert "8.00 GiB" in message, message
    assert same(numbers(10).cuda(), numbers(10))


def test_a_pool_of_its_own_has_its_own_segments():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        tensor = torch.empty(MIB, device="cuda")
    assert [segment["device"] for segment in pool.snapshot()] == [0] and tensor.is_cuda


def test_segments_may_grow():
    torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
    try:
        tensor = torch.zeros(64 * MIB, dtype=torch.uint8, device="cuda")
        assert any(segment["is_expandable"] for segment in torch.cuda.memory_snapshot())
        assert same(tensor[:100], torch.zeros(100, dtype=torch.uint8))
        del tensor
        torch.cuda.empty_cache()
    finally:
        torch._C._accelerator_setAllocatorSettings("expandable_segments:False")


def test_copies_keep_values():
    for device in DEVICES:
        tensor = numbers(1000).to(device)
        other = torch.empty_like(tensor)
        other.copy_(tensor)
        assert same(other, numbers(1000)) and same(tensor[10:20], numbers(20)[10:])
    assert same(numbers(1000).to("cuda:0").to("cuda:1"), numbers(1000))


def test_memory_is_filled_with_zeros():
    tensor = numbers(1000).cuda()
    assert same(tensor.zero_(), torch.zeros(1000))


def test_page_locked_memory_is_copied_without_waiting():
    host = numbers(1000).pin_memory()
    assert host.is_pinned() and not numbers(1000).is_pinned()
    tensor = host.to("cuda", non_blocking=True)
    back = torch.empty_like(host).pin_memory()
    back.copy_(tensor, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, host)


def test_streams_wait_for_each_other():
    lowest, highest = torch.cuda.Stream.priority_range()
    assert highest < lowest
    first, second = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    assert first != second and second.priority == -1
    with torch.cuda.stream(first):
        tensor = numbers(1000).pin_memory().to("cuda", non_blocking=True)
    second.wait_stream(first)
    with torch.cuda.stream(second):
        copied = torch.empty_like(tensor).copy_(tensor)
        tensor.record_stream(second)
    second.synchronize()
    assert second.query() and same(copied, numbers(1000))
    external = torch.cuda.ExternalStream(first.cuda_stream)
    external.synchronize()
    assert external.query()


def test_events_measure_and_order():
    stream = torch.cuda.Stream()
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begun.record(stream)
    with torch.cuda.stream(stream):
        tensor = torch.zeros(MIB, device="cuda")
    ended.record(stream)
    torch.cuda.current_stream().wait_event(ended)
    ended.synchronize()
    assert begun.query() and ended.query() and begun.elapsed_time(ended) >= 0
    assert same(tensor[:10], torch.zeros(10))


def test_a_captured_graph_copies_when_it_is_replayed():
    source = numbers(1000).cuda()
    target = torch.empty_like(source)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        between = torch.empty_like(source).copy_(source)
        target.copy_(between)
    source.copy_(numbers(1000) + 5)
    graph.replay()
    torch.cuda.synchronize()
    assert same(target, numbers(1000) + 5)


def test_the_runtime_library_is_ours():
    runtime = torch.cuda.cudart()
    assert runtime.cudaMemGetInfo(0)[1] == 8 * GIB


def test_an_operation_without_ptx_is_an_error_that_passes():
    # The wheel's kernels are machine code, and nothing else stops them.
    tensor = numbers(10).cuda()
    message = raised(RuntimeError, lambda: tensor + 1)
    assert "no kernel image is available" in message, message
    assert same(tensor, numbers(10))


def test_memory_of_processes_is_refused_by_name():
    tensor = numbers(10).cuda()
    message = raised(RuntimeError, tensor.untyped_storage()._share_cuda_)
    assert "not supported" in message, message


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
    print(f"torch {torch.__version__}")
    print(f"test result: {said}. {len(tests) - failed} passed; {failed} failed")
    sys.exit(1 if failed else 0)


main()
