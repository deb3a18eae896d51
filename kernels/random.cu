// Random numbers: element i depends on seed, offset and i alone, not on the grid, and is the same
// on every device. Elements take the words of Philox's blocks one after another: one each, or two
// where an element takes 64 bits. A thread makes the elements of a block.
#include "dtype.cuh"
#include "exact.cuh"
#include "layout.cuh"
#include "philox.cuh"
#include "tables.cuh"

constexpr double TO_24_BITS = 1.0 / (1 << 24);
constexpr double TO_53_BITS = 1.0 / (1ull << 53);

// The elements that a block is enough for, where reals take as many words as their digits need.
template <class T>
constexpr int REALS_OF_BLOCK = std::is_same_v<T, f64> ? 2 : 4;

// A multiple of 2^-24, or for f64 of 2^-53, in [0, 1): the one of element `lane` of a block.
template <class T>
__device__ double unit(const Words& words, int lane) {
    if constexpr (std::is_same_v<T, f64>) {
        return exact::mul(static_cast<double>(words.pair(lane) >> 11), TO_53_BITS);
    } else {
        return exact::mul(words.word(lane) >> 8, TO_24_BITS);
    }
}

// In [a, b), also where rounding to T reaches b: that value becomes a.
struct Uniform {
    template <class T>
    static constexpr int COUNT = REALS_OF_BLOCK<T>;

    template <class T>
    __device__ static void fill(const Random& args, const Words& words, T (&values)[COUNT<T>]) {
        const double span = exact::add(args.b, -args.a);
#pragma unroll
        for (int lane = 0; lane < COUNT<T>; ++lane) {
            const double real = exact::add(args.a, exact::mul(span, unit<T>(words, lane)));
            const T value = round_to<T>(real);
            const bool is_below = load<T>(value) < load<T>(round_to<T>(args.b));
            values[lane] = is_below ? value : round_to<T>(args.a);
        }
    }
};

// The step between the numbers of `unit`.
template <class T>
constexpr double STEP = std::is_same_v<T, f64> ? TO_53_BITS : TO_24_BITS;

// Box and Muller's transformation, which gives two numbers. The radius is taken from (0, 1], where
// the logarithm is finite.
struct Normal {
    template <class T>
    static constexpr int COUNT = REALS_OF_BLOCK<T>;

    template <class T>
    __device__ static void fill(const Random& args, const Words& words, T (&values)[COUNT<T>]) {
#pragma unroll
        for (int lane = 0; lane < COUNT<T>; lane += 2) {
            const double radius = exact::add(unit<T>(words, lane), STEP<T>);
            const double length = __dsqrt_rn(exact::mul(-2.0, exact::log(radius)));
            const exact::CosSin turned = exact::cos_sin_turns(unit<T>(words, lane + 1));
            const auto normal = [&](double part) {
                return round_to<T>(exact::add(args.a, exact::mul(args.b, exact::mul(length, part))));
            };
            values[lane] = normal(turned.cos);
            values[lane + 1] = normal(turned.sin);
        }
    }
};

// Exponentially distributed, of rate a: the logarithm of a number in (0, 1].
struct Exponential {
    template <class T>
    static constexpr int COUNT = REALS_OF_BLOCK<T>;

    template <class T>
    __device__ static void fill(const Random& args, const Words& words, T (&values)[COUNT<T>]) {
#pragma unroll
        for (int lane = 0; lane < COUNT<T>; ++lane) {
            const double part = exact::add(unit<T>(words, lane), STEP<T>);
            values[lane] = round_to<T>(__ddiv_rn(-exact::log(part), args.a));
        }
    }
};

// Whole numbers in [low, high); where the bounds are equal, any.
struct Integers {
    template <class T>
    static constexpr int COUNT = 2;

    template <class T>
    __device__ static void fill(const Random& args, const Words& words, Stored<T> (&values)[2]) {
        const uint64_t span = static_cast<uint64_t>(args.high) - static_cast<uint64_t>(args.low);
#pragma unroll
        for (int lane = 0; lane < 2; ++lane) {
            const uint64_t bits = words.pair(lane);
            const uint64_t distance = span == 0 ? bits : bits % span;
            const uint64_t number = static_cast<uint64_t>(args.low) + distance;
            values[lane] = convert<T>(static_cast<i64>(number));
        }
    }
};

// 1 with probability a.
struct Bernoulli {
    template <class T>
    static constexpr int COUNT = 4;

    template <class T>
    __device__ static void fill(const Random& args, const Words& words, Stored<T> (&values)[4]) {
#pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            values[lane] = convert<T>(static_cast<i64>(unit<f32>(words, lane) < args.a));
        }
    }
};

// Calls visit(first, words) for each block of words, `first` being the number of its first element.
template <int COUNT, class Visit>
__device__ void for_each_block(const Random& args, Visit visit) {
    const bool in_memory = args.state != nullptr;
    const uint64_t seed = in_memory ? args.state[0] : args.seed;
    const uint64_t offset = args.offset + (in_memory ? args.state[1] : 0);
    const int64_t blocks = (args.numel + COUNT - 1) / COUNT;
#pragma unroll 1
    for (int64_t block = grid_thread(); block < blocks; block += grid_threads()) {
        visit(block * COUNT, philox(seed, block, offset));
    }
}

template <class T, class Distribution>
__device__ void sample(const Random& args) {
    constexpr int COUNT = Distribution::template COUNT<T>;
    Stored<T>* const out = static_cast<Stored<T>*>(args.out);
    for_each_block<COUNT>(args, [&](int64_t first, const Words& words) {
        Stored<T> values[COUNT];
        Distribution::template fill<T>(args, words, values);
#pragma unroll
        for (int lane = 0; lane < COUNT; ++lane) {
            if (first + lane < args.numel) out[first + lane] = values[lane];
        }
    });
}

// Each element times b with probability a, else times zero. The elements that stay are those that
// Bernoulli's numbers are 1 for, so the gradient needs no mask: it is the same function.
template <class T>
__device__ void drop(const Random& args) {
    const T* const in = static_cast<const T*>(args.input);
    T* const out = static_cast<T*>(args.out);
    const Value<T> scale = static_cast<Value<T>>(args.b);
    for_each_block<4>(args, [&](int64_t first, const Words& words) {
#pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const int64_t i = first + lane;
            if (i >= args.numel) return;
            const bool stays = unit<f32>(words, lane) < args.a;
            out[i] = convert<T>(load<T>(in[i]) * (stays ? scale : Value<T>{0}));
        }
    });
}

#define RANDOM(name, Distribution, T)                                  \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Random args) { \
        sample<T, Distribution>(args);                                 \
    }
#define DROPOUT(name, Op, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Random args) { drop<T>(args); }

FOR_FLOATS(RANDOM, uniform, Uniform)
FOR_FLOATS(RANDOM, normal, Normal)
FOR_FLOATS(RANDOM, exponential, Exponential)
FOR_ALL(RANDOM, random, Integers)
FOR_ALL(RANDOM, bernoulli, Bernoulli)
FOR_FLOATS(DROPOUT, dropout, )
