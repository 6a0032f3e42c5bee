/* The step program for processors with AVX2 and FMA. */

#if defined(__x86_64__)

#include <immintrin.h>
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
#define TILE_OUTPUTS 4
#define RUN run_avx2
#define BEST best_avx2
#define TRAIN train_avx2

/* Pairs of products are added in sixteen bits, which hold them up to this limit. */
#define FAST_LIMIT 63
#define WIDE8 1
#define NARROW8 1
#define PRODUCTS8(sum, bytes, w) \
    (sum + (wholes)_mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi32(bytes), _mm256_loadu_si256((const void *)(w))), \
                                     _mm256_set1_epi16(1)))

#include "run.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
