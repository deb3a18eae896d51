// What a launch passes: one struct per family, by value, laid out as C lays it out. The launch file
// of the crate `tensor` mirrors these with `#[repr(C)]`; the assertions at the end hold both to one
// layout.
#pragma once

#include <cstddef>
#include <cstdint>

// Grids are one-dimensional, except those of products. Every entry but theirs may be started with blocks
// of any size: without the bound the compiler may give a thread so many registers that the
// largest block does not fit.
constexpr int MAX_THREADS = 1024;
#define LAUNCH_BOUNDS __launch_bounds__(MAX_THREADS)

// The host merges adjacent dimensions before a launch, so more than eight are rare and it copies
// first. Sizes and strides stand outermost first; strides count elements, and may be zero
// (broadcast) or negative.
constexpr int MAX_DIMS = 8;

// Output element o (dense) folds the `reduced` elements of input that lie at its origin plus the
// reduced strides. The threads of a block along x, a power of two, work on one output together; or,
// with `across`, those along y do, and those along x on neighbouring outputs. Where there are few
// outputs, each is folded in several `parts` by a first launch, which leaves their states in `states`
// (24 bytes for each part of each output), and a second one, with `joins` and `across`, folds those.
// Else `parts` is 1.
struct Reduce {
    void* output;
    const void* input;
    int64_t outputs;
    int64_t reduced;
    int32_t output_dims;
    int32_t reduced_dims;
    int32_t lanes;
    int32_t parts;
    void* states;
    int32_t joins;
    int32_t across;
    int64_t output_sizes[MAX_DIMS];
    int64_t output_strides[MAX_DIMS];
    int64_t reduced_sizes[MAX_DIMS];
    int64_t reduced_strides[MAX_DIMS];
};

// c[batches, parts, m, n] is dense; a and b have any strides, so a transposed operand needs no copy.
// Each part has the products of as much of the depth k; they are to be added up. `tile` is the side
// of the tiles of c that the grid is made for, and `threads` a block's.
struct Matmul {
    void* c;
    const void* a;
    const void* b;
    int64_t batches, m, n, k;
    int64_t a_row, a_col, b_row, b_col;
    int32_t batch_dims;
    int32_t parts;
    int32_t tile, threads;
    int64_t batch_sizes[MAX_DIMS];
    int64_t a_batch[MAX_DIMS];
    int64_t b_batch[MAX_DIMS];
};

// Dense [rows / inner, cols, inner] arrays: the elements of a row lie `inner` apart. The threads of a
// block along x, a power of two, work on one row together; or, if `inner` is not 1, those along y do,
// and those along x on neighbouring rows. `kept_bytes` is the launch's dynamic shared memory: 0, or
// enough for what a block works on at a time of `a` and `b`, which it then reads once.
struct Rows {
    void* out;
    const void* a;
    const void* b;
    int64_t rows, cols, inner;
    int32_t lanes, kept_bytes;
};

// Layer normalisation of dense rows, or the gradient of `x`, both in `out`, with `lanes` and
// `kept_bytes` as above, where the operands that are kept are `x` and, for the gradient, `grad`, the
// gradient of the result. `weight` and `bias` may be null; with `wide` they are f32 beside halves. A
// gradient's `out` may be null, and `statistics` too: mean and 1 / deviation of each row, as the
// dtype is computed. Without `centered` all means count as 0: what is divided by is the root of the mean
// square.
struct NormalizedRows {
    void* out;
    const void* x;
    const void* grad;
    const void* weight;
    const void* bias;
    void* statistics;
    int64_t rows, cols;
    double epsilon;
    int32_t lanes, kept_bytes;
    int32_t wide, centered;
};

// The gradients of `weight` and `bias` (those that are not null), which are sums over all rows. With
// several `parts`, a first launch leaves two sums for each part of each column in `sums`, and a second
// one, with `joins`, adds those. Without `weight` no `x` and `statistics` are read.
struct NormParameters {
    void* weight;
    void* bias;
    const void* x;
    const void* grad;
    const void* statistics;
    void* sums;
    int64_t rows, cols;
    int32_t parts, joins;
    int64_t wide;
};

// Dense arrays, seen as [outer, size or count, inner]; the indices choose along the middle
// dimension. Blocks and grid have two dimensions: y goes along `outer`, and x along the others.
struct Index {
    void* out;
    const void* source;
    const int64_t* index;
    int64_t outer, size, count, inner;
};

// `a`, `b`: bounds, or mean and standard deviation, or a probability in `a`, and for dropout a factor
// in `b`. `low`, `high`: bounds of integers. `input`: what dropout drops elements of; it may be
// `out`. With a `state`, as in a graph that draws anew at each launch, the seed is state[0] and
// the offset counts from state[1].
struct Random {
    void* out;
    int64_t numel;
    uint64_t seed;
    uint64_t offset;
    double a, b;
    int64_t low, high;
    const uint64_t* state;
    const void* input;
};

