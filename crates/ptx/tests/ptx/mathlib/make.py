"""Makes what the tests of CUDA's mathematical functions run, and what they expect.

    python3 make.py NVCC LIBNVRTC     # nvcc 13.0.88, libnvrtc.so.13 of 13.0.88; mpmath 1.3

`functions.cu` has a kernel for each function. `nvcc.ptx` is what nvcc makes of it, and `nvrtc.ptx` what
NVRTC makes otherwise. `expected.txt` has for each function its name, type and documented error, and then points
with the exact value rounded to 64 bits, all as bits in hexadecimal: mpmath computes them with hundreds
of digits. The errors are those of the CUDA C++ Programming Guide, "Mathematical Functions", in units
of the last place; `|` separates from it an absolute one, where the guide gives that beside it.
"""

import ctypes
import os
import random
import re
import struct
import subprocess
import sys

import mpmath
from mpmath import mp, mpf

FOLDER = os.path.dirname(os.path.abspath(__file__))
mp.prec = 400
POINTS = 64
INF, NAN = float("inf"), float("nan")


def f32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return INF if x > 0 else -INF


def round_to(kind, x):
    """A number as the type has it."""
    if kind == "f64" or x != x or x in (INF, -INF):
        return x
    if kind == "f32":
        return f32(x)
    if kind == "f16":
        return struct.unpack("e", struct.pack("e", x))[0]
    bits = struct.unpack("I", struct.pack("f", x))[0] & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", bits))[0]


def to_double(x):
    """The nearest double; infinite and denormal results too."""
    if isinstance(x, (int, float)):
        return float(x)
    if mp.isnan(x):
        return NAN
    if mp.isinf(x):
        return INF if x > 0 else -INF
    if abs(x) >= mpf(2) ** 1024 - mpf(2) ** 970:
        return INF if x > 0 else -INF
    if abs(x) < mpf(2) ** -1022:
        scaled = int(mp.nint(x * mpf(2) ** 1074))
        return scaled * 5e-324
    return float(x)


def integer(x, rule):
    x = mpf(x)
    below = mp.floor(x)
    if rule == "trunc":
        return below if x >= 0 else mp.ceil(x)
    if rule == "away":
        return mp.floor(x + mpf(0.5)) if x >= 0 else mp.ceil(x - mpf(0.5))
    if rule == "even":
        if x - below == mpf(0.5):
            return below if int(below) % 2 == 0 else below + 1
        return mp.floor(x + mpf(0.5))


def fmod(x, y):
    x, y = mpf(x), mpf(y)
    return x - y * integer(x / y, "trunc")


def remainder(x, y):
    x, y = mpf(x), mpf(y)
    return x - y * integer(x / y, "even")


def signed_cbrt(x):
    return mp.cbrt(x) if x >= 0 else -mp.cbrt(-x)


def erfinv(x):
    return mp.erfinv(x)


def logb(x):
    return int(mp.floor(mp.log(abs(mpf(x)), 2)))


def norm(*xs):
    return mp.sqrt(sum(mpf(x) ** 2 for x in xs))


def step(kind):
    def next_after(x, y):
        code, word = ("f", "i") if kind == "f32" else ("d", "q")
        if x == y:
            return y
        if x == 0:
            tiny = struct.unpack(code, struct.pack(word, 1))[0]
            return tiny if y > 0 else -tiny
        bits = struct.unpack(word, struct.pack(code, x))[0]
        bits += 1 if (y > x) == (x > 0) else -1
        return struct.unpack(code, struct.pack(word, bits))[0]
    return next_after


def many_digits(function):
    """Arguments far from zero lose a thousand bits."""
    def precise(x):
        with mp.workprec(1400):
            return function(mpf(x))
    return precise


def lgamma(x):
    return mp.log(abs(mp.gamma(x)))


def ncdfinv(p):
    return -mp.sqrt(2) * mp.erfinv(1 - 2 * mpf(p))


def plain(low, high):
    return lambda draw: draw.uniform(low, high)


def spread(low, high, signs=True):
    """Of all magnitudes between powers of two."""
    def draw_one(draw):
        x = 2.0 ** draw.uniform(low, high)
        return -x if signs and draw.random() < 0.5 else x
    return draw_one


def mixed(*ranges):
    return lambda draw: ranges[draw.randrange(len(ranges))](draw)


