// Layer normalisation over the rows of a dense matrix, and its gradients; with `centered` not set,
// normalisation by the root of the mean square.
#include "moments.cuh"
#include "rows.cuh"
#include "tables.cuh"

template <class T>
constexpr int WIDTH = PER_VECTOR<T>;

// The values of a unit.
template <class T>
struct Values {
    Value<T> of[WIDTH<T>];
};

// What a parameter has for a unit of a row; `missing` where there is no such parameter. With `wide`
// it is of f32 beside halves.
template <class T>
__device__ Values<T> parameter(const RowShare<T, false>& share, const void* first, bool wide,
                               int64_t step, Value<T> missing) {
    Values<T> values;
#pragma unroll
    for (auto& value : values.of) value = missing;
    if (first == nullptr) return values;
    if (IS_HALF<T> && wide) {
        const auto unit = share.load_unit(static_cast<const f32*>(first), step, 0.0f);
#pragma unroll
        for (int k = 0; k < WIDTH<T>; ++k) values.of[k] = unit.elements[k];
    } else {
        const auto unit = share.load_unit(static_cast<const T*>(first), step, T{});
#pragma unroll
        for (int k = 0; k < WIDTH<T>; ++k) values.of[k] = load<T>(unit.elements[k]);
    }
    return values;
}

// What is known of the elements of a row and of the gradients of its results, times the weight: their
// number, both means, the sum of the squared distances of elements from theirs, and of the products of
// both distances. Of rows that are not centered the means count as 0.
template <class V>
struct Joint {
    V count, x, g, xx, xg;
};

template <class V>
__device__ Joint<V> exchange(Joint<V> joint, int distance) {
    return {exchange(joint.count, distance), exchange(joint.x, distance),
            exchange(joint.g, distance), exchange(joint.xx, distance),
            exchange(joint.xg, distance)};
}

// As of moments: see moments.cuh.
struct MergeJoint {
    template <class V>
    __device__ Joint<V> operator()(const Joint<V>& a, const Joint<V>& b) const {
        const V count = a.count + b.count;
        const V share = count == 0 ? V{0} : b.count / count;
        const V x = b.x - a.x, g = b.g - a.g, both = a.count * share;
        return {count, a.x + x * share, a.g + g * share, a.xx + b.xx + x * x * both,
                a.xg + b.xg + x * g * both};
    }
};

struct MergeMoments {
    template <class V>
    __device__ Moments<V> operator()(const Moments<V>& a, const Moments<V>& b) const {
        return merged_moments(a, b);
    }
};

// The sum of of(k) for the elements of a unit.
template <class T, class Of>
__device__ Value<T> sum_of_unit(Of of) {
    return fold_unit<WIDTH<T>>(Plus{}, of);
}

// The number of elements of a unit that are there.
template <class T>
__device__ int count_of_unit(const RowShare<T, false>& share, int left) {
    if (share.packed) return left > 0 ? WIDTH<T> : 0;
    const int count = (left + share.lanes - 1) / share.lanes;
    return count < WIDTH<T> ? count : WIDTH<T>;
}

template <class T>
__device__ void forward(const NormalizedRows& args) {
    using V = Value<T>;
    RowShare<T, false> share(args.cols, 1, args.kept_bytes != 0,
                             address(args.out) | address(args.x) | address(args.weight) |
                                 address(args.bias));
    share.for_each_row(args.rows, [&](int64_t) {
        const T* const x = static_cast<const T*>(args.x) + share.start;
        const auto load_step = [&](int64_t step) { return share.load_unit(x, step, T{}); };
        Moments<V> moments{0, 0, 0};
        share.for_each_new(load_step, [&](int64_t step, const Vector<T>& unit) {
            if (share.keeps) kept_unit<Vector<T>>(step) = unit;
            const int left = share.left(step);
            const int count = count_of_unit(share, left);
            V mean = 0;
            if (args.centered && count > 0)
                mean = sum_of_unit<T>([&](int k) { return load<T>(unit.elements[k]); }) / count;
            const V squares = sum_of_unit<T>([&](int k) {
                const V distance = load<T>(unit.elements[k]) - mean;
                return share.has(left, k) ? distance * distance : V{0};
            });
            moments = merged_moments(moments, {static_cast<V>(count), mean, squares});
        });
        moments = share.merged(moments, MergeMoments{});
        const V mean = moments.mean;
        const V rstd = 1 / sqrt(moments.squares / static_cast<V>(args.cols) +
                                static_cast<V>(args.epsilon));
#pragma unroll 1
        for (int64_t step = 0; step < share.steps; ++step) {
            Vector<T> unit = share.keeps ? kept_unit<Vector<T>>(step) : load_step(step);
            const auto weight = parameter(share, args.weight, args.wide != 0, step, V{1});
            const auto bias = parameter(share, args.bias, args.wide != 0, step, V{0});
#pragma unroll
            for (int k = 0; k < WIDTH<T>; ++k) {
                const V normalized = (load<T>(unit.elements[k]) - mean) * rstd;
                unit.elements[k] = convert<T>(normalized * weight.of[k] + bias.of[k]);
            }
            share.store_unit(static_cast<T*>(args.out) + share.start, step, unit);
        }
    });
}

