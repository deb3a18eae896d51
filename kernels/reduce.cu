// Reductions over any dimensions: one output element from the elements at a fixed set of strides
// around its origin, in one launch or, where there are few outputs, in two.
#include <limits>

#include "arithmetic.cuh"
#include "block_reduce.cuh"
#include "layout.cuh"
#include "moments.cuh"
#include "tables.cuh"
#include "vector.cuh"

// A reducer says what is kept (State), what nothing and one element amount to (start, of), how two
// parts join (merge), and what is written in the end (finish, Out). This is the part that most have
// in common.
template <class T>
struct Reducer {
    using Out = T;
    using State = Value<T>;
    __device__ static State of(Value<T> x, int64_t) { return x; }
    __device__ static State finish(State state, int64_t) { return state; }
};

// Sums and products of integers and truth values are i64.
template <class T>
using Total = std::conditional_t<IS_FLOAT<T>, T, i64>;

template <class T>
struct TotalReducer {
    using Out = Total<T>;
    using State = Value<Total<T>>;
    __device__ static State of(Value<T> x, int64_t) { return x; }
    __device__ static State finish(State state, int64_t) { return state; }
};

template <class T>
struct Sum : TotalReducer<T> {
    using typename TotalReducer<T>::State;
    __device__ static State start() { return 0; }
    __device__ static State merge(State a, State b) { return plus(a, b); }
};

template <class T>
struct Mean : Sum<T> {
    using typename Sum<T>::State;
    __device__ static State finish(State state, int64_t count) {
        return state / static_cast<State>(count);
    }
};

template <class T>
struct Prod : TotalReducer<T> {
    using typename TotalReducer<T>::State;
    __device__ static State start() { return 1; }
    __device__ static State merge(State a, State b) { return times(a, b); }
};

template <class V, class Limits = std::numeric_limits<V>>
constexpr V LEAST = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();

template <class V, class Limits = std::numeric_limits<V>>
constexpr V GREATEST = Limits::has_infinity ? Limits::infinity() : Limits::max();

template <class T>
struct Amax : Reducer<T> {
    using typename Reducer<T>::State;
    __device__ static State start() { return LEAST<State>; }
    __device__ static State merge(State a, State b) { return larger(a, b); }
    __device__ static bool reaches(State a, State b) { return a >= b; }
};

template <class T>
struct Amin : Reducer<T> {
    using typename Reducer<T>::State;
    __device__ static State start() { return GREATEST<State>; }
    __device__ static State merge(State a, State b) { return smaller(a, b); }
    __device__ static bool reaches(State a, State b) { return a <= b; }
};

// Whether an element is not zero.
template <class T>
struct Truth {
    using Out = bool;
    using State = bool;
    __device__ static bool of(Value<T> x, int64_t) { return x != 0; }
    __device__ static bool finish(bool state, int64_t) { return state; }
};

template <class T>
struct Any : Truth<T> {
    __device__ static bool start() { return false; }
    __device__ static bool merge(bool a, bool b) { return a || b; }
};

template <class T>
struct All : Truth<T> {
    __device__ static bool start() { return true; }
    __device__ static bool merge(bool a, bool b) { return a && b; }
};

// Mean and squared distances: two numbers for each output, of which all the second ones come behind
// all the first ones.
template <class T>
struct Spread {
    using Out = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
    using State = Moments<Value<T>>;
    __device__ static State start() { return {0, 0, 0}; }
    __device__ static State start_at(int64_t) { return start(); }
    __device__ static State of(Value<T> x, int64_t) { return {1, x, 0}; }
    __device__ static State append(State a, State b) { return merge(a, b); }
    __device__ static State merge(State a, State b) { return merged_moments(a, b); }
};

template <class State>
constexpr bool ARE_MOMENTS = std::is_same_v<State, Moments<f32>> ||
                             std::is_same_v<State, Moments<f64>>;

template <class V>
struct Place {
    V value;
    int64_t index;
};