def whole(low, high):
    return lambda draw: float(draw.randint(low, high))


def table():
    """(name, expression in x, y, z, w, exact function, ranges, errors of f32 and f64, specials)"""
    rows = []

    def row(name, function, ranges, single, double, *, call=None, specials=None, kinds=("f32", "f64")):
        for kind, ulps in zip(("f32", "f64"), (single, double)):
            if ulps is None or kind not in kinds:
                continue
            suffix = "f" if kind == "f32" else ""
            expression = (call or name + "@(" + ", ".join("xyzw"[: len(ranges)]) + ")").replace("@", suffix)
            rows.append((name + suffix, kind, expression, function, ranges, str(ulps), specials or {}))

    wide = mixed(plain(-8, 8), spread(-30, 30))
    odd = {0.0: 0.0, NAN: NAN}
    row("sin", many_digits(mp.sin), [mixed(plain(-10, 10), spread(-20, 100))], 2, 2, specials={**odd, INF: NAN, -INF: NAN})
    row("cos", many_digits(mp.cos), [mixed(plain(-10, 10), spread(-20, 100))], 2, 2, specials={0.0: 1.0, INF: NAN, NAN: NAN})
    row("tan", many_digits(mp.tan), [mixed(plain(-10, 10), spread(-20, 100))], 4, 2, specials={**odd, INF: NAN})
    for part, at in (("sin", 0), ("cos", 1)):
        exact = many_digits(mp.sin if at == 0 else mp.cos)
        row("sincos_" + part, exact, [mixed(plain(-10, 10), spread(-20, 100))], 2, 2, call="T p, q; sincos@(x, &p, &q); r = " + "pq"[at])
        exact = mp.sinpi if at == 0 else mp.cospi
        row("sincospi_" + part, exact, [mixed(plain(-10, 10), spread(-20, 20))], 1, 2, call="T p, q; sincospi@(x, &p, &q); r = " + "pq"[at])
    row("sinpi", mp.sinpi, [mixed(plain(-10, 10), spread(-20, 20))], 1, 2, specials={**odd, INF: NAN})
    row("cospi", mp.cospi, [mixed(plain(-10, 10), spread(-20, 20))], 1, 2, specials={0.0: 1.0, INF: NAN})
    unit = mixed(plain(-1, 1), spread(-25, -1))
    row("asin", mp.asin, [unit], 2, 2, specials={**odd, 2.0: NAN, 1.0: mp.pi / 2})
    row("acos", mp.acos, [unit], 2, 2, specials={1.0: 0.0, 2.0: NAN, -1.0: mp.pi})
    row("atan", mp.atan, [wide], 2, 2, specials={**odd, INF: mp.pi / 2, -INF: -mp.pi / 2})
    row("atan2", mp.atan2, [wide, wide], 3, 2)
    row("sinh", mp.sinh, [mixed(plain(-80, 80), spread(-25, 0))], 3, 2, specials={**odd, INF: INF, -INF: -INF})
    row("cosh", mp.cosh, [mixed(plain(-80, 80), spread(-25, 0))], 2, 1, specials={0.0: 1.0, INF: INF, -INF: INF})
    row("tanh", mp.tanh, [mixed(plain(-10, 10), spread(-25, 0))], 2, 1, specials={**odd, INF: 1.0, -INF: -1.0})
    row("asinh", mp.asinh, [wide], 3, 3, specials={**odd, INF: INF, -INF: -INF})
    row("acosh", mp.acosh, [mixed(plain(1, 8), spread(0, 60, False))], 4, 3, specials={1.0: 0.0, 0.5: NAN, INF: INF})
    row("atanh", mp.atanh, [unit], 3, 2, specials={**odd, 1.0: INF, -1.0: -INF, 2.0: NAN})
    row("exp", mp.exp, [mixed(plain(-87, 88), spread(-25, 0))], 1, 1, specials={0.0: 1.0, INF: INF, -INF: 0.0, NAN: NAN, 1e4: INF, -1e4: 0.0})
    row("exp2", lambda x: mpf(2) ** mpf(x), [mixed(plain(-126, 127), spread(-25, 0))], 2, 1, specials={0.0: 1.0, INF: INF, -INF: 0.0})
    row("exp10", lambda x: mpf(10) ** mpf(x), [mixed(plain(-37, 38), spread(-25, 0))], 2, 1, specials={0.0: 1.0, INF: INF, -INF: 0.0})
    row("expm1", mp.expm1, [mixed(plain(-40, 80), spread(-25, 0))], 1, 1, specials={**odd, INF: INF, -INF: -1.0})
    positive = mixed(plain(0, 10), spread(-120, 120, False))
    logs = {0.0: -INF, 1.0: 0.0, -1.0: NAN, INF: INF, NAN: NAN}
    row("log", mp.log, [positive], 1, 1, specials=logs)
    row("log2", lambda x: mp.log(x, 2), [positive], 1, 1, specials=logs)
    row("log10", mp.log10, [positive], 2, 1, specials=logs)
    row("log1p", mp.log1p, [mixed(plain(-1, 10), spread(-25, 60, False))], 1, 1, specials={**odd, -1.0: -INF, -2.0: NAN, INF: INF})
    power = lambda x, y: mpf(x) ** mpf(y)
    row("pow", power, [mixed(plain(0, 10), spread(-10, 10, False)), plain(-8, 8)], 4, 2)
    row("pow_whole", power, [plain(-9, 9), whole(-20, 20)], 4, 2, call="pow@(x, y)")
    row("sqrt", mp.sqrt, [positive], 0, 0, specials={0.0: 0.0, -1.0: NAN, INF: INF})
    row("rsqrt", lambda x: 1 / mp.sqrt(x), [positive], 2, 1, specials={0.0: INF, -1.0: NAN, INF: 0.0})
    row("cbrt", signed_cbrt, [wide], 1, 1, specials={**odd, INF: INF, -INF: -INF})
    row("rcbrt", lambda x: 1 / signed_cbrt(mpf(x)), [wide], 1, 1, specials={0.0: INF, INF: 0.0})
    big = mixed(plain(-10, 10), spread(-60, 60))
    row("hypot", norm, [big] * 2, 3, 2)
    row("rhypot", lambda *xs: 1 / norm(*xs), [big] * 2, 2, 1)
    row("norm3d", norm, [big] * 3, 3, 2)
    row("rnorm3d", lambda *xs: 1 / norm(*xs), [big] * 3, 2, 1)
    row("norm4d", norm, [big] * 4, 3, 2)
    row("rnorm4d", lambda *xs: 1 / norm(*xs), [big] * 4, 2, 1)
    # No error is documented for sums of any length; these are of four.
    row("norm", norm, [plain(-10, 10)] * 4, 3, 2, call="T v[4] = {x, y, z, w}; r = norm@(4, v)")
    row("rnorm", lambda *xs: 1 / norm(*xs), [plain(-10, 10)] * 4, 3, 2, call="T v[4] = {x, y, z, w}; r = rnorm@(4, v)")
    row("erf", mp.erf, [mixed(plain(-5, 5), spread(-25, 0))], 2, 2, specials={**odd, INF: 1.0, -INF: -1.0})
    row("erfc", mp.erfc, [mixed(plain(-5, 9), spread(-25, 0))], 4, 5, specials={0.0: 1.0, INF: 0.0, -INF: 2.0})
    row("erfcx", lambda x: mp.exp(mpf(x) ** 2) * mp.erfc(x), [mixed(plain(-5, 20), spread(0, 30, False))], 4, 4, specials={0.0: 1.0, INF: 0.0})
    row("erfinv", erfinv, [mixed(plain(-0.999, 0.999), spread(-25, -1))], 2, 5, specials={**odd, 1.0: INF, -1.0: -INF, 2.0: NAN})
    row("erfcinv", lambda x: mp.erfinv(1 - mpf(x)), [mixed(plain(0.001, 1.999), spread(-40, 0, False))], 4, 6, specials={1.0: 0.0, 0.0: INF, 2.0: -INF, 3.0: NAN})
    row("normcdf", mp.ncdf, [plain(-9, 9)], 5, 5, specials={0.0: 0.5, INF: 1.0, -INF: 0.0})
    row("normcdfinv", ncdfinv, [mixed(plain(0.001, 0.999), spread(-40, -1, False))], 5, 8, specials={0.5: 0.0, 0.0: -INF, 1.0: INF, 2.0: NAN})
    row("lgamma", lgamma, [mixed(plain(0.1, 60), plain(-2.2, -0.1), spread(6, 60, False))], 6, 4, specials={1.0: 0.0, 2.0: 0.0, INF: INF, 0.0: INF, -3.0: INF})
    row("tgamma", mp.gamma, [mixed(plain(0.1, 34), plain(-9.9, -0.1))], 5, 10, specials={1.0: 1.0, INF: INF, -1.0: NAN})
    for name, order in (("0", 0), ("1", 1)):
        bessel = lambda order: (lambda x: mp.besselj(order, x), lambda x: mp.bessely(order, x))
        j, y = bessel(order)
        ranges = mixed(plain(0.1, 8), plain(8, 60))
        row("j" + name, j, [ranges], "9|2.2e-6", "7|5e-12", specials={0.0: 1.0 - order, INF: 0.0})
        row("y" + name, y, [ranges], "9|2.2e-6", "7|5e-12", specials={0.0: -INF, INF: 0.0})
        i = (lambda order: lambda x: mp.besseli(order, x))(order)
        row("cyl_bessel_i" + name, i, [mixed(plain(-40, 40), spread(-20, 0))], 6, 6, specials={0.0: 1.0 - order, INF: INF})
    # Documented for the order 128 and beyond the order; by an absolute error for small ones too.
    row("jn", lambda n, x: mp.besselj(int(n), x), [whole(2, 20), plain(0.5, 60)], "16|2.2e-6", "16|5e-12", call="jn@((int)x, y)")
    row("yn", lambda n, x: mp.bessely(int(n), x), [whole(2, 10), plain(4, 60)], "28|2.2e-6", "28|5e-12", call="yn@((int)x, y)")
    row("fma", lambda x, y, z: mpf(x) * mpf(y) + mpf(z), [big] * 3, 0, 0)
    row("divide", lambda x, y: mpf(x) / mpf(y), [big] * 2, 0, 0, call="x / y")
    row("fmod", fmod, [mixed(plain(-100, 100), spread(-10, 40)), mixed(plain(0.1, 10), spread(-10, 10))], 0, 0)
    row("remainder", remainder, [mixed(plain(-100, 100), spread(-10, 40)), mixed(plain(0.1, 10), spread(-10, 10))], 0, 0)
    row("remquo", remainder, [plain(-100, 100), plain(0.5, 10)], 0, 0, call="int q; r = remquo@(x, y, &q)")
    low_bits = lambda x, y: (lambda q: (abs(q) & 7) * (1 if q >= 0 else -1))(int(integer(mpf(x) / mpf(y), "even")))
    row("remquo_bits", low_bits, [plain(-100, 100), plain(0.5, 10)], 0, 0, call="int q; remquo@(x, y, &q); r = q < 0 ? -(-q & 7) : q & 7")
    row("modf", lambda x: mpf(x) - integer(x, "trunc"), [big], 0, 0, call="T p; r = modf@(x, &p)")
    row("modf_whole", lambda x: integer(x, "trunc"), [big], 0, 0, call="T p; modf@(x, &p); r = p")
    row("frexp", lambda x: mpf(x) / mpf(2) ** (logb(x) + 1), [spread(-140, 120)], 0, 0, call="int q; r = frexp@(x, &q)")
    row("frexp_exponent", lambda x: logb(x) + 1, [spread(-140, 120)], 0, 0, call="int q; frexp@(x, &q); r = q")
    scale = lambda x, n: mpf(x) * mpf(2) ** int(n)
    for name, ty in (("ldexp", "int"), ("scalbn", "int"), ("scalbln", "long")):
        row(name, scale, [plain(1, 2), whole(-125, 126)], 0, 0, call=name + "@(x, (%s)y)" % ty)
    row("logb", logb, [spread(-140, 120)], 0, 0)
    row("ilogb", logb, [spread(-140, 120)], 0, 0)
    row("nextafter", None, [wide, wide], 0, 0)
    row("fdim", lambda x, y: max(mpf(x) - mpf(y), mpf(0)), [big] * 2, 0, 0)
    row("fmax", max, [big] * 2, 0, 0)
    row("fmin", min, [big] * 2, 0, 0)
    row("fabs", abs, [big], 0, 0, specials={INF: INF, -INF: INF, NAN: NAN})
    row("copysign", lambda x, y: abs(x) if y > 0 else -abs(x), [big] * 2, 0, 0)
    halves = mixed(plain(-100, 100), lambda draw: draw.randint(-50, 50) + 0.5, spread(0, 30))
    same = {INF: INF, -INF: -INF, NAN: NAN}
    row("trunc", lambda x: integer(x, "trunc"), [halves], 0, 0, specials=same)
    row("round", lambda x: integer(x, "away"), [halves], 0, 0, specials=same)
    row("rint", lambda x: integer(x, "even"), [halves], 0, 0, specials=same)
    row("nearbyint", lambda x: integer(x, "even"), [halves], 0, 0, specials=same)
    row("floor", mp.floor, [halves], 0, 0, specials=same)
    row("ceil", mp.ceil, [halves], 0, 0, specials=same)
    for name, rule in (("lrint", "even"), ("llrint", "even"), ("lround", "away"), ("llround", "away")):
        row(name, (lambda rule: lambda x: integer(x, rule))(rule), [halves], 0, 0)
    for name, truth in (
        ("isnan", lambda x: x != x),
        ("isinf", lambda x: x in (INF, -INF)),
        ("isfinite", lambda x: x == x and abs(x) != INF),
        ("signbit", lambda x: x < 0),
    ):
        ends = {INF: truth(INF), -INF: truth(-INF)}
        if name != "signbit":
            ends[NAN] = truth(NAN)
        row(name, truth, [big], 0, 0, call=name + "(x) ? 1 : 0", specials=ends)

    # Intrinsic functions, in the ranges for which the guide gives an error.
    def fast(name, function, ranges, error):
        call = name + "(" + ", ".join("xyzw"[: len(ranges)]) + ")"
        rows.append((name, "f32", call, function, ranges, error, {}))

    fast("__sinf", mp.sin, [plain(-3.14, 3.14)], "0|%r" % 2**-21.41)
    fast("__cosf", mp.cos, [plain(-3.14, 3.14)], "0|%r" % 2**-21.19)
    fast("__expf", mp.exp, [plain(-8, 8)], "11")
    fast("__exp10f", lambda x: mpf(10) ** mpf(x), [plain(-4, 4)], "13")
    fast("__logf", mp.log, [mixed(plain(0.5, 2), spread(1, 60, False))], "3|%r" % 2**-21.41)
    fast("__log2f", lambda x: mp.log(x, 2), [mixed(plain(0.5, 2), spread(1, 60, False))], "2|%r" % 2**-22)
    fast("__log10f", mp.log10, [mixed(plain(0.5, 2), spread(1, 60, False))], "3|%r" % 2**-24)
    fast("__fdividef", lambda x, y: mpf(x) / mpf(y), [big, spread(-60, 60)], "2")

    # Half precision, which is computed in single precision and rounded to nearest.
    small = mixed(plain(-4, 4), spread(-8, 2))
    above = mixed(plain(0.1, 10), spread(-10, 10, False))
    halves = [
        ("sin", many_digits(mp.sin), [mixed(plain(-10, 10), spread(-8, 10))]),
        ("cos", many_digits(mp.cos), [mixed(plain(-10, 10), spread(-8, 10))]),
        ("exp", mp.exp, [small]),
        ("exp2", lambda x: mpf(2) ** mpf(x), [small]),
        ("exp10", lambda x: mpf(10) ** mpf(x), [small]),
        ("log", mp.log, [above]),
        ("log2", lambda x: mp.log(x, 2), [above]),
        ("log10", mp.log10, [above]),
        ("sqrt", mp.sqrt, [above]),
        ("rsqrt", lambda x: 1 / mp.sqrt(x), [above]),
        ("rcp", lambda x: 1 / mpf(x), [above]),
        ("tanh", mp.tanh, [small]),
        ("floor", mp.floor, [small]),
        ("ceil", mp.ceil, [small]),
        ("rint", lambda x: integer(x, "even"), [small]),
        ("trunc", lambda x: integer(x, "trunc"), [small]),
    ]
    for name, function, ranges in halves:
        for kind, convert in (("f16", "__float2half"), ("bf16", "__float2bfloat16")):
            call = "wide(h%s(%s(x)))" % (name, convert)
            error = "0" if name in ("floor", "ceil", "rint", "trunc") else "1"
            rows.append(("h%s_%s" % (name, kind), kind, call, function, ranges, error, {}))
    return rows


