/* The step program for processors with AVX-512 and products of bytes (VNNI). */

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,prefer-vector-width=512")
#endif

#define LANES 16
#define TILE_ROWS 4
#define TILE_OUTPUTS 6
#define RUN run_vnni

#define FAST_LIMIT 127
#define WIDE8 4
#define NARROW8 2
#define PRODUCTS8(sum, bytes, w) \
    ((wholes)_mm512_dpbusd_epi32((__m512i)(sum), _mm512_set1_epi32(bytes), _mm512_loadu_si512(w)))

#include "run.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
