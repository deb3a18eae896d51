// Functions: pointers to them, virtual ones, deep ones, and those that the driver provides.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <new>

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation operations[3] = {plus, minus, times};

extern "C" __global__ void through_pointers(const int* in, int* out) {
    int t = threadIdx.x;
    Operation f = operations[in[t] % 3];
    Operation g = in[t] & 1 ? plus : times;
    out[t] = f(g(t, 3), 5);
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual void grow(float by) = 0;
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
    __device__ void grow(float by) override { side += by; }
};
struct Disc : Shape {
    float radius;
    __device__ Disc(float r) : radius(r) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
    __device__ void grow(float by) override { radius *= by; }
};

extern "C" __global__ void virtual_functions(const int* in, float* out) {
    int t = threadIdx.x;
    __align__(8) char room[32];
    Shape* shape;
    if (in[t] & 1)
        shape = new (room) Square(t);
    else
        shape = new (room) Disc(t);
    shape->grow(2.0f);
    out[t] = shape->area();
}

// A function that waits for the block, called through a pointer.
typedef int (*Step)(int*, int);
__device__ __noinline__ int left(int* cells, int v) {
    cells[threadIdx.x] = v;
    __syncthreads();
    int r = cells[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    return r;
}
__device__ __noinline__ int doubled(int* cells, int v) { return v * 2; }

extern "C" __global__ void waiting_through_pointers(const int* in, int* out) {
    __shared__ int cells[64];
    Step steps[2] = {left, doubled};
    int v = in[threadIdx.x];
    for (int i = 0; i < 4; ++i) v = steps[in[i] & 1](cells, v);
    out[threadIdx.x] = v;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void deep(unsigned* out) { out[threadIdx.x] = ackermann(2, threadIdx.x); }

struct Large {
    long long values[9];
};
__device__ __noinline__ Large rotated(Large in, int by) {
    Large out;
    for (int i = 0; i < 9; ++i) out.values[i] = in.values[(i + by) % 9] + i;
    return out;
}

extern "C" __global__ void large_values(long long* out) {
    Large a;
    for (int i = 0; i < 9; ++i) a.values[i] = i * 10 + threadIdx.x;
    a = rotated(rotated(a, 2), threadIdx.x);
    for (int i = 0; i < 9; ++i) out[9 * threadIdx.x + i] = a.values[i];
}

extern "C" __global__ void prints(int n) {
    if (threadIdx.x == 0) printf("%d %s %5.2f %c %lld %x\n", n, "text", 1.5, 'z', 1ll << 40, 255u);
}

extern "C" __global__ void asserts(int n) { assert(n > (int)threadIdx.x); }

extern "C" __global__ void traps(int n) {
    if (n == (int)threadIdx.x) __trap();
}

extern "C" __global__ void stack_memory(const int* in, int* out) {
    int n = in[threadIdx.x];
    int* cells = (int*)alloca(n * sizeof(int));
    for (int i = 0; i < n; ++i) cells[i] = i * i + (int)threadIdx.x;
    int sum = 0;
    for (int i = n - 1; i >= 0; i -= 2) sum += cells[i];
    out[threadIdx.x] = sum;
}

// A list in the memory that kernels take from the device's heap.
struct Node {
    int value;
    Node* next;
};

extern "C" __global__ void heap_list(int** kept, int* out) {
    Node* head = nullptr;
    for (int i = 0; i < 5; ++i) {
        Node* node = new Node;
        node->value = i * (threadIdx.x + 1);
        node->next = head;
        head = node;
    }
    int sum = 0;
    while (head) {
        sum = sum * 3 + head->value;
        Node* next = head->next;
        delete head;
        head = next;
    }
    int* cell = (int*)malloc(sizeof(int));
    *cell = sum;
    kept[threadIdx.x] = cell;
    out[threadIdx.x] = malloc(size_t(1) << 40) == nullptr;
}

extern "C" __global__ void heap_return(int** kept, int* out) {
    out[threadIdx.x] = *kept[threadIdx.x];
    free(kept[threadIdx.x]);
}