template <class V>
__device__ Place<V> exchange(Place<V> place, int distance) {
    return {exchange(place.value, distance), exchange(place.index, distance)};
}

// The first place of the extreme value, or of the first NaN. `Extreme` is the reducer of the value
// itself.
template <class T, template <class> class Extreme>
struct FirstPlace {
    using Out = i64;
    using State = Place<Value<T>>;

    // Any element comes before this index, also where its value is the extreme of its dtype.
    __device__ static State start() { return start_at(INT64_MAX); }
    __device__ static State start_at(int64_t index) { return {Extreme<T>::start(), index}; }
    __device__ static State of(Value<T> x, int64_t index) { return {x, index}; }
    __device__ static int64_t finish(State state, int64_t) { return state.index; }

    // Whether the first of two values counts.
    __device__ static bool leads(Value<T> first, Value<T> other) {
        return Extreme<T>::reaches(first, other) || first != first;
    }
    __device__ static State append(State a, State b) { return leads(a.value, b.value) ? a : b; }

    __device__ static State merge(State a, State b) {
        const bool a_is_nan = a.value != a.value;
        const bool b_is_nan = b.value != b.value;
        if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
        if (a_is_nan || a.value == b.value) return a.index < b.index ? a : b;
        return Extreme<T>::reaches(a.value, b.value) ? a : b;
    }
};

template <class T>
using Argmax = FirstPlace<T, Amax>;

template <class T>
using Argmin = FirstPlace<T, Amin>;

// merge(), where all elements of `a` come before those of `b`.
template <class R, class State>
__device__ State append(State a, State b) {
    if constexpr (std::is_arithmetic_v<State>) {
        return R::merge(a, b);
    } else {
        return R::append(a, b);
    }
}

// start(), for a lane that has elements, of which the first has this index.
template <class R>
__device__ typename R::State start_at(int64_t index) {
    if constexpr (std::is_arithmetic_v<typename R::State>) {
        return R::start();
    } else {
        return R::start_at(index);
    }
}

__device__ inline int64_t offset_of(int64_t linear, int32_t dims, const int64_t (&sizes)[MAX_DIMS],
                                    const int64_t (&strides)[MAX_DIMS]) {
    int64_t offset = 0;
    walk(linear, dims, sizes,
         [&](int32_t d, int64_t coordinate) { offset += coordinate * strides[d]; });
    return offset;
}

__device__ inline int64_t output_offset(const Reduce& args, int64_t output) {
    return offset_of(output, args.output_dims, args.output_sizes, args.output_strides);
}

__device__ inline int64_t reduced_offset(const Reduce& args, int64_t index) {
    return offset_of(index, args.reduced_dims, args.reduced_sizes, args.reduced_strides);
}

// The elements [begin, end) of those that an output folds, of which a lane takes every lanes-th.
struct Share {
    int64_t begin, end;
    int32_t lane, lanes;
};

// Below so many vectors, a share is read element by element.
constexpr int FEW_VECTORS = 4;

// The number of elements of a share before those that can be loaded as vectors, or -1: if the share
// is short, or does not consist of rows of whole vectors.
template <class T>
__device__ int before_vectors(const Reduce& args, const Stored<T>* input, const Share& share) {
    constexpr int WIDTH = PER_VECTOR<T>;
    const int last = args.reduced_dims - 1;
    if (share.end - share.begin < FEW_VECTORS * WIDTH || args.reduced_strides[last] != 1) return -1;
    const int size = sizeof(Stored<T>);
    const int beyond = misalignment(input + share.begin, sizeof(Vector<T>)) / size;
    if (last == 0) return (WIDTH - beyond) % WIDTH;
    // In several dimensions, all rows start at a vector.
    int64_t odd = beyond | share.begin | args.reduced_sizes[last];
#pragma unroll 1
    for (int d = 0; d < last; ++d) odd |= args.reduced_strides[d];
    return odd % WIDTH == 0 ? 0 : -1;
}

