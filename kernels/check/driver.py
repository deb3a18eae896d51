"""A CUDA driver, NVIDIA's or the software one, as far as the checks need it."""

import ctypes
import pathlib
import re
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import torch

PTX = pathlib.Path(__file__).parent.parent / "ptx"


class Driver:
    """One device, and all modules of kernels/ptx loaded on it."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.functions = {}
        self.launched = set()
        self.call("cuInit", 0)
        device, context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)
        for path in sorted(PTX.glob("*.ptx")):
            self.load(path.read_text())

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(result, byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else result}")

    def load(self, text):
        module = c_void_p()
        self.call("cuModuleLoadData", byref(module), text.encode() + b"\0")
        for entry in re.findall(r"\.entry (\w+)\(", text):
            function = c_void_p()
            self.call("cuModuleGetFunction", byref(function), module, entry.encode())
            self.functions[entry] = function

    def launch(self, entry, *parameters, grid=(2, 1, 1), block=(128, 1, 1), shared=0):
        """Runs a kernel to its end. Small grids by default: then the loops are tested too."""
        pointers = (c_void_p * len(parameters))(*[ctypes.addressof(p) for p in parameters])
        function = self.functions[entry]
        self.call("cuLaunchKernel", function, *grid, *block, shared, None, pointers, None)
        self.call("cuCtxSynchronize")
        self.launched.add(entry)

    def memory(self, tensor):
        return Memory(self, tensor)


class Memory:
    """Device memory with the bytes of a CPU tensor's storage."""

    def __init__(self, driver, tensor):
        self.driver = driver
        self.tensor = tensor
        self.bytes = tensor.untyped_storage().nbytes()
        self.base = c_uint64()
        driver.call("cuMemAlloc_v2", byref(self.base), c_size_t(max(self.bytes, 1)))
        source = c_void_p(tensor.untyped_storage().data_ptr())
        driver.call("cuMemcpyHtoD_v2", self.base, source, c_size_t(self.bytes))

    @property
    def address(self):
        """Of the tensor's first element."""
        return self.base.value + self.tensor.storage_offset() * self.tensor.element_size()

    def read(self):
        """A tensor like the one that this was made of, with what is in the memory now."""
        storage = torch.empty(self.bytes, dtype=torch.uint8)
        target = c_void_p(storage.data_ptr())
        self.driver.call("cuMemcpyDtoH_v2", target, self.base, c_size_t(self.bytes))
        tensor = self.tensor
        typed = torch.empty(0, dtype=tensor.dtype)
        typed.set_(storage.untyped_storage())
        return typed.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def __del__(self):
        self.driver.library.cuMemFree_v2(self.base)
