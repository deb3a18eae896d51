// Scans of dense [outer, size, inner] arrays along the middle dimension: each result follows from the
// one before and an element. Floats are gathered in f64, and rounded once.
#include "arithmetic.cuh"
#include "block_reduce.cuh"
#include "layout.cuh"
#include "tables.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
// The neighbouring elements that a thread gathers by itself.
constexpr int EACH = 4;

struct Sum {
    template <class V>
    __device__ static V identity() {
        return V{0};
    }
    template <class V>
    __device__ static V join(V earlier, V later) {
        return plus(earlier, later);
    }
};

struct Product {
    template <class V>
    __device__ static V identity() {
        return V{1};
    }
    template <class V>
    __device__ static V join(V earlier, V later) {
        return times(earlier, later);
    }
};

template <class T>
using Gathered = std::conditional_t<IS_FLOAT<T>, f64, i64>;

// What the threads of a block before this one have gathered, if each has `own`; `all` becomes what
// all of them have.
template <class Op, class V>
__device__ V gathered_before(V own, V& all) {
    __shared__ V totals[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    V upto = own;
#pragma unroll
    for (int distance = 1; distance < WARP; distance *= 2) {
        const V earlier = __shfl_up_sync(0xFFFFFFFF, upto, distance);
        if (lane >= distance) upto = Op::join(earlier, upto);
    }
    const V neighbour = __shfl_up_sync(0xFFFFFFFF, upto, 1);
    if (lane == WARP - 1) totals[warp] = upto;
    __syncthreads();
    V before = Op::template identity<V>();
    all = before;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp) before = all;
        all = Op::join(all, totals[w]);
    }
    // Before the next call writes, all must have read.
    __syncthreads();
    return lane == 0 ? before : Op::join(before, neighbour);
}

// A block scans the elements [from, to) of a row, after which `carry` is what there is up to their
// end. The results are stored if there is somewhere to store them.
template <class T, class Op>
__device__ void scan_part(const T* in, Stored<T>* out, int64_t from, int64_t to,
                          Gathered<T>& carry) {
    using V = Gathered<T>;
#pragma unroll 1
    for (int64_t first = from; first < to; first += THREADS * EACH) {
        const int64_t mine = first + threadIdx.x * EACH;
        V upto[EACH];
        V own = Op::template identity<V>();
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            if (mine + e < to) own = Op::join(own, static_cast<V>(load<T>(in[mine + e])));
            upto[e] = own;
        }
        V all;
        const V before = Op::join(carry, gathered_before<Op>(own, all));
        if (out != nullptr) {
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                if (mine + e < to) out[mine + e] = convert<T>(Op::join(before, upto[e]));
            }
        }
        carry = Op::join(carry, all);
    }
}

// Where elements lie side by side along the dimension, a block takes a part of a row. With several
// parts there are two launches: the first notes what each part gathers, the second begins with what
// the parts before it have.
template <class T, class Op>
__device__ void scan_rows(const Scan& args) {
    using V = Gathered<T>;
    V* const totals = static_cast<V*>(args.totals);
    const int64_t length = (args.size + args.parts - 1) / args.parts;
    for (int64_t job = blockIdx.x; job < args.outer * args.parts; job += gridDim.x) {
        const int64_t row = job / args.parts, part = job - row * args.parts;
        const int64_t from = part * length;
        const int64_t to = from + length < args.size ? from + length : args.size;
        const bool notes = args.parts > 1 && !args.joins;
        V carry = Op::template identity<V>();
        for (int64_t earlier = 0; args.joins && earlier < part; ++earlier) {
            carry = Op::join(carry, totals[row * args.parts + earlier]);
        }
        const T* const in = static_cast<const T*>(args.in) + row * args.size;
        Stored<T>* const out = static_cast<Stored<T>*>(args.out) + row * args.size;
        scan_part<T, Op>(in, notes ? nullptr : out, from, to, carry);
        if (notes && threadIdx.x == 0) totals[job] = carry;
    }
}

// Elsewhere a thread takes a column, and its neighbours those beside it.
template <class T, class Op>
__device__ void scan_columns(const Scan& args) {
    const int64_t columns = args.outer * args.inner;
    for (int64_t column = grid_thread(); column < columns; column += grid_threads()) {
        const int64_t outer = column / args.inner;
        const int64_t first = outer * args.size * args.inner + (column - outer * args.inner);
        const T* __restrict__ const in = static_cast<const T*>(args.in) + first;
        Stored<T>* __restrict__ const out = static_cast<Stored<T>*>(args.out) + first;
        Gathered<T> upto = Op::template identity<Gathered<T>>();
#pragma unroll 8
        for (int64_t i = 0; i < args.size; ++i) {
            const Gathered<T> element = static_cast<Gathered<T>>(load<T>(in[i * args.inner]));
            upto = Op::join(upto, element);
            out[i * args.inner] = convert<T>(upto);
        }
    }
}

template <class T, class Op>
__device__ void scan(const Scan& args) {
    if (args.inner == 1) {
        scan_rows<T, Op>(args);
    } else {
        scan_columns<T, Op>(args);
    }
}

#define SCAN(name, Op, T)                                                         \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_##T(Scan args) { \
        scan<T, Op>(args);                                                        \
    }

FOR_FLOATS(SCAN, cumsum, Sum)
FOR_FLOATS(SCAN, cumprod, Product)
SCAN(cumsum, Sum, i64)
SCAN(cumprod, Product, i64)
