// Pooling: the largest element, or the average, of each window, and the gradients of the elements,
// each of which collects from the windows that have it, in a fixed order.
#include "arithmetic.cuh"
#include "layout.cuh"
#include "tables.cuh"

// What a launch passes; the crate `tensor` mirrors it. Arrays are dense and seen as
// [planes, depth, height, width].
//
// Windows along an axis: window o has `kernel` elements, `dilation` apart, from o * stride - padding
// on, of which those count that lie in the array. With a kernel of 0 they divide the axis into
// `output` parts of about the same length.
struct WindowAxis {
    int64_t input, output;
    int64_t kernel, stride, padding, dilation;
};

// `places` are those of the largest elements in their planes: written, unless null, by the forward
// functions, and read by the gradient. Averages are sums divided by `divisor`, or where it is 0 by
// the number of elements, with or without those of the padding. `count` is how many elements of `out`
// there are.
struct Pool {
    void* out;
    int64_t* places;
    const void* in;
    int64_t count;
    int64_t divisor;
    int64_t counts_padding;
    WindowAxis axes[3];
};

static_assert(sizeof(WindowAxis) == 48 && sizeof(Pool) == 192 && offsetof(Pool, axes) == 48);

// Elements along an axis: `count` of them, `step` apart.
struct Span {
    int64_t first, count, step;
};

__device__ inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

__device__ inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Of numbers that are not negative.
__device__ inline int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

__device__ inline Span window(const WindowAxis& axis, int64_t output) {
    if (axis.kernel == 0) {
        const int64_t first = output * axis.input / axis.output;
        return {first, divided_up((output + 1) * axis.input, axis.output) - first, 1};
    }
    const int64_t start = output * axis.stride - axis.padding;
    const int64_t outside = divided_up(most(-start, 0), axis.dilation);
    const int64_t first = start + outside * axis.dilation;
    const int64_t inside = divided_up(most(axis.input - first, 0), axis.dilation);
    return {first, most(least(axis.kernel - outside, inside), 0), axis.dilation};
}

// The windows that reach over an element.
__device__ inline Span covering(const WindowAxis& axis, int64_t input) {
    int64_t first, end;
    if (axis.kernel == 0) {
        first = input * axis.output / axis.input;
        end = divided_up((input + 1) * axis.output, axis.input);
    } else {
        const int64_t padded = input + axis.padding;
        first = divided_up(most(padded - (axis.kernel - 1) * axis.dilation, 0), axis.stride);
        end = least(padded / axis.stride + 1, axis.output);
    }
    return {first, most(end - first, 0), 1};
}

// The number of elements along an axis that an average is divided by.
__device__ inline int64_t length(const WindowAxis& axis, int64_t output, bool counts_padding) {
    if (axis.kernel == 0 || !counts_padding) return window(axis, output).count;
    return least(axis.kernel, axis.input + 2 * axis.padding - output * axis.stride);
}

// A place in a plane, and the plane's number.
struct Place {
    int64_t plane, z, y, x;
};

__device__ inline Place place_of(int64_t element, int64_t depth, int64_t height, int64_t width) {
    const int64_t row = element / width, slice = row / height, plane = slice / depth;
    return {plane, slice - plane * depth, row - slice * height, element - row * width};
}

__device__ inline Place output_place(const Pool& args, int64_t output) {
    return place_of(output, args.axes[0].output, args.axes[1].output, args.axes[2].output);
}

__device__ inline Place input_place(const Pool& args, int64_t input) {
    return place_of(input, args.axes[0].input, args.axes[1].input, args.axes[2].input);
}

// Calls visit(element, in plane) for each element of three spans, in the order in which they lie.
template <class Visit>
__device__ void for_each(const Span& z, const Span& y, const Span& x, int64_t height, int64_t width,
                         Visit visit) {
#pragma unroll 1
    for (int64_t k = 0; k < z.count; ++k) {
#pragma unroll 1
        for (int64_t j = 0; j < y.count; ++j) {
            const int64_t row = ((z.first + k * z.step) * height + y.first + j * y.step) * width;
#pragma unroll 1
            for (int64_t i = 0; i < x.count; ++i) visit(row + x.first + i * x.step);
        }
    }
}

__device__ inline int64_t plane_inputs(const Pool& args) {
    return args.axes[0].input * args.axes[1].input * args.axes[2].input;
}

