// What the launches take that sort long rows digit by digit.
#pragma once

#include <cstddef>
#include <cstdint>

// Long rows in order: `rows` dense ones of `size` elements (2^31 at most), of which the places from
// `first` on, `count` of them, are wanted. A pass looks at eight bits of the keys, from `shift` on, and
// takes three launches: `radix_count` counts the digits in each of the `parts` of `part` elements of a
// row, into counts[rows, 256, parts], `radix_scan` adds these up, and leaves totals[rows, 256], and
// `radix_scatter` moves keys and places from `from` to `to`. The first pass makes them of `in`, which is
// null in the others; the last leaves what is wanted in `out`, which is null in the others.
//
// To select, passes of the first two launches find the key at the last of the wanted places, from the
// highest digit on: the bits `known` of it are there, and elements count that have these. One number for
// each row goes from `from_selected` to `to_selected`. Then a pass by `classes`, which are keys below, at
// and above that one, follows in place of a digit. `jobs` are the blocks that have work.
struct RadixSelected {
    uint64_t key, rank;
};

struct Radix {
    int64_t* out;
    const void* in;
    const void* from_keys;
    const uint32_t* from_places;
    void* to_keys;
    uint32_t* to_places;
    uint32_t* counts;
    uint32_t* totals;
    const RadixSelected* from_selected;
    RadixSelected* to_selected;
    int64_t rows, size, first, count;
    int64_t parts, part, jobs;
    uint64_t known;
    int32_t shift, descending, classes, reserved;
};

static_assert(sizeof(Radix) == 160 && offsetof(Radix, known) == 136);
