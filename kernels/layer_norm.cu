// Layer normalisation over the rows of a dense matrix, and its gradients.
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

template <class T>
__device__ void forward(const NormalizedRows& args) {
    using V = Value<T>;
    RowShare<T, false> share(args.cols, 1, args.kept_bytes != 0,
                             address(args.out) | address(args.x) | address(args.weight) |
                                 address(args.bias));
    share.for_each_row(args.rows, [&](int64_t) {
        const T* const x = static_cast<const T*>(args.x) + share.start;
        const auto load_step = [&](int64_t step) { return share.load_unit(x, step, T{}); };
        V sum = 0;
        share.for_each_new(load_step, [&](int64_t step, const Vector<T>& unit) {
            if (share.keeps) kept_unit<Vector<T>>(step) = unit;
            sum += fold_unit<WIDTH<T>>(Plus{}, [&](int k) { return load<T>(unit.elements[k]); });
        });
        const V mean = share.merged(sum, Plus{}) / static_cast<V>(args.cols);
        V squares = 0, rstd = 0;
        // First the squared distances from the mean, then the result.
#pragma unroll 1
        for (int pass = 0; pass < 2; ++pass) {
#pragma unroll 1
            for (int64_t step = 0; step < share.steps; ++step) {
                Vector<T> unit = share.keeps ? kept_unit<Vector<T>>(step) : load_step(step);
                Values<T> distance;
#pragma unroll
                for (int k = 0; k < WIDTH<T>; ++k)
                    distance.of[k] = load<T>(unit.elements[k]) - mean;
                if (pass == 0) {
                    const int left = share.left(step);
                    squares += fold_unit<WIDTH<T>>(Plus{}, [&](int k) {
                        return share.has(left, k) ? distance.of[k] * distance.of[k] : V{0};
                    });
                    continue;
                }
#pragma unroll
                for (auto& value : distance.of) value *= rstd;
#pragma unroll 1
                for (int which = 0; which < 2; ++which) {
                    const auto values = parameter(share, which == 0 ? args.weight : args.bias,
                                                  args.wide != 0, step, which == 0 ? V{1} : V{0});
#pragma unroll
                    for (int k = 0; k < WIDTH<T>; ++k)
                        distance.of[k] = which == 0 ? distance.of[k] * values.of[k]
                                                    : distance.of[k] + values.of[k];
                }
#pragma unroll
                for (int k = 0; k < WIDTH<T>; ++k)
                    unit.elements[k] = convert<T>(distance.of[k]);
                share.store_unit(static_cast<T*>(args.out) + share.start, step, unit);
            }
            if (pass == 0) {
                const V variance = share.merged(squares, Plus{}) / static_cast<V>(args.cols);
                rstd = 1 / sqrt(variance + static_cast<V>(args.epsilon));
            }
        }
    });
}

// Sums over a row, where d is the distance of an element from the mean, and g the gradient with
// respect to the result, times the weight.
template <class V>
struct Sums {
    V dd, g, gd;
};

template <class V>
__device__ Sums<V> exchange(Sums<V> sums, int distance) {
    return {exchange(sums.dd, distance), exchange(sums.g, distance), exchange(sums.gd, distance)};
}

// The gradient of x: (g - mean(g) - n * mean(g * n)) * rstd, where n is d * rstd. And what the
// gradients of the parameters need, the mean and rstd of each row.
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
        V sum = 0;
        share.for_each_new(load_step, [&](int64_t step, const Both& both) {
            if (share.keeps) {
                kept_unit<Vector<T>>(2 * step) = both.x;
                kept_unit<Vector<T>>(2 * step + 1) = both.grad;
            }
            sum += fold_unit<WIDTH<T>>(Plus{}, [&](int k) { return load<T>(both.x.elements[k]); });
        });
        const V mean = share.merged(sum, Plus{}) / cols;
        Sums<V> sums{0, 0, 0};
        V rstd = 0;
        // First the sums, then the result.
#pragma unroll 1
        for (int pass = 0; pass < (args.out == nullptr ? 1 : 2); ++pass) {
#pragma unroll 1
            for (int64_t step = 0; step < share.steps; ++step) {
                const Both both = share.keeps ? Both{kept_unit<Vector<T>>(2 * step),
                                                     kept_unit<Vector<T>>(2 * step + 1)}
                                              : load_step(step);
                const auto weight = parameter(share, args.weight, args.wide != 0, step, V{1});
                Values<T> d, g;
                const int left = share.left(step);
#pragma unroll
                for (int k = 0; k < WIDTH<T>; ++k) {
                    d.of[k] = share.has(left, k) ? load<T>(both.x.elements[k]) - mean : V{0};
                    g.of[k] = load<T>(both.grad.elements[k]) * weight.of[k];
                }
                if (pass == 0) {
                    sums.dd += fold_unit<WIDTH<T>>(Plus{}, [&](int k) { return d.of[k] * d.of[k]; });
                    sums.g += fold_unit<WIDTH<T>>(Plus{}, [&](int k) { return g.of[k]; });
                    sums.gd += fold_unit<WIDTH<T>>(Plus{}, [&](int k) { return g.of[k] * d.of[k]; });
                    continue;
                }
                Vector<T> unit;
#pragma unroll
                for (int k = 0; k < WIDTH<T>; ++k) {
                    const V n = d.of[k] * rstd;
                    unit.elements[k] =
                        convert<T>((g.of[k] - sums.g - n * (sums.gd * rstd)) * rstd);
                }
                share.store_unit(static_cast<T*>(args.out) + share.start, step, unit);
            }
            if (pass == 0) {
                sums = share.merged(sums, [](const Sums<V>& a, const Sums<V>& b) {
                    return Sums<V>{a.dd + b.dd, a.g + b.g, a.gd + b.gd};
                });
                sums = {sums.dd / cols, sums.g / cols, sums.gd / cols};
                rstd = 1 / sqrt(sums.dd + static_cast<V>(args.epsilon));
            }
        }
        if (args.statistics != nullptr && share.own > 0 && share.lane == 0) {
            V* const statistics = static_cast<V*>(args.statistics) + 2 * row;
            statistics[0] = mean;
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