template <class V>
__device__ V lowest() {
    if constexpr (std::is_floating_point_v<V>) {
        return static_cast<V>(-INFINITY);
    } else {
        return INT64_MIN;
    }
}

template <class T>
__device__ void max_pool(const Pool& args) {
    const int64_t height = args.axes[1].input, width = args.axes[2].input;
    for (int64_t o = grid_thread(); o < args.count; o += grid_threads()) {
        const Place place = output_place(args, o);
        const Span z = window(args.axes[0], place.z), y = window(args.axes[1], place.y);
        const Span x = window(args.axes[2], place.x);
        const Stored<T>* const in =
            static_cast<const Stored<T>*>(args.in) + place.plane * plane_inputs(args);
        Value<T> largest = lowest<Value<T>>();
        int64_t at = (z.first * height + y.first) * width + least(x.first, width - 1);
        for_each(z, y, x, height, width, [&](int64_t element) {
            const Value<T> value = load<T>(in[element]);
            if (value > largest || value != value) {
                largest = value;
                at = element;
            }
        });
        static_cast<Stored<T>*>(args.out)[o] = convert<T>(largest);
        if (args.places != nullptr) args.places[o] = at;
    }
}

template <class V>
__device__ V divided(V sum, const Pool& args, const Place& output) {
    int64_t count = args.divisor;
    if (count == 0) {
        const bool padding = args.counts_padding != 0;
        count = length(args.axes[0], output.z, padding) * length(args.axes[1], output.y, padding) *
                length(args.axes[2], output.x, padding);
    }
    return sum / static_cast<V>(most(count, 1));
}

template <class T>
__device__ void avg_pool(const Pool& args) {
    const int64_t height = args.axes[1].input, width = args.axes[2].input;
    for (int64_t o = grid_thread(); o < args.count; o += grid_threads()) {
        const Place place = output_place(args, o);
        const Span z = window(args.axes[0], place.z), y = window(args.axes[1], place.y);
        const Span x = window(args.axes[2], place.x);
        const Stored<T>* const in =
            static_cast<const Stored<T>*>(args.in) + place.plane * plane_inputs(args);
        Value<T> sum = 0;
        for_each(z, y, x, height, width,
                 [&](int64_t element) { sum = plus(sum, load<T>(in[element])); });
        static_cast<Stored<T>*>(args.out)[o] = convert<T>(divided(sum, args, place));
    }
}

// Writes, for each element, the sum of gradient(output, element in its plane) over the outputs whose
// windows reach over it.
template <class T, class Gradient>
__device__ void collect(const Pool& args, Gradient gradient) {
    const int64_t height = args.axes[1].output, width = args.axes[2].output;
    const int64_t plane_outputs = args.axes[0].output * height * width;
    for (int64_t i = grid_thread(); i < args.count; i += grid_threads()) {
        const Place place = input_place(args, i);
        const Span z = covering(args.axes[0], place.z), y = covering(args.axes[1], place.y);
        const Span x = covering(args.axes[2], place.x);
        const int64_t first = place.plane * plane_outputs;
        const int64_t own = i - place.plane * plane_inputs(args);
        Value<T> sum = 0;
        for_each(z, y, x, height, width,
                 [&](int64_t output) { sum += gradient(first + output, own); });
        static_cast<Stored<T>*>(args.out)[i] = convert<T>(sum);
    }
}

template <class T>
__device__ void max_pool_backward(const Pool& args) {
    const Stored<T>* const in = static_cast<const Stored<T>*>(args.in);
    collect<T>(args, [&](int64_t output, int64_t own) {
        return args.places[output] == own ? load<T>(in[output]) : Value<T>{0};
    });
}

template <class T>
__device__ void avg_pool_backward(const Pool& args) {
    const Stored<T>* const in = static_cast<const Stored<T>*>(args.in);
    collect<T>(args, [&](int64_t output, int64_t) {
        return divided(load<T>(in[output]), args, output_place(args, output));
    });
}

#define POOL(name, function, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Pool args) { function<T>(args); }

FOR_FLOATS(POOL, max_pool, max_pool)
FOR_FLOATS(POOL, max_pool_backward, max_pool_backward)
FOR_FLOATS(POOL, avg_pool, avg_pool)
FOR_FLOATS(POOL, avg_pool_backward, avg_pool_backward)
POOL(max_pool, max_pool, i64)
POOL(avg_pool, avg_pool, i64)
