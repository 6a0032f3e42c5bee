/* y = (W8 q) * scale * step + b: weights in eight bits with a scale for each output, rows of x rounded to whole numbers by their
   own largest value. The definition is `int8_linear` in core/int8.py. Sums of whole numbers are exact: their order is free.

   Weights stand in tiles of 16 outputs by 4 inputs. A row's numbers are stored as q + limit + 1, which is above zero, because
   processors multiply bytes without a sign by bytes with one; `sums`, those of each row of W8, take this away again. */

typedef int32_t wholes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

enum { TILE = 16, PARTS = TILE / LANES, BLOCK = 8 /* rows */ };

/* sum + the products of four numbers of a row with those of LANES outputs. `FAST_LIMIT` is the largest limit with which the
   fast products of an instruction set are exact; PRODUCTS8 are these. */
INLINE wholes products8(wholes sum, const uint8_t *q, const int8_t *w, int fast)
{
#ifdef PRODUCTS8
    if (fast) {
        int32_t four_bytes;
        memcpy(&four_bytes, q, 4);
        return PRODUCTS8(sum, four_bytes, w);
    }
#endif
    (void)fast;
    for (int i = 0; i < LANES; i++)
        sum[i] += q[0] * w[4 * i] + q[1] * w[4 * i + 1] + q[2] * w[4 * i + 2] + q[3] * w[4 * i + 3];
    return sum;
}

/* The numbers of one LINEAR8. */
typedef struct {
    const uint8_t *q;      /* (rows, apart): the rounded rows */
    const float *step;     /* (rows) */
    const int8_t *w;
    const float *scale, *b;
    const int32_t *sums;
    float *y;
    int64_t n, apart, m, rows; /* n is padded to whole tiles */
    int32_t zero;
} map8;

/* The outputs of some rows from their sums in one tile, which stand `apart` numbers from row to row. Scales and sums are padded
   to whole tiles; outputs and offsets are not. */
__attribute__((noinline)) static void hand_out(const map8 *a, int64_t row, int64_t rows, int64_t first, const int32_t *found,
                                               int64_t apart)
{
    int64_t count = a->m - first < TILE ? a->m - first : TILE;
    float b[TILE] = {0}, made[TILE];
    if (a->b)
        memcpy(b, a->b + first, count * sizeof(float));
    for (int part = 0; part < TILE; part += LANES) {
        wholes taken = *(const wholes *)(a->sums + first + part) * a->zero;
        lanes scale = load(a->scale + first + part), offset = load(b + part);
        for (int64_t r = 0; r < rows; r++) {
            wholes whole = *(const wholes *)(found + r * apart + part) - taken;
            float sum[LANES];
            for (int i = 0; i < LANES; i++)
                sum[i] = (float)whole[i];
            lanes value = rounded_once(load(sum) * scale * a->step[row + r]);
            if (a->b)
                value += offset;
            float *y = a->y + (row + r) * a->m + first;
            if (count == TILE)
                store(y + part, value);
            else if (part < count) {
                store(made, value);
                memcpy(y + part, made, (count - part < LANES ? count - part : LANES) * sizeof(float));
            }
        }
    }
}

/* Some rows times some tiles of outputs. R and G are constants where this is used, so the sums stay in registers. */
INLINE void tile8(const map8 *a, int64_t row, int64_t tile, int R, int G, int fast)
{
    wholes sum[32];
    const uint8_t *q = a->q + row * a->apart;
    const int8_t *w = a->w + tile * TILE * a->n;
#pragma GCC unroll 32
    for (int i = 0; i < R * G * PARTS; i++)
        sum[i] = (wholes){0};
    for (int64_t k = 0; k < a->n; k += 4) {
        if (R == BLOCK) /* the tiles that come next are asked for ahead */
#pragma GCC unroll 4
            for (int g = 0; g < G; g++)
                __builtin_prefetch(w + (G + g) * TILE * a->n + k * TILE, 0, 2);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 16
            for (int g = 0; g < G * PARTS; g++)
                sum[r * G * PARTS + g] = products8(sum[r * G * PARTS + g], q + r * a->apart + k,
                                                   w + (g / PARTS) * TILE * a->n + k * TILE + (g % PARTS) * 4 * LANES, fast);
    }
    int32_t found[BLOCK * 4 * TILE];
#pragma GCC unroll 32
    for (int i = 0; i < R * G * PARTS; i++)
        *(wholes *)(found + i * LANES) = sum[i];
    for (int g = 0; g < G; g++)
        hand_out(a, row, R, (tile + g) * TILE, found + g * TILE, G * TILE);
}

