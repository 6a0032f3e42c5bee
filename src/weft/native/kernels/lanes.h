/* Vectors of LANES floats, and functions of them. The compiler turns them into the registers of the instruction set that the
   including file has chosen; there are no intrinsics. */

#include <math.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE lanes load(const float *x) { return *(const lanes *)x; }
INLINE void store(float *x, lanes v) { *(lanes *)x = v; }
INLINE lanes all(float x) { return x - (lanes){0}; }

/* a b + c, rounded once where the processor can. Left to itself, a compiler rounds twice in some of the places where this is
   used and once in others: the sums of a row would then depend on the number of rows. */
INLINE float fused(float a, float b, float c)
{
#if LANES > 4 || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* v itself, of which a compiler does not know that it is a product: it is rounded before anything is added to it. */
INLINE lanes rounded_once(lanes v)
{
#if LANES > 4
    __asm__("" : "+x"(v));
#elif defined(__aarch64__)
    __asm__("" : "+w"(v));
#endif
    return v;
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define PICK __builtin_shufflevector
#endif
#endif

#if defined(PICK)

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* The sums of every fourth lane. */
INLINE four quarters(lanes v)
{
#if LANES == 16
    typedef float eight __attribute__((vector_size(32)));
    eight half = PICK(v, v, 0, 1, 2, 3, 4, 5, 6, 7) + PICK(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    return PICK(half, half, 0, 1, 2, 3) + PICK(half, half, 4, 5, 6, 7);
#elif LANES == 8
    return PICK(v, v, 0, 1, 2, 3) + PICK(v, v, 4, 5, 6, 7);
#else
    return v;
#endif
}

/* The sum of all lanes. */
INLINE float total(lanes v)
{
    four sum = quarters(v);
    sum += PICK(sum, sum, 2, 3, 0, 1);
    return sum[0] + sum[1];
}

/* The sums of all lanes of four vectors at once, each bit by bit what `total` gives. */
INLINE four totals(lanes a, lanes b, lanes c, lanes d)
{
    four p = quarters(a), q = quarters(b), r = quarters(c), s = quarters(d);
    four pq = PICK(p, q, 0, 4, 1, 5) + PICK(p, q, 2, 6, 3, 7);
    four rs = PICK(r, s, 0, 4, 1, 5) + PICK(r, s, 2, 6, 3, 7);
    return PICK(pq, rs, 0, 1, 4, 5) + PICK(pq, rs, 2, 3, 6, 7);
}

#if LANES == 16

/* Halves, quarters, eighths and sixteenths of two vectors, those of the first before those of the second. */
INLINE lanes halves2(lanes a, lanes b)
{
    return PICK(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           PICK(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
INLINE lanes quarters2(lanes a, lanes b)
{
    return PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
INLINE lanes eighths2(lanes a, lanes b)
{
    return PICK(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
           PICK(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
INLINE lanes sixteenths2(lanes a, lanes b)
{
    return PICK(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
           PICK(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}

/* The sums of all lanes of four times four vectors at once, each bit by bit what `total` gives. Four stand side by side, and
   `apart` vectors from the next four. */
INLINE lanes totals16(const lanes *s, int apart)
{
    lanes part[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        part[i] = quarters2(halves2(s[i], s[apart + i]), halves2(s[2 * apart + i], s[3 * apart + i]));
    return sixteenths2(eighths2(part[0], part[1]), eighths2(part[2], part[3]));
}

#endif

#else

/* The sum of all lanes, by halves. */
INLINE float total(lanes v)
{
    float part[LANES];
    store(part, v);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            part[i] += part[i + half];
    return part[0];
}

#endif

INLINE float dot(const float *a, const float *b, int64_t n)
{
    lanes sum = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum += load(a + i) * load(b + i);
    float rest = 0;
    for (; i < n; i++)
        rest = fused(a[i], b[i], rest);
    return total(sum) + rest;
}

/* e^x to about one part in ten million: 2^n times a polynomial on +-log(2)/2. NaN stays NaN. Free of branches, so that loops
   over it become vector code. */
INLINE float fast_exp(float x)
{
    x = x > 88.0f ? 88.0f : x;
    x = x < -87.0f ? -87.0f : x;
    float shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the low bits hold the nearest whole number */
    float n = shifted - 12582912.0f;
    float r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    bits = (int32_t)((uint32_t)(bits + 127) << 23);
    float power;
    memcpy(&power, &bits, 4);
    return p * power;
}

INLINE float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }
INLINE float fast_tanh(float x) { return 1.0f - 2.0f / (1.0f + fast_exp(2.0f * x)); }
