// A thread whose device another one reset goes on with it, from nothing.
#include "../check.h"
#include <condition_variable>
#include <mutex>
#include <thread>
__global__ void set(int *p, int value) { *p = value; }
static std::mutex lock;
static std::condition_variable changed;
static int phase;
static void reach(int next) {
    std::lock_guard<std::mutex> guard(lock);
    phase = next;
    changed.notify_all();
}
static void await(int wanted) {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [=] { return phase >= wanted; });
}
static void use(int value) {
    int *p, seen = 0;
    OK(cudaMalloc(&p, 4));
    set<<<1, 1>>>(p, value);
    OK(cudaMemcpy(&seen, p, 4, cudaMemcpyDeviceToHost));
    CHECK(seen == value);
    OK(cudaFree(p));
}
int main() {
    std::thread other([] {
        int device;
        OK(cudaSetDevice(0));
        use(1);
        reach(1);
        await(2);
        use(2);
        OK(cudaGetDevice(&device));
        CHECK(device == 0);
    });
    await(1);
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    reach(2);
    other.join();
    use(3);
    return ok();
}
