"""Writes the values that functions of f64 are compared with, by mpmath.

    python functions.py FILE [numbers per range [part of a name ..]]

For each function: its name in 16 bytes, the number of operands and of entries as u32, and then the
entries: operands and the rounded result as f64, and what is missing to the exact result in 1 / 65534
of a unit in the last place as i16. Little endian. Made with mpmath 1.4.1, 40 numbers per range.
"""

import random
import struct
import sys

import mpmath as mp

mp.mp.prec = 200
FUNCTIONS = {}
MAX = 1.7976931348623157e308
TINY = 5e-324


def uniform(low, high):
    return lambda r: r.uniform(low, high)


def both(low, high):
    """Numbers whose logarithms are uniform, of both signs."""
    positive = logarithmic(low, high)
    return lambda r: positive(r) * r.choice((-1, 1))


def logarithmic(low, high):
    low, high = mp.log(low), mp.log(high)
    return lambda r: float(mp.exp(low + (high - low) * r.random()))


def function(name, f, *ranges):
    """`ranges` are samplers, or tuples of one for each operand."""
    FUNCTIONS[name] = (f, [r if isinstance(r, tuple) else (r,) for r in ranges])


def entry(f, operands):
    """The bytes of one entry, or None where the result is not a normal or subnormal number."""
    exact = f(*[mp.mpf(x) for x in operands])
    if isinstance(exact, mp.mpc) or not mp.isfinite(exact):
        return None
    # Through the exponent, since mpmath does not know subnormal numbers.
    if exact == 0:
        return struct.pack(f"<{len(operands)}ddh", *operands, 0.0, 0)
    exponent = max(int(mp.floor(mp.log(abs(exact), 2))), -1022)
    unit = mp.ldexp(1, exponent - 52)
    whole = mp.nint(exact / unit)
    if abs(whole * unit) > mp.mpf(MAX):
        return None
    result = float(whole) * 2.0**-1074 if exponent == -1022 else float(whole * unit)
    rest = int(mp.nint((exact / unit - whole) * 65534))
    return struct.pack(f"<{len(operands)}ddh", *operands, result, rest)


anywhere = both(TINY * 4, MAX)
positive = logarithmic(TINY * 4, MAX)
small = both(1e-20, 1)

quarters = lambda r: r.randrange(-1000000, 1000000) * 1.5707963267948966
positive_x = logarithmic(1e-300, 1e300)


def angle(y, x):
    return mp.atan2(y, x)


def digamma(x):
    return mp.digamma(x)


function("acos", mp.acos, uniform(-1, 1), both(1e-20, 1), lambda r: 1 - logarithmic(1e-16, 1)(r))
function("acosh", mp.acosh, logarithmic(1, MAX), uniform(1, 2), uniform(1, 1.001))
function("asin", mp.asin, uniform(-1, 1), both(1e-300, 1), lambda r: 1 - logarithmic(1e-16, 1)(r))
function("asinh", mp.asinh, anywhere, uniform(-2, 2), both(1e-9, 1e-3))
function("atan", mp.atan, anywhere, uniform(-2, 2), uniform(-20, 20))
function("atanh", mp.atanh, uniform(-1, 1), both(1e-300, 1), both(1e-9, 1e-3))
function("cos", mp.cos, uniform(-10, 10), uniform(-1e6, 1e6), anywhere, quarters)
function("cosh", mp.cosh, uniform(-710, 710), uniform(-2, 2), uniform(709, 710.4))
function("digamma", digamma, logarithmic(1e-300, 1e300), uniform(0, 3), uniform(1, 50))
function("erf", mp.erf, both(1e-300, 6), uniform(-1, 1), uniform(-6, 6))
function("erfc", mp.erfc, uniform(-6, 27.2), uniform(-1, 1.5), small)
function("erfinv", mp.erfinv, uniform(-1, 1), both(1e-300, 1), lambda r: 1 - logarithmic(1e-16, 1)(r))
function("exp", mp.exp, uniform(-745, 709.7), uniform(-1, 1), small)
function("exp2", lambda x: mp.power(2, x), uniform(-1074, 1023.9), uniform(-1, 1), small)
function("expm1", mp.expm1, uniform(-60, 709.7), uniform(-2, 2), both(1e-300, 1))
function("lgamma", lambda x: mp.log(abs(mp.gamma(x))) if x < 100 else mp.loggamma(x), positive_x, uniform(0, 50), uniform(0.5, 3))
function("log", mp.log, positive, uniform(0.5, 2), uniform(0.99, 1.01), uniform(0, 100))
function("log10", lambda x: mp.log(x) / mp.log(10), positive, uniform(0.5, 2), uniform(0.99, 1.01))
function("log1p", mp.log1p, positive, uniform(-1, 2), both(1e-300, 1), uniform(-0.01, 0.01))
function("log2", lambda x: mp.log(x) / mp.log(2), positive, uniform(0.5, 2), uniform(0.99, 1.01))
function("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), uniform(-745, 40), uniform(-4, 4), small)
function("sin", mp.sin, uniform(-10, 10), uniform(-1e6, 1e6), anywhere, quarters)
function("sinh", mp.sinh, uniform(-710, 710), uniform(-2, 2), both(1e-300, 1), uniform(709, 710.4))
function("tan", mp.tan, uniform(-10, 10), uniform(-1e6, 1e6), anywhere, quarters)
function("tanh", mp.tanh, both(1e-300, 20), uniform(-3, 3), uniform(-25, 25))

function("atan2", angle, (anywhere, anywhere), (uniform(-2, 2), uniform(-2, 2)), (both(1e-3, 1e3), both(1e-3, 1e3)))
function("hypot", mp.hypot, (anywhere, anywhere), (uniform(-2, 2), uniform(-2, 2)), (both(1e-3, 1e3), both(1e-3, 1e3)))
function(
    "pow",
    lambda x, y: mp.power(x, y),
    (positive, uniform(-1, 1)),
    (uniform(0.5, 2), uniform(-1000, 1000)),
    (uniform(0.99, 1.01), uniform(-70000, 70000)),
    (uniform(0, 20), uniform(-20, 20)),
)

if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    with open(sys.argv[1], "wb") as file:
        for name, (f, ranges) in FUNCTIONS.items():
            if sys.argv[3:] and not any(part in name for part in sys.argv[3:]):
                continue
            generator = random.Random(name)
            entries = []
            for samplers in ranges:
                for _ in range(count):
                    entries.append(entry(f, [sampler(generator) for sampler in samplers]))
            entries = [e for e in entries if e is not None]
            file.write(struct.pack("<16sII", name.encode(), len(ranges[0]), len(entries)))
            file.write(b"".join(entries))
