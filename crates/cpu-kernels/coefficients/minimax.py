"""Minimax polynomials by the second algorithm of Remez, on a grid, with coefficients that are
numbers of f32 or f64 already.
"""

import struct

import mpmath as mp

mp.mp.prec = 180

GRID = 600


def rounded(value, bits):
    """The nearest number with that many bits; exponents are unbounded."""
    if value == 0:
        return mp.mpf(0)
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), int(exponent) - bits)


class Fit:
    """Coefficients c of c[0] + c[1] x + .., and the largest weighted error, as a power of two."""

    def __init__(self, coefficients, error):
        self.coefficients = coefficients
        self.error = error

    def __call__(self, x):
        return mp.polyval(self.coefficients[::-1], x)


def exchange(xs, targets, weights, powers):
    """Coefficients for the powers of x, such that the largest weighted error is the least."""
    count = len(powers) + 1
    last = len(xs) - 1
    chosen = [int(round(last * (1 - mp.cos(mp.pi * i / (count - 1))) / 2)) for i in range(count)]
    for _ in range(60):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, at in enumerate(chosen):
            for column, power in enumerate(powers):
                matrix[row, column] = xs[at] ** power
            matrix[row, count - 1] = (-1) ** row / weights[at]
            right[row] = targets[at]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(count - 1)]
        errors = []
        for x, target, weight in zip(xs, targets, weights):
            value = mp.fsum(c * x**power for c, power in zip(coefficients, powers))
            errors.append((target - value) * weight)
        # The largest error of each run of one sign.
        extremes = []
        for at, error in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = at
            else:
                extremes.append(at)
        while len(extremes) > count:
            smallest = 0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1
            del extremes[smallest]
        if len(extremes) < count or extremes == chosen:
            break
        chosen = extremes
        if max(abs(e) for e in errors) < abs(solution[count - 1]) * mp.mpf("1.0001"):
            break
    return coefficients


def fit(f, low, high, degree, bits, weight=lambda x: 1, fixed=()):
    """A polynomial for `f` between two bounds, with the least largest error times `weight`, and
    coefficients of `bits` bits (24 for f32, 53 for f64). `fixed` coefficients come first."""
    low, high = mp.mpf(low), mp.mpf(high)
    # No point lies at 0, where quotients of series are 0 / 0.
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * GRID)) for i in range(GRID)]
    values = [f(x) for x in xs]
    weights = [weight(x) for x in xs]
    known = [mp.mpf(c) for c in fixed]
    while len(known) <= degree:
        targets = [v - mp.polyval(known[::-1] or [0], x) for v, x in zip(values, xs)]
        found = exchange(xs, targets, weights, range(len(known), degree + 1))
        if low < 0:
            # All powers but the first vanish at 0, so there is no alternation around it to find:
            # the coefficients are rounded together.
            known += [rounded(c, bits) for c in found]
        else:
            # Each is rounded in turn, the lowest first, and the rest fitted again.
            known.append(rounded(found[0], bits))
    final = max(abs((v - mp.polyval(known[::-1], x)) * w) for v, x, w in zip(values, xs, weights))
    return Fit(known, final)


def literal(value, bits):
    """The number as Rust writes it."""
    if bits == 24:
        number = struct.unpack("f", struct.pack("f", float(value)))[0]
        for digits in range(1, 12):
            text = f"{number:.{digits}e}"
            if struct.unpack("f", struct.pack("f", float(text)))[0] == number:
                break
    else:
        text = repr(float(value))
    mantissa, _, exponent = text.partition("e")
    if bits != 24 and not exponent:
        return mantissa
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    exponent = int(exponent)
    if "." not in mantissa and exponent == 0:
        return mantissa + ".0"
    return mantissa + (f"e{exponent}" if exponent else "")


def show(name, fitted, bits):
    """Prints the coefficients as a constant of Rust, the lowest first."""
    kind = "f32" if bits == 24 else "f64"
    log2 = mp.nstr(mp.log(fitted.error, 2), 5)
    print(f"/// `coefficients/fit.py`: error 2^{log2}.")
    print(f"const {name}: [{kind}; {len(fitted.coefficients)}] = [")
    for c in fitted.coefficients:
        print(f"    {literal(c, bits)},")
    print("];", flush=True)
