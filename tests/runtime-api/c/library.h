// What the programs share that open the library themselves: its functions by their names.
#pragma once
#include "../check.h"
#include <dlfcn.h>

#undef IS
#define IS(expected, call) CHECK((call) == (expected))

static void *library(void) {
    static void *opened;
    if (!opened) opened = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CHECK(opened != NULL);
    return opened;
}

// Declares a function of the library under its own name with `my_` before it.
#define FUNCTION(name) __typeof__(name) *my_##name = (__typeof__(name) *)dlsym(library(), #name)
