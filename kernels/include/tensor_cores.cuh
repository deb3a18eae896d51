// Tensor cores: the instructions of warps that multiply small matrices of halves, and copies that go
// on while a thread does other work (PTX ISA, "Matrix multiply-accumulate operation using mma
// instruction", "cp.async"). They need compute capability 8.0.
#pragma once

#include "dtype.cuh"

// A fragment: what a lane holds of 16 x 16 halves, two in each word. Lane l has of each quarter of
// 8 x 8 the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4. Of the left factor of a product, quarters
// go down first; of the right one, whose rows are columns, along the depth.
struct Fragment {
    uint32_t words[4];
};

__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Begins a copy of 16 bytes, whose addresses are multiples of that.
__device__ inline void begin_copy(uint32_t to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(to), "l"(__cvta_generic_to_global(from))
                 : "memory");
}

// Ends a group of copies of this thread, which may be empty.
__device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until no more than PENDING groups of this thread are under way.
template <int PENDING>
__device__ void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

// Four matrices of 8 x 8 halves, each row of which lies at the address that a lane of the warp has:
// the first eight lanes have those of the first matrix, and so on. TRANSPOSED swaps their rows and
// columns.
template <bool TRANSPOSED>
__device__ Fragment load_fragment(uint32_t row) {
    Fragment f;
    if constexpr (TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(f.words[0]), "=r"(f.words[1]), "=r"(f.words[2]), "=r"(f.words[3])
                     : "r"(row)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(f.words[0]), "=r"(f.words[1]), "=r"(f.words[2]), "=r"(f.words[3])
                     : "r"(row)
                     : "memory");
    }
    return f;
}

// Adds to 16 x 8 sums the products of the rows of `a` and eight of the rows of `b`, those of its
// words 0 and 1 or 2 and 3. Of the sums a lane has two in row l / 4, and two eight rows below.
template <class T>
__device__ void add_products(float (&sums)[4], const Fragment& a, uint32_t b0, uint32_t b1) {
    static_assert(IS_HALF<T>);
    if constexpr (std::is_same_v<T, f16>) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b0), "r"(b1));
    } else {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b0), "r"(b1));
    }
}

// Two floats as halves, the first one in the low bits.
template <class T>
__device__ uint32_t pack_halves(float low, float high) {
    static_assert(IS_HALF<T>);
    if constexpr (std::is_same_v<T, f16>) {
        const __half2 both = __floats2half2_rn(low, high);
        return *reinterpret_cast<const uint32_t*>(&both);
    } else {
        const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
        return *reinterpret_cast<const uint32_t*>(&both);
    }
}

// Sums of 16 x 16 as the left factor of another product: what a lane has of them is what it holds of
// that.
template <class T>
__device__ Fragment left_factor(const float (&first)[4], const float (&second)[4]) {
    return {pack_halves<T>(first[0], first[1]), pack_halves<T>(first[2], first[3]),
            pack_halves<T>(second[0], second[1]), pack_halves<T>(second[2], second[3])};
}
