/* Operations of training, each with its gradient, over fp32 tensors whose numbers stand side by side.

   Threads share rows and heads. Every sum is added by one thread in one order, so that the number of threads changes no digit. */

/* max(x, 0)^2; NaN stays NaN. */
static void relu_squared(const float *restrict x, float *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float v = x[i] < 0 ? 0 : x[i];
        y[i] = v * v;
    }
}

/* Its gradient by what it gave: 2 max(x, 0) = 2 sqrt(y), which is exact where x^2 is neither too small nor too large. */
static void relu_squared_back(const float *restrict y, const float *restrict grad, float *restrict to_x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to_x[i] = 2.0f * sqrtf(y[i]) * grad[i];
}

enum { BITS = 256 }; /* numbers whose bits are drawn at a time */

/* 32 bits by the key of a row and a pair of neighbours in it, 16 for each: core/draws.py has the same in torch. */
INLINE uint32_t pair_bits(const uint32_t *key, uint32_t pair)
{
    uint32_t h = pair * 0x9E3779B1u + key[0];
    h = ((h ^ h >> 16) * 0x21F0AAADu) ^ key[1];
    h = (h ^ h >> 15) * 0x735A2D97u;
    return h ^ h >> 16;
}

/* Dropout for `n` numbers from place `at` of a row on, an even one. */
static void dropped(const float *restrict x, const uint32_t *key, float *restrict y, int64_t at, int64_t n, int32_t limit,
                    float scale)
{
    union {
        uint32_t pair[BITS / 2];
        int16_t each[BITS];
    } bits;
    for (int64_t i = 0; i < n; i += BITS) {
        uint32_t place = (uint32_t)((at + i) / 2);
        for (uint32_t j = 0; j < BITS / 2; j++)
            bits.pair[j] = pair_bits(key, place + j);
        int64_t some = n - i < BITS ? n - i : BITS;
        for (int64_t j = 0; j < some; j++) {
            float v = x[i + j] * scale;
            y[i + j] = bits.each[j] < limit ? 0.0f : v;
        }
    }
}

/* The numbers from one place among those of all rows up to another. */
static void dropped_rows(const float *x, const uint32_t *keys, float *y, int64_t from, int64_t to, int64_t width, int32_t limit,
                         float scale)
{
    for (int64_t row = from / width; row * width < to; row++) {
        int64_t start = row * width, low = from > start ? from - start : 0, high = to < start + width ? to - start : width;
        const uint32_t *key = keys + 2 * row;
        if (low % 2) { /* the second of a pair */
            int16_t second = (int16_t)(pair_bits(key, (uint32_t)(low / 2)) >> 16);
            y[start + low] = second < limit ? 0.0f : x[start + low] * scale;
            low++;
        }
        dropped(x + start + low, key, y + start + low, low, high - low, limit, scale);
    }
}

INLINE float sum_of(const float *x, int64_t n)
{
    lanes sum = {0};
    float rest = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum += load(x + i);
    for (; i < n; i++)
        rest += x[i];
    return total(sum) + rest;
}

/* (x - mean) / sqrt(variance + eps); returns the factor. */
INLINE float normed(const float *x, float *y, int64_t n, float eps)
{
    float mean = sum_of(x, n) / (float)n, rest = 0;
    lanes squares = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        lanes apart = load(x + i) - mean;
        squares += apart * apart;
        store(y + i, apart);
    }
    for (; i < n; i++) {
        y[i] = x[i] - mean;
        rest = fused(y[i], y[i], rest);
    }
    float scale = 1.0f / sqrtf((total(squares) + rest) / (float)n + eps);
    for (i = 0; i + LANES <= n; i += LANES)
        store(y + i, load(y + i) * scale);
    for (; i < n; i++)
        y[i] *= scale;
    return scale;
}

/* The gradient of a norm by what it gave: scale (g - mean(g) - y mean(g y)). */
INLINE void normed_back(const float *y, float scale, const float *grad, float *to_x, int64_t n)
{
    float mean = sum_of(grad, n) / (float)n, along = dot(grad, y, n) / (float)n;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(to_x + i, scale * (load(grad + i) - mean - load(y + i) * along));
    for (; i < n; i++)
        to_x[i] = scale * (grad[i] - mean - y[i] * along);
}

/* A token as a shift reads it: normalised into `room` where there is a norm. */
INLINE const float *seen(const float *x, int64_t width, float eps, float *room)
{
    if (eps < 0)
        return x;
    normed(x, room, width, eps);
    return room;
}