// Floats use `start` and `step`, integers `istart` and `istep`.
struct Range {
    void* out;
    int64_t numel;
    double start, step;
    int64_t istart, istep;
};

// Dense arrays, seen as [outer, size, inner], of which the middle dimension is scanned. In parts, if
// there are several: the first launch writes `totals`, eight bytes for each part of each row, and the
// second, which joins, reads them.
struct Scan {
    void* out;
    const void* in;
    void* totals;
    int64_t outer, size, inner;
    int32_t parts;
    int32_t joins;
};

// A convolution of dense input `x`, weight and output `y`, of which the kernel's name says which one is
// computed, with channels of `groups` groups each: output o meets at kernel position k the input at
// o * stride + k * dilation - padding. `bias`, a number for each channel of the result, may be null.
// For each group that is a product of `rows` by `columns`, in tiles of `tile_rows` by `tile_columns`. A
// weight, and an output on tensor cores, is summed in `parts`, which lie one after the other, in the
// dtype that is computed with, and are to be added up; an input is computed in so many phases, of which
// `columns` are the first one's.
// Positions of the kernel that are `tap_step` apart, stride / gcd(stride, dilation), meet the inputs
// of one phase. A block has so many `threads`, 128 where tensor cores multiply halves: weights lie as
// conv_halves.cu and conv_halves_weight.cu say there.
struct Convolution {
    void* x;
    void* weight;
    void* y;
    const void* bias;
    int64_t batch, groups, in_channels, out_channels;
    int64_t input[3];
    int64_t kernel[3];
    int64_t output[3];
    int64_t stride[3];
    int64_t padding[3];
    int64_t dilation[3];
    int64_t tap_step[3];
    int64_t rows, columns, parts;
    int32_t tile_rows, tile_columns;
    int64_t threads;
};

// The order of `rows` dense rows of `size` elements, of which the places from `first` on, `count` of
// them, are wanted. Rows of several chunks take several launches: the first, with `run` 0, leaves the
// smallest items of each chunk in `to`; the others merge runs of `run` elements each from `from` to
// `to`, where `width` items are for each row, and the last one writes `out`.
struct Sort {
    int64_t* out;
    const void* in;
    const void* from;
    void* to;
    int64_t rows, size, first, count;
    int64_t width, run, descending;
};

// The places of [rows, count] values in [rows, size] elements, which are sorted, or are so in the order
// of `sorter` if that is not null. With `right` equal elements come before a value.
struct Search {
    int64_t* out;
    const void* sorted;
    const void* values;
    const int64_t* sorter;
    int64_t rows, size, count, right;
};

// Dense arrays of `rows` rows, one beside the other in the rows of `out`, which are `row_bytes` long:
// array p takes widths[p] bytes from starts[p] on of each, and the blocks from first_blocks[p] to
// first_blocks[p + 1] of the grid copy it. Everything, addresses too, is a multiple of `unit` bytes:
// 1, 2, 4, 8 or 16.
constexpr int MAX_PARTS = 64;

struct Cat {
    void* out;
    int64_t rows, row_bytes;
    int32_t count, unit;
    const void* parts[MAX_PARTS];
    int64_t starts[MAX_PARTS];
    int64_t widths[MAX_PARTS];
    int32_t first_blocks[MAX_PARTS + 2];
};

static_assert(sizeof(Reduce) == 320 && offsetof(Reduce, lanes) == 40 &&
              offsetof(Reduce, output_sizes) == 64);
static_assert(sizeof(Matmul) == 296 && offsetof(Matmul, batch_dims) == 88 &&
              offsetof(Matmul, batch_sizes) == 104);
static_assert(sizeof(Rows) == 56);
static_assert(sizeof(NormalizedRows) == 88 && offsetof(NormalizedRows, epsilon) == 64);
static_assert(sizeof(NormParameters) == 80 && offsetof(NormParameters, parts) == 64);
static_assert(sizeof(Index) == 56);
static_assert(sizeof(Random) == 80 && offsetof(Random, low) == 48);
static_assert(sizeof(Scan) == 56 && offsetof(Scan, parts) == 48);
static_assert(sizeof(Sort) == 88 && offsetof(Sort, width) == 64);
static_assert(sizeof(Search) == 64);
static_assert(sizeof(Range) == 48 && offsetof(Range, istart) == 32);
static_assert(sizeof(Convolution) == 272 && offsetof(Convolution, input) == 64 &&
              offsetof(Convolution, rows) == 232);
static_assert(sizeof(Cat) == 1832 && offsetof(Cat, starts) == 544 &&
              offsetof(Cat, first_blocks) == 1568);
