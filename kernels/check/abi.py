"""The structs of include/abi.cuh."""

from ctypes import Structure, c_double, c_int32, c_int64, c_uint64

MAX_DIMS = 8
Dims = c_int64 * MAX_DIMS


def dims(values):
    return Dims(*values, *[0] * (MAX_DIMS - len(values)))


class Reduce(Structure):
    _fields_ = [
        ("output", c_uint64), ("input", c_uint64), ("outputs", c_int64), ("reduced", c_int64),
        ("output_dims", c_int32), ("reduced_dims", c_int32), ("lanes", c_int32), ("parts", c_int32),
        ("states", c_uint64), ("joins", c_int32), ("across", c_int32),
        ("output_sizes", Dims), ("output_strides", Dims),
        ("reduced_sizes", Dims), ("reduced_strides", Dims),
    ]


class Matmul(Structure):
    _fields_ = [
        ("c", c_uint64), ("a", c_uint64), ("b", c_uint64),
        *[(name, c_int64) for name in "batches m n k a_row a_col b_row b_col".split()],
        ("batch_dims", c_int32), ("parts", c_int32), ("tile", c_int32),
        ("threads", c_int32),
        ("batch_sizes", Dims), ("a_batch", Dims), ("b_batch", Dims),
    ]


class Rows(Structure):
    _fields_ = [
        ("out", c_uint64), ("a", c_uint64), ("b", c_uint64),
        ("rows", c_int64), ("cols", c_int64), ("inner", c_int64),
        ("lanes", c_int32), ("kept_bytes", c_int32),
    ]


class NormalizedRows(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in "out x grad weight bias statistics".split()],
        ("rows", c_int64), ("cols", c_int64), ("epsilon", c_double),
        ("lanes", c_int32), ("kept_bytes", c_int32), ("wide", c_int32), ("centered", c_int32),
    ]


class NormParameters(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in "weight bias x grad statistics sums".split()],
        ("rows", c_int64), ("cols", c_int64), ("parts", c_int32), ("joins", c_int32),
        ("wide", c_int64),
    ]


class Index(Structure):
    _fields_ = [
        ("out", c_uint64), ("source", c_uint64), ("index", c_uint64),
        *[(name, c_int64) for name in "outer size count inner".split()],
    ]


class Random(Structure):
    _fields_ = [
        ("out", c_uint64), ("numel", c_int64), ("seed", c_uint64), ("offset", c_uint64),
        ("a", c_double), ("b", c_double), ("low", c_int64), ("high", c_int64),
        ("state", c_uint64), ("input", c_uint64),
    ]


class Scan(Structure):
    _fields_ = [
        ("out", c_uint64), ("input", c_uint64), ("totals", c_uint64),
        ("outer", c_int64), ("size", c_int64), ("inner", c_int64),
        ("parts", c_int32), ("joins", c_int32),
    ]


Axes = c_int64 * 3


class Convolution(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in "x weight y bias".split()],
        *[(name, c_int64) for name in "batch groups in_channels out_channels".split()],
        *[(name, Axes) for name in "input kernel output stride padding dilation tap_step".split()],
        *[(name, c_int64) for name in "rows columns parts".split()],
        ("tile_rows", c_int32), ("tile_columns", c_int32), ("threads", c_int64),
    ]


class Sort(Structure):
    # `source` is the struct's `from`, which is a word of Python.
    _fields_ = [
        ("out", c_uint64), ("input", c_uint64), ("source", c_uint64), ("to", c_uint64),
        *[(name, c_int64) for name in "rows size first count width run descending".split()],
    ]


class Radix(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in (
            "out input from_keys from_places to_keys to_places counts totals from_selected to_selected"
        ).split()],
        *[(name, c_int64) for name in "rows size first count parts part jobs".split()],
        ("known", c_uint64),
        *[(name, c_int32) for name in "shift descending classes reserved".split()],
    ]


class Search(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in "out sorted values sorter".split()],
        *[(name, c_int64) for name in "rows size count right".split()],
    ]


class Range(Structure):
    _fields_ = [
        ("out", c_uint64), ("numel", c_int64), ("start", c_double), ("step", c_double),
        ("istart", c_int64), ("istep", c_int64),
    ]


MAX_PARTS = 64


class Cat(Structure):
    _fields_ = [
        ("out", c_uint64), ("rows", c_int64), ("row_bytes", c_int64),
        ("count", c_int32), ("unit", c_int32),
        ("parts", c_uint64 * MAX_PARTS), ("starts", c_int64 * MAX_PARTS),
        ("widths", c_int64 * MAX_PARTS),
        ("first_blocks", c_int32 * (MAX_PARTS + 2)),
    ]


class WindowAxis(Structure):
    _fields_ = [(name, c_int64) for name in "input output kernel stride padding dilation".split()]


class Pool(Structure):
    _fields_ = [
        ("out", c_uint64), ("places", c_uint64), ("input", c_uint64),
        *[(name, c_int64) for name in "count divisor counts_padding".split()],
        ("axes", WindowAxis * 3),
    ]


class ResampleAxis(Structure):
    _fields_ = [
        *[(name, c_int64) for name in "input output before".split()], ("scale", c_double),
        ("rule", c_int32), ("aligned", c_int32),
    ]


class Resample(Structure):
    _fields_ = [
        ("out", c_uint64), ("input", c_uint64), ("count", c_int64), ("axes", ResampleAxis * 3),
    ]


class Attention(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in "out log_sum delta dq dk dv q k v grad mask state seed offset".split()],
        *[(name, c_int64) for name in "batch heads kv_heads queries keys depth columns jobs".split()],
        *[(f"{name}_strides", c_int64 * 3) for name in "q k v grad".split()],
        ("mask_strides", c_int64 * 4), ("scale", c_double), ("keep", c_double),
        ("causal", c_int32), ("mask_kind", c_int32),
    ]
