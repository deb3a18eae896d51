// Operations of three and four inputs. Scalars such as an optimizer's learning rate arrive as
// immediates.
#include "arithmetic.cuh"
#include "elementwise.cuh"
#include "tables.cuh"

struct Where {
    template <class T>
    __device__ T operator()(bool condition, T a, T b) const {
        return condition ? a : b;
    }
};

struct AddScaled {
    template <class T>
    __device__ T operator()(T a, T b, T alpha) const {
        return plus(a, times(alpha, b));
    }
};

struct Addcmul {
    template <class T>
    __device__ T operator()(T a, T b, T c, T value) const {
        return plus(a, times(times(value, b), c));
    }
};

struct Addcdiv {
    template <class T>
    __device__ T operator()(T a, T b, T c, T value) const {
        return a + value * (b / c);
    }
};

// A NaN bound makes the result NaN; where the bounds are crossed, the upper one holds.
struct Clamp {
    template <class T>
    __device__ T operator()(T x, T low, T high) const {
        return smaller(larger(x, low), high);
    }
};

// Two forms, so that weight 0 gives exactly a and weight 1 exactly b.
struct Lerp {
    template <class T>
    __device__ T operator()(T a, T b, T weight) const {
        const T span = b - a;
        return weight < T{0.5} ? a + weight * span : b - span * (T{1} - weight);
    }
};

#define CHOICE(name, Op, T)                                                    \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<4> args) { \
        map<T, bool, T, T>(args, Op{});                                        \
    }
#define TERNARY(name, Op, T)                                                   \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<4> args) { \
        map<T, T, T, T>(args, Op{});                                           \
    }
#define QUATERNARY(name, Op, T)                                                \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<5> args) { \
        map<T, T, T, T, T>(args, Op{});                                        \
    }

FOR_ALL(CHOICE, where, Where)
FOR_NUMBERS(TERNARY, add_scaled, AddScaled)
FOR_NUMBERS(TERNARY, clamp, Clamp)
FOR_FLOATS(TERNARY, lerp, Lerp)
FOR_NUMBERS(QUATERNARY, addcmul, Addcmul)
FOR_FLOATS(QUATERNARY, addcdiv, Addcdiv)
