// Resampling: each result is a sum of weighted elements, by a rule along each axis (interpolation,
// and padding with elements of the array). Backward, each element collects from the results that it
// is a part of, in a fixed order.
#include "arithmetic.cuh"
#include "layout.cuh"
#include "tables.cuh"

enum ResampleRule : int32_t { NEAREST, LINEAR, CUBIC, REFLECT, REPLICATE, CIRCULAR };

// What a launch passes; the crate `tensor` mirrors it. Arrays are dense and seen as
// [planes, depth, height, width].
//
// Results along an axis are sums of weighted elements, by a rule. `aligned` is whether corners are
// aligned, and of NEAREST whether it is exact.
struct ResampleAxis {
    int64_t input, output;
    int64_t before;
    double scale;
    int32_t rule;
    int32_t aligned;
};

struct Resample {
    void* out;
    const void* in;
    int64_t count;
    ResampleAxis axes[3];
};

static_assert(sizeof(ResampleAxis) == 40 && offsetof(ResampleAxis, rule) == 32);
static_assert(sizeof(Resample) == 144 && offsetof(Resample, axes) == 24);

__device__ inline int64_t clamped(int64_t place, int64_t size) {
    return place < 0 ? 0 : place < size ? place : size - 1;
}

// Where a result lies among the elements.
__device__ inline double source(const ResampleAxis& axis, int64_t output) {
    const double place = static_cast<double>(output);
    return axis.aligned ? place * axis.scale : (place + 0.5) * axis.scale - 0.5;
}

// The weights of cubic convolution with a = -0.75, at a distance of at most 1, and of at most 2.
template <class V>
__device__ V near_weight(V x) {
    return (V(1.25) * x - V(2.25)) * x * x + V(1);
}

template <class V>
__device__ V far_weight(V x) {
    return ((V(-0.75) * x + V(3.75)) * x - V(6)) * x + V(3);
}

// The number of elements that a result is made of.
__device__ inline int parts(const ResampleAxis& axis) {
    return axis.rule == CUBIC ? 4 : axis.rule == LINEAR ? 2 : 1;
}

template <class V>
struct Part {
    int64_t element;
    V weight;
};

// One of the elements that a result is made of.
template <class V>
__device__ Part<V> part(const ResampleAxis& axis, int64_t output, int number) {
    const int64_t shifted = output - axis.before;
    switch (axis.rule) {
        case NEAREST: {
            const float half = axis.aligned ? 0.5f : 0.0f;
            const float place = (static_cast<float>(output) + half) * static_cast<float>(axis.scale);
            return {clamped(static_cast<int64_t>(floorf(place)), axis.input), V(1)};
        }
        case LINEAR: {
            const double place = fmax(source(axis, output), 0.0), first = floor(place);
            const V rest = static_cast<V>(place - first);
            return {clamped(static_cast<int64_t>(first) + number, axis.input),
                    number == 0 ? V(1) - rest : rest};
        }
        case CUBIC: {
            const double place = source(axis, output), first = floor(place);
            const V rest = static_cast<V>(place - first);
            const V weight = number == 0   ? far_weight<V>(rest + V(1))
                             : number == 1 ? near_weight<V>(rest)
                             : number == 2 ? near_weight<V>(V(1) - rest)
                                           : far_weight<V>(V(2) - rest);
            return {clamped(static_cast<int64_t>(first) + number - 1, axis.input), weight};
        }
        case REFLECT: {
            const int64_t place = shifted < 0 ? -shifted : shifted, last = axis.input - 1;
            return {clamped(place > last ? 2 * last - place : place, axis.input), V(1)};
        }
        case REPLICATE: return {clamped(shifted, axis.input), V(1)};
        default: {
            const int64_t rest = shifted % axis.input;
            return {rest < 0 ? rest + axis.input : rest, V(1)};
        }
    }
}

// Results among which are all that an element is a part of: `count` of them.
struct Candidates {
    int64_t first, count;
};

__device__ inline Candidates candidates(const ResampleAxis& axis, int64_t element) {
    const bool is_first = element == 0, is_last = element == axis.input - 1;
    int64_t first, end;
    if (axis.rule == REFLECT || axis.rule == CIRCULAR) {
        return {0, 3};
    } else if (axis.rule == REPLICATE) {
        first = is_first ? 0 : element + axis.before;
        end = is_last ? axis.output : element + axis.before + 1;
    } else {
        // Elements less than `reach` from where a result lies are parts of it; at the ends those
        // that lie outside are, too. One more result at each side makes up for rounding.
        const double reach = axis.rule == CUBIC ? 2.0 : 1.0;
        const double shift = axis.rule == NEAREST || axis.aligned ? 0.0 : 0.5;
        const double place = static_cast<double>(element) + shift;
        const double limit = static_cast<double>(axis.output);
        const bool is_one = axis.scale == 0.0;
        const double low = is_first || is_one ? 0.0 : (place - reach) / axis.scale - 2.0;
        const double high = is_last || is_one ? limit : (place + reach) / axis.scale + 2.0;
        first = static_cast<int64_t>(fmin(fmax(low, 0.0), limit));
        end = static_cast<int64_t>(fmin(fmax(high, 0.0), limit));
    }
    first = first < 0 ? 0 : first;
    end = end > axis.output ? axis.output : end;
    return {first, end > first ? end - first : 0};
}

