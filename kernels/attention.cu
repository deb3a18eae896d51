// Attention, and its gradients, without a matrix of all scores: a block of scores is computed, used and
// forgotten. T. Dao: "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning"
// (2023), of which this has the loops: results and the gradients of queries go to blocks of queries,
// the gradients of keys and values to blocks of keys, and nothing is added atomically.
#include "attention.cuh"
#include "block_reduce.cuh"
#include "tables.cuh"
#include "tiles.cuh"

// A thread computes EACH x EACH elements of a tile.
template <class T>
constexpr int EACH = std::is_same_v<T, f64> ? 2 : 4;
template <class T>
constexpr int SIZE = SIDE * EACH<T>;

template <class T>
using Part = Value<T>[EACH<T>][EACH<T>];

template <class T>
struct Working {
    Tile<T, EACH<T>> left, right;
    // A block of shares, or of their gradients, summed over SIDE rows at a time.
    Tile<T, EACH<T>> block[EACH<T>];
};

template <class T>
__device__ Working<T>& working() {
    __shared__ Working<T> memory;
    return memory;
}

// Brings what rows have from `row` and `col` on to a tile, which is summed over rows if DOWN, else over
// columns. Elements outside are zeros.
template <class T, bool DOWN>
__device__ void bring(Tile<T, EACH<T>>& tile, const HeadRows<T>& rows, int64_t row, int64_t col) {
    // Neighbouring threads read what lies side by side.
    constexpr int ACROSS = DOWN ? SIZE<T> : SIDE;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    const int column = thread % ACROSS, first = thread / ACROSS;
    T loaded[EACH<T>];
#pragma unroll
    for (int e = 0; e < EACH<T>; ++e) {
        const int64_t r = row + first + e * (THREADS / ACROSS);
        const bool inside = r < rows.rows && col + column < rows.columns;
        loaded[e] = inside ? rows.data[r * rows.stride + col + column] : T{};
    }
#pragma unroll
    for (int e = 0; e < EACH<T>; ++e) {
        const int r = first + e * (THREADS / ACROSS);
        (DOWN ? tile.rows[r][column] : tile.rows[column][r]) = load<T>(loaded[e]);
    }
}

// Adds the products of rows of `a` from `a_row` on with those of `b` from `b_row` on.
template <class T>
__device__ void add_row_products(Part<T>& sums, const HeadRows<T>& a, int64_t a_row,
                                 const HeadRows<T>& b, int64_t b_row) {
    Working<T>& memory = working<T>();
#pragma unroll 1
    for (int64_t deep = 0; deep < a.columns; deep += SIDE) {
        bring<T, false>(memory.left, a, a_row, deep);
        bring<T, false>(memory.right, b, b_row, deep);
        __syncthreads();
        add_products<T, EACH<T>>(sums, memory.left, memory.right);
        __syncthreads();
    }
}

// Adds the products of a block, whose parts are transposed with ACROSS, with the columns from `col` on
// of `rows` from `row` on.
template <class T, bool ACROSS>
__device__ void add_block_products(Part<T>& sums, const Part<T>& parts, const HeadRows<T>& rows,
                                   int64_t row, int64_t col) {
    Working<T>& memory = working<T>();
#pragma unroll
    for (int i = 0; i < EACH<T>; ++i) {
#pragma unroll
        for (int j = 0; j < EACH<T>; ++j) {
            const int y = place<EACH<T>>(threadIdx.y, i), x = place<EACH<T>>(threadIdx.x, j);
            const int summed = ACROSS ? x : y, other = ACROSS ? y : x;
            memory.block[summed / SIDE].rows[summed % SIDE][other] = parts[i][j];
        }
    }
#pragma unroll 1
    for (int step = 0; step < EACH<T>; ++step) {
        bring<T, true>(memory.right, rows, row + step * SIDE, col);
        __syncthreads();
        add_products<T, EACH<T>>(sums, memory.block[step], memory.right);
        __syncthreads();
    }
}

// A head of queries: its scores, and what is dropped of its shares.
template <class T>
struct Head : QueryHead<T> {
    using V = Value<T>;
    using QueryHead<T>::args;
    using QueryHead<T>::QueryHead;

