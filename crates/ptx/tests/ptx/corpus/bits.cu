// Integer instructions beyond the four operations.

extern "C" __global__ void counting(const unsigned long long* in, int* out) {
    unsigned long long x = in[threadIdx.x];
    int* own = out + 10 * threadIdx.x;
    own[0] = __clz((int)x);
    own[1] = __clzll((long long)x);
    own[2] = __popc((unsigned)x);
    own[3] = __popcll(x);
    own[4] = __ffs((int)x);
    own[5] = __ffsll((long long)x);
    own[6] = (int)__brev((unsigned)x);
    own[7] = (int)(__brevll(x) >> 13);
    asm("bfind.u32 %0, %1;" : "=r"(own[8]) : "r"((unsigned)x));
    asm("bfind.shiftamt.s64 %0, %1;" : "=r"(own[9]) : "l"(x));
}

extern "C" __global__ void fields(const unsigned* a, const unsigned* b, unsigned* out) {
    unsigned x = a[threadIdx.x], y = b[threadIdx.x];
    unsigned* own = out + 10 * threadIdx.x;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(own[0]) : "r"(x), "r"(y & 31), "r"(y >> 8 & 31));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(own[1]) : "r"(x), "r"(y & 31), "r"(y >> 8 & 31));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(own[2]) : "r"(x), "r"(y), "r"(y & 31), "r"(y >> 8 & 31));
    own[3] = __byte_perm(x, y, y >> 3 & 0x7777);
    own[4] = __byte_perm(x, y, 0x5140);
    own[5] = __funnelshift_l(x, y, y & 63);
    own[6] = __funnelshift_rc(x, y, y & 63);
    asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(own[7]) : "r"(x), "r"(y), "r"(y & 3));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(own[8]) : "r"(x), "r"(y), "r"(x >> 7));
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(own[9]) : "r"(x), "r"(y), "r"(x & 0xffff));
}

extern "C" __global__ void dot_products(const unsigned* a, const unsigned* b, int* out) {
    unsigned x = a[threadIdx.x], y = b[threadIdx.x];
    int* own = out + 6 * threadIdx.x;
    own[0] = __dp4a((int)x, (int)y, 5);
    own[1] = (int)__dp4a(x, y, 5u);
    own[2] = __dp2a_lo((int)x, (int)y, -7);
    own[3] = (int)__dp2a_hi(x, y, 7u);
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(own[4]) : "r"(x), "r"(y), "r"(1));
    asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(own[5]) : "r"(x), "r"(y), "r"(1));
}

extern "C" __global__ void products(const int* a, const int* b, long long* out) {
    int x = a[threadIdx.x], y = b[threadIdx.x];
    long long* own = out + 10 * threadIdx.x;
    own[0] = __mulhi(x, y);
    own[1] = __umulhi(x, y);
    own[2] = __mul64hi((long long)x << 31, (long long)y << 31);
    own[3] = (long long)__umul64hi((unsigned long long)x, (unsigned long long)y);
    own[4] = __mul24(x, y);
    own[5] = __umul24(x, y);
    own[6] = __sad(x, y, 9u);
    own[7] = __usad(x, y, 9u);
    own[8] = __hadd(x, y);
    own[9] = __urhadd(x, y);
}