// One of the candidates; negative, or beyond the results, where there is none.
__device__ inline int64_t candidate(const ResampleAxis& axis, int64_t element, int64_t first,
                                    int64_t number) {
    const int64_t own = element + axis.before, last = axis.input - 1;
    if (axis.rule == CIRCULAR) return own + (number - 1) * axis.input;
    if (axis.rule != REFLECT) return first + number;
    if (number == 0) return element == 0 ? -1 : axis.before - element;
    if (number == 1) return own;
    return element == last ? -1 : axis.before + 2 * last - element;
}

// The weight that an element has in a result.
template <class V>
__device__ V weight(const ResampleAxis& axis, int64_t output, int64_t element) {
    if (output < 0 || output >= axis.output) return V(0);
    V sum = V(0);
#pragma unroll 1
    for (int number = 0; number < parts(axis); ++number) {
        const Part<V> each = part<V>(axis, output, number);
        if (each.element == element) sum += each.weight;
    }
    return sum;
}

template <class T>
__device__ void resample(const Resample& args) {
    using V = Value<T>;
    const ResampleAxis &depth = args.axes[0], &height = args.axes[1], &width = args.axes[2];
    const int64_t plane_inputs = depth.input * height.input * width.input;
    for (int64_t o = grid_thread(); o < args.count; o += grid_threads()) {
        const int64_t row = o / width.output, slice = row / height.output;
        const int64_t plane = slice / depth.output;
        const int64_t z = slice - plane * depth.output, y = row - slice * height.output;
        const int64_t x = o - row * width.output;
        const Stored<T>* const in = static_cast<const Stored<T>*>(args.in) + plane * plane_inputs;
        V sum = V(0);
        bool is_first = true;
#pragma unroll 1
        for (int k = 0; k < parts(depth); ++k) {
            const Part<V> of_z = part<V>(depth, z, k);
#pragma unroll 1
            for (int j = 0; j < parts(height); ++j) {
                const Part<V> of_y = part<V>(height, y, j);
                const int64_t first = (of_z.element * height.input + of_y.element) * width.input;
#pragma unroll 1
                for (int i = 0; i < parts(width); ++i) {
                    const Part<V> of_x = part<V>(width, x, i);
                    const V weight = of_z.weight * of_y.weight * of_x.weight;
                    const V value = times(load<T>(in[first + of_x.element]), weight);
                    // The first is not added to 0, so that the sign of a zero stays.
                    sum = is_first ? value : plus(sum, value);
                    is_first = false;
                }
            }
        }
        static_cast<Stored<T>*>(args.out)[o] = convert<T>(sum);
    }
}

template <class T>
__device__ void resample_backward(const Resample& args) {
    using V = Value<T>;
    const ResampleAxis &depth = args.axes[0], &height = args.axes[1], &width = args.axes[2];
    const int64_t plane_outputs = depth.output * height.output * width.output;
    for (int64_t e = grid_thread(); e < args.count; e += grid_threads()) {
        const int64_t row = e / width.input, slice = row / height.input;
        const int64_t plane = slice / depth.input;
        const int64_t z = slice - plane * depth.input, y = row - slice * height.input;
        const int64_t x = e - row * width.input;
        const Stored<T>* const in = static_cast<const Stored<T>*>(args.in) + plane * plane_outputs;
        const Candidates of_z = candidates(depth, z), of_y = candidates(height, y);
        const Candidates of_x = candidates(width, x);
        V sum = V(0);
#pragma unroll 1
        for (int64_t k = 0; k < of_z.count; ++k) {
            const int64_t from_z = candidate(depth, z, of_z.first, k);
            const V weight_z = weight<V>(depth, from_z, z);
            if (weight_z == V(0)) continue;
#pragma unroll 1
            for (int64_t j = 0; j < of_y.count; ++j) {
                const int64_t from_y = candidate(height, y, of_y.first, j);
                const V weight_y = weight_z * weight<V>(height, from_y, y);
                if (weight_y == V(0)) continue;
                const int64_t first = (from_z * height.output + from_y) * width.output;
#pragma unroll 1
                for (int64_t i = 0; i < of_x.count; ++i) {
                    const int64_t from_x = candidate(width, x, of_x.first, i);
                    const V share = weight_y * weight<V>(width, from_x, x);
                    if (share != V(0)) sum += load<T>(in[first + from_x]) * share;
                }
            }
        }
        static_cast<Stored<T>*>(args.out)[e] = convert<T>(sum);
    }
}

#define RESAMPLE(name, function, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Resample args) { function<T>(args); }

FOR_FLOATS(RESAMPLE, resample, resample)
FOR_FLOATS(RESAMPLE, resample_backward, resample_backward)
RESAMPLE(resample, resample, i64)