// The gradient of x: (g - mean(g) - n * mean(g * n)) * rstd, where n is the normalised element. And
// what the gradients of the parameters need, the mean and rstd of each row.
template <class T>
__device__ void backward(const NormalizedRows& args) {
    using V = Value<T>;
    struct Both {
        Vector<T> x, grad;
    };
    RowShare<T, false> share(args.cols, 1, args.kept_bytes != 0,
                             address(args.out) | address(args.x) | address(args.grad) |
                                 address(args.weight));
    const V cols = static_cast<V>(args.cols);
    share.for_each_row(args.rows, [&](int64_t row) {
        const T* const x = static_cast<const T*>(args.x) + share.start;
        const T* const grad = static_cast<const T*>(args.grad) + share.start;
        const auto load_step = [&](int64_t step) {
            return Both{share.load_unit(x, step, T{}), share.load_unit(grad, step, T{})};
        };
        const auto slopes = [&](int64_t step, const Both& both) {
            Values<T> g = parameter(share, args.weight, args.wide != 0, step, V{1});
#pragma unroll
            for (int k = 0; k < WIDTH<T>; ++k) g.of[k] *= load<T>(both.grad.elements[k]);
            return g;
        };
        Joint<V> joint{0, 0, 0, 0, 0};
        // The next units of two rows of 64 bits would be spilled.
        constexpr bool AHEAD = sizeof(T) < 8;
        share.template for_each_new<AHEAD>(load_step, [&](int64_t step, const Both& both) {
            if (share.keeps) {
                kept_unit<Vector<T>>(2 * step) = both.x;
                kept_unit<Vector<T>>(2 * step + 1) = both.grad;
            }
            const Values<T> g = slopes(step, both);
            const int left = share.left(step);
            const int count = count_of_unit(share, left);
            V mean = 0, slope = 0;
            if (args.centered && count > 0) {
                mean = sum_of_unit<T>([&](int k) { return load<T>(both.x.elements[k]); }) / count;
                slope = sum_of_unit<T>([&](int k) { return g.of[k]; }) / count;
            }
            const auto distance = [&](int k) {
                return share.has(left, k) ? load<T>(both.x.elements[k]) - mean : V{0};
            };
            const V xx = sum_of_unit<T>([&](int k) { return distance(k) * distance(k); });
            const V xg = sum_of_unit<T>([&](int k) { return distance(k) * (g.of[k] - slope); });
            joint = MergeJoint{}(joint, Joint<V>{static_cast<V>(count), mean, slope, xx, xg});
        });
        joint = share.merged(joint, MergeJoint{});
        const V rstd = 1 / sqrt(joint.xx / cols + static_cast<V>(args.epsilon));
        const V along = joint.xg / cols * rstd;
#pragma unroll 1
        for (int64_t step = 0; args.out != nullptr && step < share.steps; ++step) {
            const Both both = share.keeps ? Both{kept_unit<Vector<T>>(2 * step),
                                                 kept_unit<Vector<T>>(2 * step + 1)}
                                          : load_step(step);
            const Values<T> g = slopes(step, both);
            Vector<T> unit;
#pragma unroll
            for (int k = 0; k < WIDTH<T>; ++k) {
                const V normalized = (load<T>(both.x.elements[k]) - joint.x) * rstd;
                unit.elements[k] = convert<T>((g.of[k] - joint.g - normalized * along) * rstd);
            }
            share.store_unit(static_cast<T*>(args.out) + share.start, step, unit);
        }
        if (args.statistics != nullptr && share.own > 0 && share.lane == 0) {
            V* const statistics = static_cast<V*>(args.statistics) + 2 * row;
            statistics[0] = joint.x;
            statistics[1] = rstd;
        }
    });
}

// The gradients of weight and bias: sums over all rows.
template <class V>
struct Slopes {
    V weight, bias;
};

// The threads that fold a column together.
constexpr int COLUMN_LANES = 8;

// The columns of a thread: 8 bytes.
template <class T>
constexpr int COLUMNS = 8 / sizeof(T);

