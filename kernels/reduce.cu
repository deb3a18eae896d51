// Reductions over any dimensions: one output element from the elements at a fixed set of strides
// around its origin, in one launch or, where there are few outputs, in two.
#include <limits>

#include "arithmetic.cuh"
#include "block_reduce.cuh"
#include "layout.cuh"
#include "tables.cuh"

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
};

template <class T>
struct Amin : Reducer<T> {
    using typename Reducer<T>::State;
    __device__ static State start() { return GREATEST<State>; }
    __device__ static State merge(State a, State b) { return smaller(a, b); }
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

template <class V>
struct Place {
    V value;
    int64_t index;
};

// The first place of the extreme value, or of the first NaN. `Extreme` is the reducer of the value
// itself.
template <class T, template <class> class Extreme>
struct FirstPlace {
    using Out = i64;
    using State = Place<Value<T>>;

    // Any element comes before this index, also where its value is the extreme of its dtype.
    __device__ static State start() { return {Extreme<T>::start(), INT64_MAX}; }
    __device__ static State of(Value<T> x, int64_t index) { return {x, index}; }
    __device__ static int64_t finish(State state, int64_t) { return state.index; }

    __device__ static State merge(State a, State b) {
        const bool a_is_nan = a.value != a.value;
        const bool b_is_nan = b.value != b.value;
        if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
        if (a_is_nan || a.value == b.value) return a.index < b.index ? a : b;
        return Extreme<T>::merge(a.value, b.value) == a.value ? a : b;
    }
};

template <class T>
using Argmax = FirstPlace<T, Amax>;

template <class T>
using Argmin = FirstPlace<T, Amin>;

__device__ inline int64_t offset_of(int64_t linear, int32_t dims, const int64_t (&sizes)[MAX_DIMS],
                                    const int64_t (&strides)[MAX_DIMS]) {
    int64_t offset = 0;
    walk(linear, dims, sizes,
         [&](int32_t d, int64_t coordinate) { offset += coordinate * strides[d]; });
    return offset;
}

// The elements [begin, end) of those that an output folds, of which a lane takes every lanes-th.
struct Share {
    int64_t begin, end;
    int32_t lane, lanes;
};

// What one lane finds.
template <class T, class R>
__device__ typename R::State reduce_lane(const Reduce& args, int64_t output, const Share& share) {
    const Stored<T>* const input =
        static_cast<const Stored<T>*>(args.input) +
        offset_of(output, args.output_dims, args.output_sizes, args.output_strides);
    typename R::State state = R::start();
    if (args.reduced_dims == 1) {
        const int64_t stride = args.reduced_strides[0];
        // Unrolled, several loads are under way at a time.
#pragma unroll 4
        for (int64_t j = share.begin + share.lane; j < share.end; j += share.lanes)
            state = R::merge(state, R::of(load<T>(input[j * stride]), j));
    } else {
#pragma unroll 1
        for (int64_t j = share.begin + share.lane; j < share.end; j += share.lanes) {
            const int64_t offset =
                offset_of(j, args.reduced_dims, args.reduced_sizes, args.reduced_strides);
            state = R::merge(state, R::of(load<T>(input[offset]), j));
        }
    }
    return state;
}

// Whether the elements of neighbouring outputs lie nearer to each other than those of one output.
__device__ inline bool outputs_are_nearer(const Reduce& args) {
    if (args.output_dims == 0 || args.reduced_dims == 0) return false;
    return llabs(args.output_strides[args.output_dims - 1]) <
           llabs(args.reduced_strides[args.reduced_dims - 1]);
}

// Folds, for each of `targets`, what the lanes find, and hands it on. A block takes as many targets
// at a time as it has groups of `lanes` threads. Neighbouring threads are lanes of one target or,
// with `across`, work on neighbouring targets, so that they read what lies side by side.
template <class R, class Find, class Put>
__device__ void fold(int64_t targets, int32_t lanes, bool across, Find find, Put put) {
    const int thread = threadIdx.x;
    const int groups = blockDim.x / lanes;
    const int stride = across ? groups : 1;
    const int group = across ? thread % groups : thread / lanes;
    // Threads beyond the last whole group only keep the others company, as lanes that nobody asks.
    const int lane = across ? thread / groups : group < groups ? thread % lanes : lanes;
    // The same for all threads of a block, as the barriers of merge_lanes() need it.
    for (int64_t first = static_cast<int64_t>(blockIdx.x) * groups; first < targets;
         first += static_cast<int64_t>(gridDim.x) * groups) {
        const int64_t target = first + group;
        const bool takes_part = lane < lanes && target < targets;
        const auto state = takes_part ? find(target, lane) : R::start();
        const auto merged =
            merge_lanes(state, lane, lanes, stride, [](auto a, auto b) { return R::merge(a, b); });
        if (takes_part && lane == 0) put(target, merged);
    }
}

// The states of part p of all outputs lie side by side, as the outputs do.
template <class T, class R>
__device__ void reduce(const Reduce& args) {
    using State = typename R::State;
    Stored<typename R::Out>* const out = static_cast<Stored<typename R::Out>*>(args.output);
    State* const states = static_cast<State*>(args.states);
    const int64_t length = (args.reduced + args.parts - 1) / args.parts;
    const auto find = [&](int64_t target, int32_t lane) {
        State state = R::start();
        if (args.joins) {
#pragma unroll 1
            for (int64_t part = lane; part < args.parts; part += args.lanes)
                state = R::merge(state, states[part * args.outputs + target]);
            return state;
        }
        const int64_t part = args.parts == 1 ? 0 : target / args.outputs;
        const int64_t begin = part * length;
        const int64_t end = begin + length < args.reduced ? begin + length : args.reduced;
        return reduce_lane<T, R>(args, target - part * args.outputs, {begin, end, lane, args.lanes});
    };
    const auto put = [&](int64_t target, State state) {
        if (args.parts == 1 || args.joins) {
            out[target] = convert<typename R::Out>(R::finish(state, args.reduced));
        } else {
            states[target] = state;
        }
    };
    const int64_t targets = args.joins ? args.outputs : args.outputs * args.parts;
    const bool across = !args.joins && outputs_are_nearer(args);
    fold<R>(targets, args.lanes, across, find, put);
}

#define REDUCE(name, Reducer, T)                                       \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Reduce args) { \
        reduce<T, Reducer<T>>(args);                                   \
    }

FOR_ALL(REDUCE, sum, Sum)
FOR_ALL(REDUCE, prod, Prod)
FOR_FLOATS(REDUCE, mean, Mean)
FOR_ALL(REDUCE, amax, Amax)
FOR_ALL(REDUCE, amin, Amin)
FOR_ALL(REDUCE, argmax, Argmax)
FOR_ALL(REDUCE, argmin, Argmin)
FOR_ALL(REDUCE, any, Any)
FOR_ALL(REDUCE, all, All)