#define ROWS8(R, G)                                                                                                            \
    case R:                                                                                                                    \
        for (; tile + G <= stop; tile += G)                                                                                    \
            tile8(a, row, tile, R, G, 1);                                                                                      \
        for (; tile < stop; tile++)                                                                                            \
            tile8(a, row, tile, R, 1, 1);                                                                                      \
        break;

/* Up to BLOCK rows times the tiles from `tile` to `stop`. */
static void block8(const map8 *a, int64_t row, int64_t rows, int64_t tile, int64_t stop)
{
    if (a->zero > FAST_LIMIT + 1) {
        for (; tile < stop; tile++)
            for (int64_t r = 0; r < rows; r++)
                tile8(a, row + r, tile, 1, 1, 0);
        return;
    }
    switch (rows) {
        ROWS8(1, WIDE8)
        ROWS8(2, WIDE8)
        ROWS8(3, WIDE8)
        ROWS8(4, WIDE8)
        ROWS8(5, WIDE8)
        ROWS8(6, NARROW8)
        ROWS8(7, NARROW8)
        ROWS8(8, NARROW8)
    }
}

#ifdef MANY8
#include "amx8.h"
#endif

/* x as whole numbers above zero; returns the step between them. Written so that compilers make vector code of it. */
static float rounded(const float *x, uint8_t *q, int64_t n, int64_t padded, int32_t limit)
{
    const float nearest = 12582912.0f; /* 1.5 * 2^23: in a sum with it, the low bits hold the nearest whole number */
    int32_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t size;
        memcpy(&size, x + i, 4);
        size &= 0x7fffffff; /* sizes have the order of their bits; NaN is above all, and makes the whole row NaN */
        largest = size > largest ? size : largest;
    }
    float most;
    memcpy(&most, &largest, 4);
    float step = (most < 1e-30f ? 1e-30f : most) / (float)limit;
    for (int64_t i = 0; i < n; i++) {
        float near = x[i] / step + nearest;
        int32_t whole;
        memcpy(&whole, &near, 4);
        q[i] = (uint8_t)(whole + limit + 1);
    }
    memset(q + n, 0, padded - n); /* meets weights that are zero, or none */
    return step;
}

/* Tiles of outputs that stay in a cache while all rows pass, and the bytes to whose multiples rows are padded. */
enum { STAY8 = 8, WHOLE8 = 64 };

static void linear8(const op *o, const batch *at, const member *me, int64_t rows, const float *x, float *y)
{
    int64_t n = o->from.width, padded = (n + WHOLE8 - 1) / WHOLE8 * WHOLE8, tiles = (o->to.width + TILE - 1) / TILE;
    int32_t limit = (int32_t)o->size[0];
    span mine = share(me, rows, 1);
    for (int64_t r = mine.start; r < mine.stop; r++)
        at->steps[r] = rounded(x + r * n, at->rounded + r * padded, n, padded, limit);
    meet(me);
    map8 a = {at->rounded, at->steps, (const int8_t *)o->data[0], o->data[1], o->data[2], (const int32_t *)o->data[3],
              y, (n + 3) / 4 * 4, padded, o->to.width, rows, limit + 1};
    mine = share(me, tiles, 1);
#ifdef MANY8
    if (rows >= MANY8) {
        many8(&a, mine.start, mine.stop);
        return;
    }
#endif
    int64_t some = rows > BLOCK ? STAY8 : tiles;
    for (int64_t tile = mine.start; tile < mine.stop; tile += some)
        for (int64_t row = 0; row < rows; row += BLOCK)
            block8(&a, row, rows - row < BLOCK ? rows - row : BLOCK, tile, tile + some < mine.stop ? tile + some : mine.stop);
}