// What row `row` adds for some columns from `col` on.
template <class T>
__device__ void add_row(const NormParameters& args, bool packed, int64_t row, int64_t col,
                        Slopes<Value<T>> (&slopes)[COLUMNS<T>]) {
    using V = Value<T>;
    using Columns = Pack<T, COLUMNS<T>>;
    const int64_t at = row * args.cols + col;
    const T* const grad = static_cast<const T*>(args.grad) + at;
    const T* const x = static_cast<const T*>(args.x) + at;
    const V* const statistics = static_cast<const V*>(args.statistics) + 2 * row;
    Columns g{}, own{};
    if (packed) {
        g = load_pack<Columns>(grad);
        if (args.weight != nullptr) own = load_pack<Columns>(x);
    } else {
#pragma unroll
        for (int k = 0; k < COLUMNS<T>; ++k) {
            if (col + k >= args.cols) continue;
            g.elements[k] = grad[k];
            if (args.weight != nullptr) own.elements[k] = x[k];
        }
    }
    const V mean = args.weight == nullptr ? V{0} : statistics[0];
    const V rstd = args.weight == nullptr ? V{0} : statistics[1];
#pragma unroll
    for (int k = 0; k < COLUMNS<T>; ++k) {
        const V slope = load<T>(g.elements[k]);
        slopes[k].weight += slope * ((load<T>(own.elements[k]) - mean) * rstd);
        slopes[k].bias += slope;
    }
}

template <class T>
__device__ void put_slope(const NormParameters& args, void* first, int64_t col, Value<T> slope) {
    if (first == nullptr) return;
    if (IS_HALF<T> && args.wide) {
        static_cast<f32*>(first)[col] = static_cast<f32>(slope);
    } else {
        static_cast<T*>(first)[col] = convert<T>(slope);
    }
}

template <class T>
__device__ void parameters(const NormParameters& args) {
    using V = Value<T>;
    Slopes<V>* const sums = static_cast<Slopes<V>*>(args.sums);
    Slopes<V>* const shared = shared_states<Slopes<V>, MAX_THREADS>();
    const bool packed =
        args.cols % COLUMNS<T> == 0 && (address(args.x) | address(args.grad)) % 8 == 0;
    const int side = blockDim.x / COLUMN_LANES;
    const int lane = threadIdx.x / side;
    const int64_t blocks = (args.cols + side * COLUMNS<T> - 1) / (side * COLUMNS<T>);
    const int64_t parts = args.joins ? 1 : args.parts;
    const int64_t length = (args.rows + parts - 1) / parts;
    for (int64_t block = blockIdx.x; block < blocks * parts; block += gridDim.x) {
        const int64_t part = block / blocks;
        const int64_t col = ((block - part * blocks) * side + threadIdx.x % side) * COLUMNS<T>;
        Slopes<V> slopes[COLUMNS<T>]{};
        if (col < args.cols && lane < COLUMN_LANES) {
            if (args.joins) {
#pragma unroll 1
                for (int64_t p = lane; p < args.parts; p += COLUMN_LANES) {
#pragma unroll
                    for (int k = 0; k < COLUMNS<T>; ++k) {
                        if (col + k >= args.cols) continue;
                        const Slopes<V> found = sums[p * args.cols + col + k];
                        slopes[k].weight += found.weight;
                        slopes[k].bias += found.bias;
                    }
                }
            } else {
                const int64_t begin = part * length;
                const int64_t end = begin + length < args.rows ? begin + length : args.rows;
                // Unrolled, several loads are under way at a time.
#pragma unroll 2
                for (int64_t row = begin + lane; row < end; row += COLUMN_LANES)
                    add_row<T>(args, packed, row, col, slopes);
            }
        }
#pragma unroll
        for (int k = 0; k < COLUMNS<T>; ++k) {
            const auto merge = [](const Slopes<V>& a, const Slopes<V>& b) {
                return Slopes<V>{a.weight + b.weight, a.bias + b.bias};
            };
            const Slopes<V> slope =
                merge_apart(slopes[k], lane, COLUMN_LANES, side, shared, merge);
            if (lane != 0 || col + k >= args.cols) continue;
            if (args.parts > 1 && !args.joins) {
                sums[part * args.cols + col + k] = slope;
            } else {
                put_slope<T>(args, args.weight, col + k, slope.weight);
                put_slope<T>(args, args.bias, col + k, slope.bias);
            }
        }
    }
}

#define ROWS(name, function, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(NormalizedRows args) { function<T>(args); }
#define PARAMETERS(name, function, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(NormParameters args) { function<T>(args); }

FOR_FLOATS(ROWS, layer_norm, forward)
FOR_FLOATS(ROWS, layer_norm_backward, backward)
FOR_FLOATS(PARAMETERS, layer_norm_parameters, parameters)
