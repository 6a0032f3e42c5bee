/* y = (W8 q) * scale * step + b: weights in eight bits with a scale for each output, rows of x rounded to whole numbers by their
   own largest value. The definition is `int8_linear` in core/int8.py. Sums of whole numbers are exact: their order is free, and
   the compiler makes the best of the loops. */

enum { ROUNDED_ROWS = 8, THREAD_WORK8 = 1000000, AHEAD = 6000 /* bytes */ };

/* x as whole numbers up to the limit; returns the step between them. */
static float rounded(const float *x, int16_t *q, int64_t n, float limit)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++) {
        float size = fabsf(x[i]);
        most = size > most || size != size ? size : most; /* NaN stays, and makes the whole row NaN */
    }
    float step = (most < 1e-30f ? 1e-30f : most) / limit;
    for (int64_t i = 0; i < n; i++)
        q[i] = (int16_t)rintf(x[i] / step);
    return step;
}

INLINE int32_t whole_dot(const int8_t *w, const int16_t *q, int64_t n)
{
    int32_t sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (int32_t)w[k] * (int32_t)q[k];
    return sum;
}

/* The same for four rows, q of n numbers each: weights are widened once for all of them. */
INLINE void whole_dots(const int8_t *w, const int16_t *q, int64_t n, int32_t *sums)
{
    int32_t first = 0, second = 0, third = 0, fourth = 0;
    for (int64_t k = 0; k < n; k++) {
        int32_t weight = w[k];
        first += weight * q[k];
        second += weight * q[n + k];
        third += weight * q[2 * n + k];
        fourth += weight * q[3 * n + k];
    }
    sums[0] = first, sums[1] = second, sums[2] = third, sums[3] = fourth;
}

/* The outputs from `start` to `stop` of a few rounded rows: each row of weights is read once for all of them. Weights are asked
   for some time ahead, without which a single stream of bytes comes from memory at a quarter of the speed. */
static void outputs8(const op *o, const int16_t *q, const float *step, int64_t rows, float *y, int64_t start, int64_t stop)
{
    int64_t n = o->from.width, m = o->to.width, ahead = AHEAD / n + 1;
    const int8_t *w = (const int8_t *)o->data[0];
    const float *scale = o->data[1], *b = o->data[2];
    for (int64_t i = start; i < stop; i++) {
        int32_t sums[ROUNDED_ROWS];
        int64_t r = 0;
        for (int64_t k = 0; k < n && i + ahead < stop; k += 64)
            __builtin_prefetch(w + (i + ahead) * n + k);
        for (; r + 4 <= rows; r += 4)
            whole_dots(w + i * n, q + r * n, n, sums + r);
        for (; r < rows; r++)
            sums[r] = whole_dot(w + i * n, q + r * n, n);
        for (r = 0; r < rows; r++) {
            float value = (float)sums[r] * scale[i] * step[r];
            y[r * m + i] = b ? value + b[i] : value;
        }
    }
}

static void linear8(const op *o, const batch *at, int64_t rows, const float *x, float *y)
{
    int64_t n = o->from.width, m = o->to.width, threads = at->threads;
    int16_t *q = (int16_t *)at->scratch;
    float step[ROUNDED_ROWS];
    for (int64_t first = 0; first < rows; first += ROUNDED_ROWS) {
        int64_t some = rows - first < ROUNDED_ROWS ? rows - first : ROUNDED_ROWS;
        for (int64_t r = 0; r < some; r++)
            step[r] = rounded(x + (first + r) * n, q + r * n, n, (float)o->size[0]);
        if (threads < 2 || some * n * m < THREAD_WORK8) {
            outputs8(o, q, step, some, y + first * m, 0, m);
            continue;
        }
        int64_t share = m / threads + 1;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int64_t i = 0; i < threads; i++) {
            int64_t start = i * share, stop = start + share < m ? start + share : m;
            if (start < stop)
                outputs8(o, q, step, some, y + first * m, start, stop);
        }
    }
}