/* y = n + mix (n_previous - n) along one line of tokens, where n is x or its norm; ahead of the first token stands zero. */
static void shifted(const float *restrict x, const float *restrict mix, float *restrict y, int64_t tokens, int64_t width,
                    float eps, float *restrict room)
{
    const float *last = room;
    memset(room, 0, width * sizeof(float));
    for (int64_t i = 0; i < tokens; i++, x += width, y += width) {
        const float *now = seen(x, width, eps, room + (i % 2 ? 0 : width));
        for (int64_t j = 0; j < width; j++)
            y[j] = now[j] + mix[j] * (last[j] - now[j]);
        last = now;
    }
}

/* Its gradient for one line; what the line adds to that of mix goes to `to_mix`. */
static void shifted_back(const float *restrict x, const float *restrict mix, const float *restrict grad, float *restrict to_x,
                         float *restrict to_mix, int64_t tokens, int64_t width, float eps, float *restrict room)
{
    float *spare = room + width, *own = room + 2 * width;
    float scale = eps < 0 ? 1 : normed(x, room, width, eps);
    const float *now = eps < 0 ? x : room;
    for (int64_t j = 0; j < width; j++)
        to_mix[j] = -grad[j] * now[j];
    for (int64_t i = 0; i < tokens; i++) {
        const float *g = grad + i * width, *next = g + width, *after = x + (i + 1) * width;
        float after_scale = 1;
        if (i + 1 == tokens) {
            for (int64_t j = 0; j < width; j++)
                own[j] = g[j] - mix[j] * g[j];
        } else {
            if (eps >= 0) {
                after_scale = normed(after, spare, width, eps);
                after = spare;
            }
            for (int64_t j = 0; j < width; j++) {
                own[j] = g[j] - mix[j] * (g[j] - next[j]);
                to_mix[j] += next[j] * (now[j] - after[j]);
            }
        }
        if (eps < 0)
            memcpy(to_x + i * width, own, width * sizeof(float));
        else
            normed_back(now, scale, own, to_x + i * width, width);
        spare = spare == room ? room + width : room;
        now = after;
        scale = after_scale;
    }
}

#include "reading.h"

enum { CHUNK = 16384 }; /* numbers that a thread takes at a time */

/* One of `pieces` independent pieces of work. */
static void piece(const training *t, int64_t i, float *scratch)
{
    const int64_t *n = t->size;
    float *const *d = t->data;
    float eps = (float)t->number[0];
    int64_t at = i * CHUNK, some = n[0] - at < CHUNK ? n[0] - at : CHUNK, row = i * n[1], line = row * n[2];
    switch (t->kind) {
    case RELU_SQUARED_FORWARD: relu_squared(d[0] + at, d[1] + at, some); break;
    case RELU_SQUARED_BACKWARD: relu_squared_back(d[0] + at, d[1] + at, d[2] + at, some); break;
    case DROPOUT:
        dropped_rows(d[0], (const uint32_t *)d[1], d[2], at, at + some, n[1], (int32_t)t->number[0], (float)t->number[1]);
        break;
    case NORM_FORWARD: normed(d[0] + row, d[1] + row, n[1], eps); break;
    case NORM_BACKWARD: normed_back(d[2] + row, normed(d[0] + row, d[2] + row, n[1], eps), d[1] + row, d[2] + row, n[1]); break;
    case SHIFT_FORWARD: shifted(d[0] + line, d[1], d[2] + line, n[1], n[2], eps, scratch); break;
    case SHIFT_BACKWARD:
        shifted_back(d[0] + line, d[1], d[2] + line, d[3] + line, d[4] + i * n[2], n[1], n[2], eps, scratch);
        break;
    case READ_FORWARD: reading_forward(t, i, scratch); break;
    case READ_BACKWARD: reading_backward(t, i, scratch); break;
    }
}

/* All pieces, shared by the threads. */
void TRAIN(const training *t)
{
    int64_t pieces = t->kind <= DROPOUT ? (t->size[0] + CHUNK - 1) / CHUNK : t->size[0];
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(t->threads) if (t->threads > 1)
    for (int64_t i = 0; i < pieces; i++)
        piece(t, i, t->scratch + omp_get_thread_num() * t->scratch_size);
#else
    for (int64_t i = 0; i < pieces; i++)
        piece(t, i, t->scratch);
#endif
}
