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


polynomial("ERF_F32", 24, erf_tail, 0, mp.mpf("1.21"), 6, erf_weight)
polynomial("ERF_F64", 53, erf_tail, 0, 1, 12, erf_weight)


# erfc(x) = p(x)^8, weighted by the error that it makes in erf(x)
def root_of_erfc(x):
    return mp.root(mp.erfc(x), 8)


polynomial(
    "ERFC_ROOT_F32", 24, root_of_erfc, 1.09, 4, 7, lambda x: 8 * mp.erfc(x) / (root_of_erfc(x) * mp.erf(x))
)

# log(1 + f) = s (2 + 2/3 z + z^2 p(z)), with z = s^2 and s in double-word arithmetic.
polynomial(
    "LOG_DOUBLE_WORD",
    53,
    lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2 - 2 * z / 3) / z**2,
    0,
    LARGEST_S,
    7,
    lambda z: z**2 / 2,
)
# 2^r = 1 + r p(r)
polynomial(
    "EXP2_F64",
    53,
    lambda r: mp.expm1(r * LN2) / r,
    -0.5005,
    0.5005,
    11,
    lambda r: (abs(r) + mp.mpf("0.05")) / mp.power(2, r),
)

# sin(r) = r + r z p(z), cos(r) = 1 - z / 2 + z^2 p(z), z = r^2
LARGEST_R = (mp.pi / 4 * mp.mpf("1.0005")) ** 2


def sin_tail(z):
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def sin_weight(z):
    r = mp.sqrt(z)
    return z * r / mp.sin(r)


def cos_tail(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def cos_weight(z):
    return z**2 / mp.cos(mp.sqrt(z))


polynomial("SIN_SHORT", 53, sin_tail, 0, LARGEST_R, 3, sin_weight)
polynomial("COS_SHORT", 53, cos_tail, 0, LARGEST_R, 3, cos_weight)
polynomial("SIN_F64", 53, sin_tail, 0, LARGEST_R, 5, sin_weight)
polynomial("COS_F64", 53, cos_tail, 0, LARGEST_R, 5, cos_weight)


# atan(t) = t + t z p(z) up to 1/2, asin(x) = x + x z p(z) up to 1/2
def atan_tail(z):
    t = mp.sqrt(z)
    return (mp.atan(t) / t - 1) / z


def asin_tail(z):
    x = mp.sqrt(z)
    return (mp.asin(x) / x - 1) / z


polynomial("ATAN_SHORT", 53, atan_tail, 0, 0.25, 6, lambda z: z)
polynomial("ATAN_F64", 53, atan_tail, 0, 0.25, 12, lambda z: z)
polynomial("ASIN_SHORT", 53, asin_tail, 0, 0.25, 7, lambda z: z)
polynomial("ASIN_F64", 53, asin_tail, 0, 0.25, 12, lambda z: z)


# erfc(x) = exp(-x^2) p(t) with t = (x - 4) / (x + 4), or exp(-x^2) p(t) / (1 + 2 x)
def scaled_erfc(t):
    x = 4 * (1 + t) / (1 - t)
    return mp.exp(x**2) * mp.erfc(x)


def twice_scaled_erfc(t):
    return (1 + 8 * (1 + t) / (1 - t)) * scaled_erfc(t)


def bounds_of_erfc(low, high):
    return (mp.mpf(low) - 4) / (low + 4), (mp.mpf(high) - 4) / (high + 4)


polynomial("ERFC_SHORT", 53, scaled_erfc, *bounds_of_erfc(0, 10.1), 12, lambda t: 1 / scaled_erfc(t))
polynomial("ERFC_F64", 53, twice_scaled_erfc, *bounds_of_erfc(0.49, 27.4), 22, lambda t: 1 / twice_scaled_erfc(t))


# erfinv(x) = x p(w - 3.5) with w = -log2(1 - x^2) up to 7, and x p(sqrt(w) - 4) beyond
def erfinv(x):
    """By Newton's method with the complement, which has all digits where x is near 1."""
    complement = 1 - x
    y = mp.erfinv(mp.mpf(float(x))) if x < mp.mpf("0.9999") else mp.sqrt(-mp.log(complement))
    for _ in range(200):
        step = (mp.erfc(y) - complement) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step / (1 - y * step)
        if abs(step) < mp.mpf(2) ** -150 * y:
            break
    return y


def erfinv_quotient(w):
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w * LN2))
    return erfinv(x) / x


polynomial(
    "ERFINV_MIDDLE", 53, lambda v: erfinv_quotient(v + 3.5), -3.5, 3.5, 10, lambda v: 1 / erfinv_quotient(v + 3.5)
)


def erfinv_tail(v):
    return erfinv_quotient((v + 4) ** 2)


# Numbers of f32 have logarithms up to 23; those of f64 54, but a step of Halley's method follows.
for name, last, degree in ("ERFINV_TAIL_SHORT", 23.1, 10), ("ERFINV_TAIL_F64", 53.1, 9):
    polynomial(name, 53, erfinv_tail, mp.sqrt(7) - 4, mp.sqrt(last) - 4, degree, lambda v: 1 / erfinv_tail(v))

# digamma(x) = (x - root) p(x - 1.5) from 1 to 2
ROOT_OF_DIGAMMA = mp.findroot(mp.digamma, mp.mpf("1.4616321449683623"))


def digamma_quotient(v):
    x = v + mp.mpf("1.5")
    return mp.digamma(x) / (x - ROOT_OF_DIGAMMA)


polynomial("DIGAMMA", 53, digamma_quotient, -0.5, 0.5, 21, lambda v: 1 / digamma_quotient(v))


if __name__ == "__main__":
    asked = sys.argv[1:]
    for name, (bits, make) in FITS.items():
        if not asked or any(part in name for part in asked):
            show(name, make(), bits)