HEAD = """// Made by make.py: a kernel for each of CUDA's mathematical functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float wide(__half x) { return __half2float(x); }
__device__ float wide(__nv_bfloat16 x) { return __bfloat162float(x); }

#define FUNCTION(type, name, ...) \\
    extern "C" __global__ void k_##name(const type* a, const type* b, const type* c, const type* d, type* out) { \\
        typedef type T; \\
        int i = blockIdx.x * blockDim.x + threadIdx.x; \\
        T x = a[i], y = b[i], z = c[i], w = d[i], r; \\
        __VA_ARGS__; \\
        out[i] = r; \\
    }

"""


def bits(x):
    return "%016x" % struct.unpack("Q", struct.pack("d", x))[0]


def points(row):
    name, kind, _, function, ranges, _, specials = row
    draw = random.Random(name)
    function = function or step(kind)
    for x, value in specials.items():
        yield [x], to_double(value if not isinstance(value, bool) else int(value))
    for _ in range(POINTS - len(specials)):
        for _ in range(1000):
            xs = [round_to(kind, one(draw)) for one in ranges]
            try:
                value = to_double(function(*xs))
            except (ValueError, ZeroDivisionError):
                continue
            limit = {"f32": 3e38, "f64": 1.7e308, "f16": 60000.0, "bf16": 3e38}[kind]
            least = {"f16": 1e-4}.get(kind, 0.0)
            if value == value and abs(value) < limit and (value == 0 or abs(value) >= least):
                break
        yield xs, value