template <class T, class R>
__device__ typename R::State fold_vector(const Vector<T>& vector, int64_t index) {
    if constexpr (std::is_arithmetic_v<typename R::State>) {
        using State = typename R::State;
        return fold_unit<PER_VECTOR<T>>(
            [](State a, State b) { return R::merge(a, b); },
            [&](int k) -> State { return R::of(load<T>(vector.elements[k]), index + k); });
    } else if constexpr (ARE_MOMENTS<typename R::State>) {
        return moments_of<Value<T>, PER_VECTOR<T>>(
            [&](int k) { return load<T>(vector.elements[k]); });
    } else {
        Value<T> values[PER_VECTOR<T>];
        int places[PER_VECTOR<T>];
#pragma unroll
        for (int k = 0; k < PER_VECTOR<T>; ++k) {
            values[k] = load<T>(vector.elements[k]);
            places[k] = k;
        }
#pragma unroll
        for (int apart = 1; apart < PER_VECTOR<T>; apart *= 2) {
#pragma unroll
            for (int k = 0; k < PER_VECTOR<T>; k += 2 * apart) {
                const bool stays = R::leads(values[k], values[k + apart]);
                values[k] = stays ? values[k] : values[k + apart];
                places[k] = stays ? places[k] : places[k + apart];
            }
        }
        return {values[0], index + places[0]};
    }
}

// What one lane finds in the vectors of its share, which start after `before` elements; the elements
// before and after them it takes one by one.
template <class T, class R>
__device__ typename R::State reduce_vectors(const Reduce& args, const Stored<T>* input,
                                            const Share& share, int before) {
    constexpr int WIDTH = PER_VECTOR<T>;
    const int64_t first = share.begin + before;
    const int64_t after = share.end - (share.end - first) % WIDTH;
    const int64_t step = share.lanes * WIDTH;
    const int64_t own = share.lane * WIDTH;
    int64_t base = first;
    typename R::State state = base + own < after ? start_at<R>(base + own) : R::start();
    // Loops end for all lanes together.
    if (args.reduced_dims == 1) {
        // Two loads are under way at a time.
#pragma unroll 1
        for (; base + 2 * step <= after; base += 2 * step) {
            const int64_t j = base + own;
            const Vector<T> loaded[] = {load_pack<Vector<T>>(input + j),
                                        load_pack<Vector<T>>(input + j + step)};
            state = append<R>(state, append<R>(fold_vector<T, R>(loaded[0], j),
                                               fold_vector<T, R>(loaded[1], j + step)));
        }
    }
#pragma unroll 1
    for (; base < after; base += step) {
        const int64_t j = base + own;
        if (j >= after) continue;
        const auto vector = load_pack<Vector<T>>(input + reduced_offset(args, j));
        state = append<R>(state, fold_vector<T, R>(vector, j));
    }
    // Of these there are some only where there is one dimension.
    const int64_t rest = before + (share.end - after);
#pragma unroll 1
    for (int64_t k = share.lane; k < rest; k += share.lanes) {
        const int64_t single = k < before ? share.begin + k : after + (k - before);
        state = R::merge(state, R::of(load<T>(input[single]), single));
    }
    return state;
}

// What one lane finds, where neighbouring lanes work on one output.
template <class T, class R>
__device__ typename R::State reduce_row(const Reduce& args, const Stored<T>* input,
                                        const Share& share) {
    if (share.begin >= share.end) return R::start();
    const int before = args.reduced_dims == 0 ? -1 : before_vectors<T>(args, input, share);
    if (before >= 0) return reduce_vectors<T, R>(args, input, share, before);
    const int64_t first = share.begin + share.lane;
    typename R::State state = first < share.end ? start_at<R>(first) : R::start();
#pragma unroll 1
    for (int64_t base = share.begin; base < share.end; base += share.lanes) {
        const int64_t j = base + share.lane;
        if (j < share.end)
            state = append<R>(state, R::of(load<T>(input[reduced_offset(args, j)]), j));
    }
    return state;
}

