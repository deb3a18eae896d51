// Random numbers: element i depends on seed, offset and i alone, not on the grid, and is the same
// on every device.
#include "dtype.cuh"
#include "exact.cuh"
#include "layout.cuh"
#include "philox.cuh"
#include "tables.cuh"

constexpr double TO_24_BITS = 1.0 / (1 << 24);
constexpr double TO_53_BITS = 1.0 / (1ull << 53);

// A multiple of 2^-24, or for f64 of 2^-53, in [0, 1).
template <class T>
__device__ double unit(const Words& words) {
    if constexpr (std::is_same_v<T, f64>) {
        return exact::mul(static_cast<double>(words.low() >> 11), TO_53_BITS);
    } else {
        return exact::mul(words.w0 >> 8, TO_24_BITS);
    }
}

// In [a, b), also where rounding to T reaches b: that value becomes a.
struct Uniform {
    template <class T>
    __device__ static T at(const Random& args, const Words& words) {
        const double span = exact::add(args.b, -args.a);
        const T value = round_to<T>(exact::add(args.a, exact::mul(span, unit<T>(words))));
        return load<T>(value) < load<T>(round_to<T>(args.b)) ? value : round_to<T>(args.a);
    }
};

// Box and Muller's transformation; of its two numbers one is used. The radius is taken from (0, 1],
// where the logarithm is finite.
struct Normal {
    template <class T>
    __device__ static T at(const Random& args, const Words& words) {
        double radius, angle;
        if constexpr (std::is_same_v<T, f64>) {
            radius = exact::mul(static_cast<double>((words.low() >> 11) + 1), TO_53_BITS);
            angle = exact::mul(static_cast<double>(words.high() >> 11), TO_53_BITS);
        } else {
            radius = exact::mul((words.w0 >> 8) + 1, TO_24_BITS);
            angle = exact::mul(words.w1 >> 8, TO_24_BITS);
        }
        const double length = __dsqrt_rn(exact::mul(-2.0, exact::log(radius)));
        const double normal = exact::mul(length, exact::cos_turns(angle));
        return round_to<T>(exact::add(args.a, exact::mul(args.b, normal)));
    }
};

// Whole numbers in [low, high); where the bounds are equal, any.
struct Integers {
    template <class T>
    __device__ static Stored<T> at(const Random& args, const Words& words) {
        const uint64_t span = static_cast<uint64_t>(args.high) - static_cast<uint64_t>(args.low);
        const uint64_t distance = span == 0 ? words.low() : words.low() % span;
        return convert<T>(static_cast<i64>(static_cast<uint64_t>(args.low) + distance));
    }
};

// 1 with probability a.
struct Bernoulli {
    template <class T>
    __device__ static Stored<T> at(const Random& args, const Words& words) {
        return convert<T>(static_cast<i64>(unit<f32>(words) < args.a));
    }
};

template <class T, class Distribution>
__device__ void sample(const Random& args) {
    Stored<T>* const out = static_cast<Stored<T>*>(args.out);
    const bool in_memory = args.state != nullptr;
    const uint64_t seed = in_memory ? args.state[0] : args.seed;
    const uint64_t offset = args.offset + (in_memory ? args.state[1] : 0);
#pragma unroll 1
    for (int64_t i = grid_thread(); i < args.numel; i += grid_threads()) {
        out[i] = Distribution::template at<T>(args, philox(seed, i, offset));
    }
}

#define RANDOM(name, Distribution, T)                                  \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Random args) { \
        sample<T, Distribution>(args);                                 \
    }

FOR_FLOATS(RANDOM, uniform, Uniform)
FOR_FLOATS(RANDOM, normal, Normal)
FOR_ALL(RANDOM, random, Integers)
FOR_ALL(RANDOM, bernoulli, Bernoulli)