    // Which scores of a thread count, a bit for each: those of a query that is there, and sees the key.
    // The loop is not unrolled, and so leaves the registers of the scores alone.
    __device__ uint32_t seen(int64_t row, int64_t key) const {
        uint32_t bits = 0;
#pragma unroll 1
        for (int e = 0; e < EACH<T> * EACH<T>; ++e) {
            const bool counts = this->sees(row + e / EACH<T>, key + e % EACH<T>);
            bits |= static_cast<uint32_t>(counts) << e;
        }
        return bits;
    }

    // The scores of a thread's queries from `row` on and keys from `key` on, in place of the products;
    // negative infinity where a query does not see a key.
    __device__ void score(Part<T>& products, int64_t row, int64_t key) const {
        const uint32_t bits = seen(row, key);
        const V* const mask = static_cast<const V*>(args.mask) + this->mask_place(row, key);
#pragma unroll
        for (int i = 0; i < EACH<T>; ++i) {
#pragma unroll
            for (int j = 0; j < EACH<T>; ++j) {
                const bool counts = bits >> (i * EACH<T> + j) & 1;
                products[i][j] *= static_cast<V>(args.scale);
                if (counts && args.mask_kind == 2)
                    products[i][j] += mask[i * args.mask_strides[2] + j * args.mask_strides[3]];
                if (!counts) products[i][j] = -static_cast<V>(INFINITY);
            }
        }
    }

    // Which shares of a thread stay, a bit for each: those of a query in its keys lie in one block of
    // random words.
    __device__ uint32_t kept(int64_t row, int64_t key) const {
        if (args.keep >= 1) return ~0u;
        uint32_t bits = 0;
#pragma unroll 1
        for (int i = 0; i < EACH<T>; ++i) {
            const Words words = this->words(row + i, key);
#pragma unroll
            for (int j = 0; j < EACH<T>; ++j) {
                const uint32_t word = words.word(static_cast<int>(key % 4) + j);
                const double unit = static_cast<double>(word >> 8) * (1.0 / (1 << 24));
                bits |= static_cast<uint32_t>(unit < args.keep) << (i * EACH<T> + j);
            }
        }
        return bits;
    }

    // The factor of a thread's share by such bits.
    __device__ V factor(uint32_t kept, int i, int j) const {
        return kept >> (i * EACH<T> + j) & 1 ? static_cast<V>(1 / args.keep) : V{0};
    }
};

// Which block of results a job is: rows of a head, and some of its columns.
template <class T>
struct Job {
    int64_t head, row, col;

    __device__ Job(int64_t job, int64_t rows, int64_t columns) {
        const int64_t across = columns > 0 ? (columns + SIZE<T> - 1) / SIZE<T> : 1;
        const int64_t down = (rows + SIZE<T> - 1) / SIZE<T>;
        col = job % across * SIZE<T>;
        row = job / across % down * SIZE<T>;
        head = job / across / down;
    }
};