// Long additions with the carry flag, as big-number code writes them.
extern "C" __global__ void carries(const unsigned* a, const unsigned* b, unsigned* out) {
    const unsigned *x = a + 4 * threadIdx.x, *y = b + 4 * threadIdx.x;
    unsigned* r = out + 12 * threadIdx.x;
    asm("add.cc.u32 %0, %4, %8; addc.cc.u32 %1, %5, %9; addc.cc.u32 %2, %6, %10; addc.u32 %3, %7, %11;"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
    asm("sub.cc.u32 %0, %4, %8; subc.cc.u32 %1, %5, %9; subc.cc.u32 %2, %6, %10; subc.u32 %3, %7, %11;"
        : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
    asm("mad.lo.cc.u32 %0, %4, %6, %5; madc.hi.cc.u32 %1, %4, %6, %7; madc.lo.cc.u32 %2, %4, %7, %6; addc.u32 %3, 0, 0;"
        : "=&r"(r[8]), "=&r"(r[9]), "=&r"(r[10]), "=&r"(r[11])
        : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
}

extern "C" __global__ void divisions(const long long* a, const long long* b, long long* out) {
    long long x = a[threadIdx.x], y = b[threadIdx.x];
    unsigned long long u = x, v = y;
    long long* own = out + 8 * threadIdx.x;
    own[0] = x / y;
    own[1] = x % y;
    own[2] = (long long)(u / v);
    own[3] = (long long)(u % v);
    own[4] = (int)x / ((int)y | 1);
    own[5] = (unsigned)x % ((unsigned)y | 1);
    own[6] = (short)x / (short)(y | 1);
    own[7] = (long long)(u / 1000000007ull);
}

extern "C" __global__ void long_integers(const unsigned long long* a, const unsigned long long* b,
                                         unsigned long long* out) {
    unsigned __int128 x = a[threadIdx.x], y = b[threadIdx.x];
    unsigned __int128 r = x * y + (y << 37) - x;
    out[2 * threadIdx.x] = (unsigned long long)r;
    out[2 * threadIdx.x + 1] = (unsigned long long)(r >> 64);
}

// Several small integers in one register: in hardware where there is some, else by tricks.
extern "C" __global__ void packed(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
    unsigned x = a[threadIdx.x], y = b[threadIdx.x], z = c[threadIdx.x];
    unsigned* own = out + 24 * threadIdx.x;
    own[0] = __vadd2(x, y);
    own[1] = __vsub2(x, y);
    own[2] = __vadd4(x, y);
    own[3] = __vsub4(x, y);
    own[4] = __vabsdiffu4(x, y);
    own[5] = __vabsdiffs2(x, y);
    own[6] = __vsadu4(x, y);
    own[7] = __vmaxs2(x, y);
    own[8] = __vminu2(x, y);
    own[9] = __vmaxu4(x, y);
    own[10] = __vmins4(x, y);
    own[11] = __vcmpgts2(x, y);
    own[12] = __vcmpeq4(x, y);
    own[13] = __vaddss2(x, y);
    own[14] = __vaddus4(x, y);
    own[15] = __vabs2(x);
    own[16] = __vneg4(x);
    own[17] = __vavgu4(x, y);
    own[18] = __vimax3_s32((int)x, (int)y, (int)z);
    own[19] = __vimin3_u32(x, y, z);
    own[20] = __vimax_s16x2_relu(x, y);
    own[21] = __viaddmax_s16x2(x, y, z);
    own[22] = __viaddmin_u16x2(x, y, z);
    own[23] = __vimax3_s16x2(x, y, z);
}

extern "C" __global__ void shifts(const unsigned long long* in, const unsigned* by, unsigned long long* out) {
    unsigned long long x = in[threadIdx.x];
    unsigned n = by[threadIdx.x];
    unsigned long long* own = out + 7 * threadIdx.x;
    asm("shl.b64 %0, %1, %2;" : "=l"(own[0]) : "l"(x), "r"(n));
    asm("shr.u64 %0, %1, %2;" : "=l"(own[1]) : "l"(x), "r"(n));
    asm("shr.s64 %0, %1, %2;" : "=l"(own[2]) : "l"(x), "r"(n));
    unsigned low;
    asm("shl.b32 %0, %1, %2;" : "=r"(low) : "r"((unsigned)x), "r"(n));
    own[3] = low;
    asm("shr.s32 %0, %1, %2;" : "=r"(low) : "r"((unsigned)x), "r"(n));
    own[4] = low;
    unsigned short half;
    asm("shr.s16 %0, %1, %2;" : "=h"(half) : "h"((unsigned short)x), "r"(n));
    own[5] = half;
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(low) : "r"(n & 31), "r"(n >> 3 & 31));
    own[6] = low;
}
