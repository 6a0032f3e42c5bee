/* The step program for processors with AVX2 and FMA. */

#if defined(__x86_64__)

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define LANES 8
#define TILE_ROWS 2
#define RUN run_avx2

#include "run.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