template <class T>
__device__ void forward(const Attention& args, int64_t number) {
    using V = Value<T>;
    constexpr int N = EACH<T>;
    const Job<T> job(number, args.queries, args.columns);
    const Head<T> head(args, job.head);
    const HeadRows<T> q = head.q(), k = head.k(), v = head.v();
    Part<T> results = {};
    V largest[N], sum[N] = {};
#pragma unroll
    for (V& value : largest) value = -static_cast<V>(INFINITY);
    const int64_t seen = job.row + SIZE<T>;
    const int64_t last = args.causal && seen < args.keys ? seen : args.keys;
#pragma unroll 1
    for (int64_t key = 0; key < last; key += SIZE<T>) {
        Part<T> shares = {};
        add_row_products<T>(shares, q, job.row, k, key);
        const int64_t own_row = job.row + place<N>(threadIdx.y, 0);
        const int64_t own_key = key + place<N>(threadIdx.x, 0);
        head.score(shares, own_row, own_key);
        const uint32_t kept = head.kept(own_row, own_key);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            V top = largest[i];
#pragma unroll
            for (int j = 0; j < N; ++j) top = larger(top, shares[i][j]);
            top = merge_in_warp(top, SIDE, [](V a, V b) { return larger(a, b); });
            const V base = top == -static_cast<V>(INFINITY) ? V{0} : top;
            const V factor = exp(largest[i] - base);
            V total = 0;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const V share = exp(shares[i][j] - base);
                total += share;
                shares[i][j] = share * head.factor(kept, i, j);
                results[i][j] *= factor;
            }
            sum[i] = sum[i] * factor + merge_in_warp(total, SIDE, [](V a, V b) { return a + b; });
            largest[i] = top;
        }
        add_block_products<T, true>(results, shares, v, key, job.col);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const int64_t query = job.row + place<N>(threadIdx.y, i);
        if (query >= args.queries) continue;
        const V factor = sum[i] == 0 ? V{0} : 1 / sum[i];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const int64_t col = job.col + place<N>(threadIdx.x, j);
            if (col >= args.columns) continue;
            T* const row = static_cast<T*>(args.out) + head.row_of(query) * args.columns;
            row[col] = convert<T>(results[i][j] * factor);
        }
        if (job.col != 0 || threadIdx.x != 0) continue;
        static_cast<V*>(args.log_sum)[head.place_of(query)] =
            sum[i] == 0 ? static_cast<V>(INFINITY) : largest[i] + log(sum[i]);
    }
}

// The shares of the values in a block of scores, less what is dropped, and the gradients of the
// products of queries and keys, for queries from `row` on and keys from `key` on.
template <class T>
__device__ void differentiate(const Head<T>& head, int64_t row, int64_t key,
                              const Value<T> (&log_sum)[EACH<T>], const Value<T> (&delta)[EACH<T>],
                              Part<T>& shares, Part<T>& slopes) {
    using V = Value<T>;
    constexpr int N = EACH<T>;
    add_row_products<T>(shares, head.q(), row, head.k(), key);
    add_row_products<T>(slopes, head.grad(), row, head.v(), key);
    const int64_t own_row = row + place<N>(threadIdx.y, 0);
    const int64_t own_key = key + place<N>(threadIdx.x, 0);
    head.score(shares, own_row, own_key);
    const uint32_t kept = head.kept(own_row, own_key);
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const V factor = head.factor(kept, i, j);
            const V share = exp(shares[i][j] - log_sum[i]);
            const V slope = slopes[i][j] * factor - delta[i];
            slopes[i][j] = share * slope * static_cast<V>(head.args.scale);
            shares[i][j] = share * factor;
        }
    }
}

// What there is one of for each query, for a thread's queries; `filler` for those outside.
template <class T>
__device__ void of_queries(const Head<T>& head, const void* first, int64_t row, Value<T> filler,
                           Value<T> (&values)[EACH<T>]) {
#pragma unroll
    for (int i = 0; i < EACH<T>; ++i) {
        const int64_t query = row + place<EACH<T>>(threadIdx.y, i);
        const bool inside = query < head.args.queries;
        values[i] = inside ? static_cast<const Value<T>*>(first)[head.place_of(query)] : filler;
    }
}

// The product of each result with its gradient.
template <class T>
__device__ void find_delta(const Head<T>& head, int64_t row, Value<T> (&delta)[EACH<T>]) {
    using V = Value<T>;
    const Attention& args = head.args;
    const HeadRows<T> grad = head.grad();
#pragma unroll
    for (int i = 0; i < EACH<T>; ++i) {
        const int64_t query = row + place<EACH<T>>(threadIdx.y, i);
        const bool inside = query < args.queries;
        const T* const out = static_cast<const T*>(args.out) + head.row_of(query) * args.columns;
        V sum = 0;
#pragma unroll 1
        for (int64_t col = threadIdx.x; inside && col < args.columns; col += SIDE)
            sum += load<T>(out[col]) * load<T>(grad.data[query * grad.stride + col]);
        delta[i] = merge_in_warp(sum, SIDE, [](V a, V b) { return a + b; });
    }
}

