/* The step program for processors with AVX-512. */

#if defined(__x86_64__)

#include <immintrin.h>
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
#define TILE_OUTPUTS 6
#define RUN run_avx512
#define BEST best_avx512
#define TRAIN train_avx512

/* Pairs of products are added in sixteen bits, which hold them up to this limit. */
#define FAST_LIMIT 63
#define WIDE8 4
#define NARROW8 2
#define PRODUCTS8(sum, bytes, w) \
    (sum + (wholes)_mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_set1_epi32(bytes), _mm512_loadu_si512((const void *)(w))), \
                                     _mm512_set1_epi16(1)))

#include "run.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
