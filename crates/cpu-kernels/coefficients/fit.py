"""Prints the polynomials of `src/functions`. Needs mpmath 1.3 or later.

    python fit.py [part of a name ..]
"""

import sys

import mpmath as mp
from minimax import fit, show

LN2 = mp.log(2)
HALF_LN2 = LN2 / 2 * mp.mpf("1.001")
ROOT_HALF = mp.sqrt(0.5)
FITS = {}


def polynomial(name, bits, f, low, high, degree, weight, fixed=()):
    FITS[name] = (bits, lambda: fit(f, low, high, degree, bits, weight, fixed))


def of_square(f):
    """A function of x as one of x^2."""
    return lambda z: f(mp.sqrt(z))


# e^r = 1 + r + r^2 p(r)
def exp_tail(r):
    return (mp.expm1(r) - r) / r**2


def exp_weight(r):
    # Not 0 at r = 0, where the exchange would find no sign.
    return (r**2 + mp.mpf("0.01")) / mp.exp(r)


polynomial("EXP_F32", 24, exp_tail, -HALF_LN2, HALF_LN2, 4, exp_weight)
polynomial("EXP_F64", 53, exp_tail, -HALF_LN2, HALF_LN2, 10, exp_weight)


# log(1 + f) = f - f^2 / 2 + f^3 p(f)
def log_tail(f):
    return (mp.log1p(f) - f + f**2 / 2) / f**3


polynomial("LOG_F32", 24, log_tail, ROOT_HALF - 1, 2 * ROOT_HALF - 1, 8, lambda f: f**3 / mp.log1p(f) + mp.mpf("0.01"))


# With s = f / (2 + f): log(1 + f) = log((1 + s) / (1 - s)) = 2 s + s z p(z), z = s^2.
def log_of_quotient(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


LARGEST_S = ((2 * ROOT_HALF - 1) / (2 * ROOT_HALF + 1)) ** 2 * mp.mpf("1.0001")
polynomial("LOG_F64", 53, log_of_quotient, 0, LARGEST_S, 6, lambda z: z)
polynomial(
    "LOG2_SHORT", 53, lambda z: 2 * mp.atanh(mp.sqrt(z)) / (mp.sqrt(z) * LN2), 0, LARGEST_S, 4, lambda z: 1
)


# 2^r = 1 + r p(r)
polynomial(
    "EXP2_SHORT", 53, lambda r: mp.expm1(r * LN2) / r, -0.5005, 0.5005, 6, lambda r: r / mp.expm1(r * LN2)
)


# tanh(x) = x + x z p(z), z = x^2 up to 1
def tanh_tail(z):
    x = mp.sqrt(z)
    return (mp.tanh(x) - x) / (x * z)


def tanh_weight(z):
    return z * mp.sqrt(z) / mp.tanh(mp.sqrt(z))


polynomial("TANH_F32", 24, tanh_tail, 0, 1, 6, tanh_weight)
polynomial("TANH_F64", 53, tanh_tail, 0, 1, 15, tanh_weight)


# erf(x) = x + x p(z), z = x^2 up to 1
def erf_tail(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erf_weight(z):
    return mp.sqrt(z) / mp.erf(mp.sqrt(z))


polynomial("ERF_F32", 24, erf_tail, 0, 1, 6, erf_weight)
polynomial("ERF_F64", 53, erf_tail, 0, 1, 12, erf_weight)
# erfc(x) = exp(x p(x)), weighted by the error that it makes in erf(x)
polynomial(
    "ERFC_EXPONENT_F32", 24, lambda x: mp.log(mp.erfc(x)) / x, 0.99, 4, 7, lambda x: x * mp.erfc(x) / mp.erf(x)
)

if __name__ == "__main__":
    asked = sys.argv[1:]
    for name, (bits, make) in FITS.items():
        if not asked or any(part in name for part in asked):
            show(name, make(), bits)
