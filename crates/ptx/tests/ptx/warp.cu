// Operations of a warp, together and on divergent paths.

extern "C" __global__ void votes(const unsigned* in, unsigned* out) {
    unsigned t = threadIdx.x, v = in[t];
    out[8 * t + 0] = __ballot_sync(0xffffffffu, v & 1);
    out[8 * t + 1] = __all_sync(0xffffffffu, v < 1000);
    out[8 * t + 2] = __any_sync(0xffffffffu, v == 7);
    out[8 * t + 3] = __match_any_sync(0xffffffffu, v % 3);
    int same;
    out[8 * t + 4] = __match_all_sync(0xffffffffu, v / 1000, &same);
    out[8 * t + 5] = same;
    out[8 * t + 6] = __shfl_xor_sync(0xffffffffu, v, 5);
    out[8 * t + 7] = __shfl_sync(0xffffffffu, v, t + 1, 8);
}

// The halves of a warp go different ways and talk among themselves.
extern "C" __global__ void divergent(const int* in, int* out) {
    int t = threadIdx.x, v = in[t];
    if (t & 1) {
        unsigned mask = __activemask();
        for (int i = 0; i < 3; ++i) v += __shfl_up_sync(0xaaaaaaaau, v, 2);
        out[t] = v + (mask == 0xaaaaaaaau ? 0 : 1000000);
    } else {
        v = __shfl_sync(0x55555555u, v, 4);
        __syncwarp(0x55555555u);
        out[t] = -v;
    }
    __syncwarp();
    out[32 + t] = __shfl_sync(0xffffffffu, out[t], 31 - t);
}

// Lanes leave one by one; those that stay go on with smaller masks.
extern "C" __global__ void shrinking(int* out) {
    int t = threadIdx.x, sum = t;
    for (int last = 31; last > t; --last) {
        unsigned members = (2u << last) - 1;
        members &= ~(1u << last);
        sum += __shfl_sync(members, t, last - 1);
    }
    out[t] = sum;
}

// A warp that is not full.
extern "C" __global__ void partial(int* out) {
    int t = threadIdx.x;
    unsigned mask = __ballot_sync(__activemask(), true);
    out[t] = __popc(mask) + __shfl_down_sync(mask, t, 1);
}
