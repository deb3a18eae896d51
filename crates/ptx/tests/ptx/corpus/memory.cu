// Every kind of memory, and every way to ask for it.
#include <cuda/ptx>
#include <cuda_pipeline_primitives.h>

__constant__ float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ struct {
    int scale;
    double offset;
} settings = {3, 0.5};
__device__ int table[4][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__device__ int* pointer_to_table = &table[1][0];
__device__ double total;

extern "C" __global__ void constants(const int* in, double* out) {
    int at = in[threadIdx.x];
    out[threadIdx.x] = weights[at & 15] * settings.scale + settings.offset + table[at & 3][1] + pointer_to_table[at & 3];
    if (threadIdx.x == 0) total = 7.5;
}

extern "C" __global__ void read_total(double* out) { out[0] = total; }

extern "C" __global__ void hints(const float* in, float* out) {
    int t = threadIdx.x;
    float* own = out + 8 * t;
    __stcg(own + 0, __ldca(in + t));
    __stcs(own + 1, __ldcg(in + t));
    __stwb(own + 2, __ldcs(in + t));
    __stwt(own + 3, __ldlu(in + t));
    own[4] = __ldcv(in + t);
    own[5] = __ldg(in + t);
    volatile float* place = own + 6;
    *place = in[t];
    own[7] = *place + 1;
}

extern "C" __global__ void vectors_in_memory(const int4* in, int4* out, const double2* din, double2* dout,
                                             const uchar4* bin, uchar4* bout, const short2* sin, short2* sout) {
    int t = threadIdx.x;
    int4 v = __ldg(in + t);
    out[t] = make_int4(v.w, v.z, v.y, v.x);
    double2 d = din[t];
    dout[t] = make_double2(d.y, d.x);
    uchar4 b = bin[t];
    bout[t] = make_uchar4(b.w, b.x, b.y, b.z);
    short2 s = sin[t];
    sout[t] = make_short2(s.y, -s.x);
}

struct Small {
    char tag;
    short number;
    float values[5];
};

extern "C" __global__ void structure(Small s, const Small* in, Small* out) {
    Small r = in[threadIdx.x];
    r.tag += s.tag;
    r.number *= s.number;
    for (int i = 0; i < 5; ++i) r.values[i] += s.values[(i + threadIdx.x) % 5];
    out[threadIdx.x] = r;
}

extern "C" __global__ void shared_of_both_kinds(const int* in, int* out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[64];
    int t = threadIdx.x;
    fixed[t] = in[t];
    dynamic[t] = in[t] * 2;
    __syncthreads();
    unsigned bytes, all;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    asm("mov.u32 %0, %%total_smem_size;" : "=r"(all));
    out[t] = fixed[63 - t] + dynamic[t ^ 1] + bytes + (all >= bytes + 256);
}

// Where a pointer points to.
extern "C" __global__ void spaces(int* global, const __grid_constant__ int parameter, unsigned* out) {
    __shared__ int shared;
    int local[2] = {(int)threadIdx.x, 1};
    int* places[3] = {global, &shared, local};
    shared = 5;
    __syncthreads();
    unsigned bits = 0;
    for (int i = 0; i < 3; ++i) {
        int* p = places[(i + threadIdx.x) % 3];
        bits |= __isGlobal(p) << (4 * i) | __isShared(p) << (4 * i + 1) | __isLocal(p) << (4 * i + 2) |
                __isConstant(p) << (4 * i + 3);
    }
    out[2 * threadIdx.x] = bits;
    out[2 * threadIdx.x + 1] = *places[threadIdx.x % 3] + parameter + (__cvta_generic_to_shared(&shared) < 1024);
}

extern "C" __global__ void local_memory(const int* in, int* out) {
    long long stack[24];
    int depth = 0, at = threadIdx.x;
    while (at > 0) {
        stack[depth++] = at * 3ll;
        at = in[at];
    }
    long long sum = 0;
    for (int i = 0; i < depth; ++i) sum = sum * 7 + stack[(depth - 1 - i) % 24];
    out[threadIdx.x] = (int)sum;
}

extern "C" __global__ void fences(int* data, int* out) {
    data[threadIdx.x] = threadIdx.x;
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    asm volatile("membar.cta;" ::: "memory");
    __syncthreads();
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(data + (threadIdx.x ^ 1)) : "memory");
    asm volatile("st.release.sys.global.s32 [%0], %1;" ::"l"(out + threadIdx.x), "r"(v) : "memory");
    asm volatile("ld.relaxed.cta.global.s32 %0, [%1];" : "=r"(v) : "l"(out + threadIdx.x) : "memory");
    asm volatile("st.volatile.global.s32 [%0], %1;" ::"l"(out + threadIdx.x), "r"(v + 1) : "memory");
}

extern "C" __global__ void prefetches(const float* in, float* out) {
    int t = threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(in + t));
    asm volatile("prefetchu.L1 [%0];" ::"l"(in + t));
    float v;
#if __CUDA_ARCH__ >= 800
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(in + t), "l"(policy));
    asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(out + t), "f"(v), "l"(policy) : "memory");
    asm volatile("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(in + t));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(out + 64) : "memory");
    asm volatile("ld.global.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(in + t));
#else
    v = in[t];
    out[t] = v;
#endif
    out[32 + t] = v * 2;
}

// Shared addresses as 32-bit numbers, as assembler takes them.
extern "C" __global__ void small_addresses(const int* in, int* out) {
    __shared__ int cells[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&cells[threadIdx.x]);
    asm volatile("st.shared.s32 [%0], %1;" ::"r"(at), "r"(in[threadIdx.x]) : "memory");
    __syncthreads();
    int v, w[4];
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(v) : "r"(at ^ 4) : "memory");
    asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4+16];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"((unsigned)__cvta_generic_to_shared(cells)));
    out[threadIdx.x] = v + w[0] + w[1] * 2 + w[2] * 3 + w[3] * 4;
}