def nvrtc(library, source, name):
    # It looks for its second half by name, and finds what is loaded already.
    ctypes.CDLL(os.path.join(os.path.dirname(library), "libnvrtc-builtins.so.13.0"))
    lib = ctypes.CDLL(library)
    program = ctypes.c_void_p()
    lib.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
    include = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(sys.argv[1]))), "include")
    options = [b"--gpu-architecture=compute_75", b"-I" + include.encode(), b"--std=c++17"]
    result = lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if result != 0:
        size = ctypes.c_size_t()
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    size = ctypes.c_size_t()
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, text)
    return text.value.decode()


def without_banner(text):
    return text[text.index(".version"):]


def differing(text, other):
    """A module without the kernels that are the same in another."""
    # Inline assembly has braces at the beginning of lines, too.
    kernel = re.compile(r"\.visible \.entry .*?\n}\n(?=\s*(?://[^\n]*\s*)*(?:\.visible|\.func|\Z))", re.S)
    plain = lambda code: re.sub(r"\$L__BB\d+_", "", code)
    known = {plain(code) for code in kernel.findall(other)}
    return kernel.sub(lambda found: "" if plain(found[0]) in known else found[0], text)


def main():
    rows = table()
    source = HEAD
    for name, kind, expression, *_ in rows:
        ty = "double" if kind == "f64" else "float"
        body = expression if ";" in expression else "r = (T)(%s)" % expression
        source += "FUNCTION(%s, %s, %s)\n" % (ty, name, body)
    path = os.path.join(FOLDER, "functions.cu")
    with open(path, "w") as file:
        file.write(source)
    made = os.path.join(FOLDER, "nvcc.ptx")
    command = [sys.argv[1], "--ptx", "-arch=compute_75", "-std=c++17", "-diag-suppress", "177,549,550", "functions.cu", "-o", made]
    subprocess.run(command, cwd=FOLDER, check=True)
    with open(made) as file:
        text = without_banner(file.read())
    with open(made, "w") as file:
        file.write(text)
    other = without_banner(nvrtc(sys.argv[2], source.encode(), b"functions.cu"))
    with open(os.path.join(FOLDER, "nvrtc.ptx"), "w") as file:
        file.write(differing(other, text))
    if sys.argv[3:] == ["ptx"]:
        return
    with open(os.path.join(FOLDER, "expected.txt"), "w") as file:
        for row in rows:
            name, kind, error = row[0], row[1], row[5]
            file.write("%s %s %s\n" % (name, kind, error))
            for xs, value in points(row):
                file.write(" ".join(map(bits, xs)) + " = " + bits(value) + "\n")


main()
