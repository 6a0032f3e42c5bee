/* y = W x + b for some rows of x. W is read where the module keeps it, one row for each output.

   A sum runs in the same order whatever the number of rows and threads: the answer to a row does not depend on its
   neighbours. */

/* The products of R rows of x with O rows of W. R and O are constants where this is used, so the sums stay in registers. */
INLINE void tile(const float *x, const float *w, int64_t n, const float *b, float *y, int64_t y_width, int R, int O)
{
    lanes sum[16];
    float rest[16];
#pragma GCC unroll 16
    for (int i = 0; i < R * O; i++) {
        sum[i] = (lanes){0};
        rest[i] = 0;
    }
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES) {
#pragma GCC unroll 8
        for (int o = 0; o < O; o++) {
            lanes weight = load(w + o * n + k);
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                sum[r * O + o] += weight * load(x + r * n + k);
        }
    }
    for (; k < n; k++)
#pragma GCC unroll 8
        for (int o = 0; o < O; o++)
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                rest[r * O + o] = fused(w[o * n + k], x[r * n + k], rest[r * O + o]);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
        int o = 0;
        lanes *s = sum + r * O;
        float *e = rest + r * O, *out = y + r * y_width;
#if defined(PICK)
#pragma GCC unroll 2
        for (; o + 4 <= O; o += 4) {
            four found = totals(s[o], s[o + 1], s[o + 2], s[o + 3]) + *(four *)(e + o);
            if (b)
                found += *(const four *)(b + o);
            *(four *)(out + o) = found;
        }
#endif
#pragma GCC unroll 8
        for (; o < O; o++)
            out[o] = b ? total(s[o]) + e[o] + b[o] : total(s[o]) + e[o];
    }
}

/* The outputs from `start` to `stop` for all rows. Weights of a few outputs are read once for all rows. */
static void outputs(const float *x, int64_t rows, const float *w, const float *b, float *y, int64_t n, int64_t m, int64_t start,
                    int64_t stop)
{
    int64_t o = start;
    if (rows == 1)
        for (; o + 8 <= stop; o += 8)
            tile(x, w + o * n, n, b ? b + o : 0, y + o, m, 1, 8);
    for (; o + 4 <= stop; o += 4) {
        int64_t r = 0;
        for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
            tile(x + r * n, w + o * n, n, b ? b + o : 0, y + r * m + o, m, TILE_ROWS, 4);
        for (; r < rows; r++)
            tile(x + r * n, w + o * n, n, b ? b + o : 0, y + r * m + o, m, 1, 4);
    }
    for (; o < stop; o++)
        for (int64_t r = 0; r < rows; r++)
            tile(x + r * n, w + o * n, n, b ? b + o : 0, y + r * m + o, m, 1, 1);
}

/* A thread's share of the outputs. */
static void linear(const op *o, const member *me, int64_t rows, const float *x, float *y)
{
    span mine = share(me, o->to.width, 8);
    outputs(x, rows, o->data[0], o->data[1], y, o->from.width, o->to.width, mine.start, mine.stop);
}
