/* The step program for processors with AVX-512. */

#if defined(__x86_64__)

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif

#define LANES 16
#define TILE_ROWS 4
#define RUN run_avx512

#include "run.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