// The gradient of the queries, and `delta`, which that of keys and values needs.
template <class T>
__device__ void backward_queries(const Attention& args, int64_t number) {
    using V = Value<T>;
    constexpr int N = EACH<T>;
    const Job<T> job(number, args.queries, args.depth);
    const Head<T> head(args, job.head);
    V log_sum[N], delta[N];
    of_queries<T>(head, args.log_sum, job.row, static_cast<V>(INFINITY), log_sum);
    find_delta<T>(head, job.row, delta);
    Part<T> results = {};
    const int64_t seen = job.row + SIZE<T>;
    const int64_t last = args.causal && seen < args.keys ? seen : args.keys;
#pragma unroll 1
    for (int64_t key = 0; key < (args.dq == nullptr ? 0 : last); key += SIZE<T>) {
        Part<T> shares = {}, slopes = {};
        differentiate<T>(head, job.row, key, log_sum, delta, shares, slopes);
        add_block_products<T, true>(results, slopes, head.k(), key, job.col);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const int64_t query = job.row + place<N>(threadIdx.y, i);
        if (query >= args.queries) continue;
        if (job.col == 0 && threadIdx.x == 0)
            static_cast<V*>(args.delta)[head.place_of(query)] = delta[i];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const int64_t col = job.col + place<N>(threadIdx.x, j);
            if (args.dq == nullptr || col >= args.depth) continue;
            T* const row = static_cast<T*>(args.dq) + head.row_of(query) * args.depth;
            row[col] = convert<T>(results[i][j]);
        }
    }
}

// Writes a thread's part of the gradient of keys or values.
template <class T>
__device__ void put_gradient(void* first, const Part<T>& results, const Attention& args,
                             const Job<T>& job, int64_t columns) {
    if (first == nullptr) return;
    const int64_t batch = job.head / args.kv_heads, head = job.head % args.kv_heads;
#pragma unroll
    for (int i = 0; i < EACH<T>; ++i) {
        const int64_t key = job.row + place<EACH<T>>(threadIdx.y, i);
#pragma unroll
        for (int j = 0; j < EACH<T>; ++j) {
            const int64_t col = job.col + place<EACH<T>>(threadIdx.x, j);
            if (key >= args.keys || col >= columns) continue;
            const int64_t row = (batch * args.keys + key) * args.kv_heads + head;
            static_cast<T*>(first)[row * columns + col] = convert<T>(results[i][j]);
        }
    }
}

// The gradients of keys and values, which all heads that share them add to.
template <class T>
__device__ void backward_keys(const Attention& args, int64_t number) {
    using V = Value<T>;
    constexpr int N = EACH<T>;
    const int64_t columns = args.depth > args.columns ? args.depth : args.columns;
    const Job<T> job(number, args.keys, columns);
    const int64_t group = args.heads / args.kv_heads;
    Part<T> of_keys = {}, of_values = {};
    // Queries before the first key do not see it.
    const int64_t first = args.causal ? job.row : 0;
#pragma unroll 1
    for (int64_t member = 0; member < group; ++member) {
        const Head<T> head(args, job.head * group + member);
#pragma unroll 1
        for (int64_t query = first; query < args.queries; query += SIZE<T>) {
            V log_sum[N], delta[N];
            of_queries<T>(head, args.log_sum, query, static_cast<V>(INFINITY), log_sum);
            of_queries<T>(head, args.delta, query, V{0}, delta);
            Part<T> shares = {}, slopes = {};
            differentiate<T>(head, query, job.row, log_sum, delta, shares, slopes);
            if (args.dv != nullptr)
                add_block_products<T, false>(of_values, shares, head.grad(), query, job.col);
            if (args.dk != nullptr)
                add_block_products<T, false>(of_keys, slopes, head.q(), query, job.col);
        }
    }
    put_gradient<T>(args.dk, of_keys, args, job, args.depth);
    put_gradient<T>(args.dv, of_values, args, job, args.columns);
}

#define ATTENTION(name, function, T)                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_##T(Attention args) { \
        for (int64_t job = blockIdx.x; job < args.jobs; job += gridDim.x)              \
            function<T>(args, job);                                                    \
    }

FOR_FLOATS(ATTENTION, attention, forward)
FOR_FLOATS(ATTENTION, attention_backward_queries, backward_queries)
FOR_FLOATS(ATTENTION, attention_backward_keys, backward_keys)
