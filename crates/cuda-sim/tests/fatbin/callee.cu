// Functions in a library, of which a program needs one.
__device__ int seven = 7;
extern "C" __device__ int add_seven(int x) { return x + seven; }