// The neighbouring outputs that a thread works on at a time: several of halves, of which a warp's
// load would else be of few bytes. For small integers, which are rare, the code is not worth it.
template <class T>
constexpr int COLUMNS = IS_HALF<T> ? 4 : 1;

// Whether packs of COLUMNS elements, at one place of as many neighbouring outputs, can be loaded.
template <class T>
__device__ bool columns_are_packed(const Reduce& args) {
    const int last = args.output_dims - 1;
    if (args.reduced_dims != 1 || last < 0 || args.output_strides[last] != 1) return false;
    int64_t odd = args.output_sizes[last] | args.reduced_strides[0];
#pragma unroll 1
    for (int d = 0; d < last; ++d) odd |= args.output_strides[d];
    return odd % COLUMNS<T> == 0 && misalignment(args.input, sizeof(Pack<T, COLUMNS<T>>)) == 0;
}

// The states of some outputs.
template <class State, int COUNT>
struct States {
    State of[COUNT];
};

// What one lane finds for `COUNT` neighbouring outputs: one, or as many as are packed. Neighbouring
// threads work on neighbouring outputs.
template <class T, class R, int COUNT>
__device__ States<typename R::State, COUNT> reduce_columns(const Reduce& args,
                                                           const Stored<T>* input,
                                                           const Share& share) {
    constexpr int LOADS = 4;
    using Columns = Pack<T, COUNT>;
    int64_t j = share.begin + share.lane;
    const int64_t step = share.lanes;
    States<typename R::State, COUNT> states;
#pragma unroll
    for (auto& state : states.of) state = j < share.end ? start_at<R>(j) : R::start();
    const auto take = [&](const Columns& columns, int64_t index) {
#pragma unroll
        for (int c = 0; c < COUNT; ++c)
            states.of[c] = append<R>(states.of[c], R::of(load<T>(columns.elements[c]), index));
    };
    if (args.reduced_dims == 1) {
        const int64_t stride = args.reduced_strides[0];
#pragma unroll 1
        for (; j + (LOADS - 1) * step < share.end; j += LOADS * step) {
            Columns loaded[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; ++k)
                loaded[k] = load_pack<Columns>(input + (j + k * step) * stride);
#pragma unroll
            for (int k = 0; k < LOADS; ++k) take(loaded[k], j + k * step);
        }
    }
#pragma unroll 1
    for (; j < share.end; j += step) {
        // Only single columns are reduced over several dimensions.
        const int64_t offset = COUNT == 1 ? reduced_offset(args, j) : j * args.reduced_strides[0];
        take(load_pack<Columns>(input + offset), j);
    }
    return states;
}

// Folds, for each of `targets`, what the lanes find, and hands it on; a target has `COUNT` outputs.
// A block takes several targets at a time. Its threads along x are lanes of one target; or, with
// `ACROSS`, they work on neighbouring targets, so that they read what lies side by side, and the
// lanes of one lie along y.
template <class R, int COUNT, bool ACROSS, class Find, class Put>
__device__ void fold(int64_t targets, Find find, Put put) {
    using State = typename R::State;
    const int lane = ACROSS ? threadIdx.y : threadIdx.x;
    const int lanes = ACROSS ? blockDim.y : blockDim.x;
    const int group = ACROSS ? threadIdx.x : threadIdx.y;
    const int groups = ACROSS ? blockDim.x : blockDim.y;
    int turn = 0;
    State* const shared = shared_states<State, MAX_THREADS>();
    const auto merge = [](State a, State b) { return R::merge(a, b); };
    // The same for all threads of a block, as the barriers of merging need it.
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * groups; first < targets;
         first += static_cast<int64_t>(gridDim.x) * groups) {
        const int64_t target = first + group;
        const bool takes_part = target < targets;
        States<State, COUNT> states;
#pragma unroll
        for (int k = 0; k < COUNT; ++k) states.of[k] = R::start();
        if (takes_part) states = find(target, lane, lanes);
        turn ^= 1;
#pragma unroll 1
        for (int k = 0; k < COUNT; ++k) {
            // Chosen without an address, so that the states stay in registers.
            State state = states.of[0];
#pragma unroll
            for (int other = 1; other < COUNT; ++other)
                if (k == other) state = states.of[other];
            state = ACROSS ? merge_apart(state, lane, lanes, groups, shared, merge)
                           : merge_neighbours(state, lane, lanes, turn, shared, merge);
            if (takes_part && lane == 0) put(target * COUNT + k, state);
        }
    }
}

