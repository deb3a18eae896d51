// out = a, converted where the dtypes differ: `copy_{from}_{to}`. Also fills (an immediate) and
// makes strided data dense.
#include "elementwise.cuh"
#include "tables.cuh"

struct Identity {
    template <class T>
    __device__ T operator()(T x) const {
        return x;
    }
};

#define COPY(name, From, To)                                                    \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##To(Elementwise<2> args) { \
        map<To, From>(args, Identity{});                                        \
    }

FOR_ALL(COPY, copy_f16, f16)
FOR_ALL(COPY, copy_f32, f32)
FOR_ALL(COPY, copy_f64, f64)
FOR_ALL(COPY, copy_i64, i64)
FOR_ALL(COPY, copy_u8, u8)
FOR_ALL(COPY, copy_bool, bool)
