// The groups of dtypes that the entry tables at the end of each .cu file are written in. ENTRY is a
// file's own macro: it names the entry and forwards to a template, nothing else.
#pragma once

#include "dtype.cuh"

#define FOR_FLOATS(ENTRY, name, Op) \
    ENTRY(name, Op, f16) ENTRY(name, Op, bf16) ENTRY(name, Op, f32) ENTRY(name, Op, f64)
#define FOR_NUMBERS(ENTRY, name, Op) \
    FOR_FLOATS(ENTRY, name, Op)      \
    ENTRY(name, Op, i64)             \
    ENTRY(name, Op, i32)             \
    ENTRY(name, Op, i16)             \
    ENTRY(name, Op, i8)              \
    ENTRY(name, Op, u8)
#define FOR_ALL(ENTRY, name, Op) \
    FOR_NUMBERS(ENTRY, name, Op) \
    ENTRY(name, Op, bool)

// What only moves elements is the same for all dtypes of a size. The integer of the size names it.
#define FOR_SIZES(ENTRY, name, Op) \
    ENTRY(name, Op, i64) ENTRY(name, Op, i32) ENTRY(name, Op, i16) ENTRY(name, Op, u8)