// A target is a part of `COUNT` neighbouring outputs; or, in the last of two launches, an output,
// of which the states of all parts are folded. Those of one part of all outputs lie side by side,
// as the outputs do.
template <class T, class R, int COUNT, bool ACROSS>
__device__ void reduce(const Reduce& args) {
    using State = typename R::State;
    Stored<typename R::Out>* const out = static_cast<Stored<typename R::Out>*>(args.output);
    State* const states = static_cast<State*>(args.states);
    const int64_t outputs = args.outputs / COUNT;
    // Whole vectors, so that all parts of a row are aligned as the row is.
    const int64_t share = (args.reduced + args.parts - 1) / args.parts;
    const int64_t length = (share + VECTOR_BYTES - 1) & -VECTOR_BYTES;
    const bool joins = ACROSS && COUNT == 1 && args.joins;
    const auto find = [&](int64_t target, int32_t lane, int32_t lanes) {
        States<State, COUNT> found{R::start()};
        if (joins) {
#pragma unroll 1
            for (int64_t part = lane; part < args.parts; part += lanes)
                found.of[0] = R::merge(found.of[0], states[part * args.outputs + target]);
            return found;
        }
        const int64_t part = args.parts == 1 ? 0 : target / outputs;
        const int64_t begin = part * length;
        const int64_t end = begin + length < args.reduced ? begin + length : args.reduced;
        const int64_t output = (target - part * outputs) * COUNT;
        const Stored<T>* const input =
            static_cast<const Stored<T>*>(args.input) + output_offset(args, output);
        const Share own{begin, end, lane, lanes};
        if constexpr (ACROSS) {
            found = reduce_columns<T, R, COUNT>(args, input, own);
        } else {
            found.of[0] = reduce_row<T, R>(args, input, own);
        }
        return found;
    };
    const auto put = [&](int64_t target, State state) {
        if (args.parts > 1 && !joins) {
            states[target] = state;
        } else if constexpr (ARE_MOMENTS<State>) {
            out[target] = args.reduced == 0 ? static_cast<Value<T>>(NAN) : state.mean;
            out[args.outputs + target] = state.squares;
        } else {
            out[target] = convert<typename R::Out>(R::finish(state, args.reduced));
        }
    };
    fold<R, COUNT, ACROSS>(joins ? args.outputs : outputs * args.parts, find, put);
}

template <class T, class R>
__device__ void reduce(const Reduce& args) {
    if (!args.across) return reduce<T, R, 1, false>(args);
    if constexpr (COLUMNS<T> > 1) {
        if (!args.joins && columns_are_packed<T>(args))
            return reduce<T, R, COLUMNS<T>, true>(args);
    }
    reduce<T, R, 1, true>(args);
}

#define REDUCE(name, Reducer, T)                                       \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Reduce args) { \
        reduce<T, Reducer<T>>(args);                                   \
    }

FOR_ALL(REDUCE, sum, Sum)
FOR_ALL(REDUCE, prod, Prod)
FOR_FLOATS(REDUCE, mean, Mean)
FOR_FLOATS(REDUCE, moments, Spread)
FOR_ALL(REDUCE, amax, Amax)
FOR_ALL(REDUCE, amin, Amin)
FOR_ALL(REDUCE, argmax, Argmax)
FOR_ALL(REDUCE, argmin, Argmin)
FOR_ALL(REDUCE, any, Any)
FOR_ALL(REDUCE, all, All)
