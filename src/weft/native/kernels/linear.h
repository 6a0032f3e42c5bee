/* y = W x + b for some rows of x. W is read where the module keeps it, one row for each output.

   A sum runs in the same order whatever the number of rows and threads: the answer to a row does not depend on its
   neighbours. */

/* Sums of R rows of x with O rows of W, from registers to y: all lanes of each added, the rest, then the offset. */
INLINE void add_up(const lanes *sum, const float *rest, const float *b, float *y, int64_t y_width, int R, int O)
{
    int done = 0;
#if defined(PICK)
#if LANES == 16
    if (R == 4 && O >= 4) {
        lanes found = totals16(sum, O);
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            four one = *((four *)&found + r) + *(const four *)(rest + r * O);
            if (b)
                one += *(const four *)b;
            *(four *)(y + r * y_width) = one;
        }
        done = 4;
    }
#endif
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int o = done; o + 4 <= O; o += 4) {
            const lanes *s = sum + r * O + o;
            four one = totals(s[0], s[1], s[2], s[3]) + *(const four *)(rest + r * O + o);
            if (b)
                one += *(const four *)(b + o);
            *(four *)(y + r * y_width + o) = one;
        }
    done = O / 4 * 4;
#endif
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int o = done; o < O; o++) {
            float one = total(sum[r * O + o]) + rest[r * O + o];
            y[r * y_width + o] = b ? one + b[o] : one;
        }
}

/* The numbers of one LINEAR, or of some of its rows. */
typedef struct {
    const float *x, *w, *b;
    float *y;
    int64_t n, m, rows;
} map;

/* The products of R rows of x with O rows of W over some of their numbers. R, O and `ahead` are constants where this is used, so
   the sums stay in registers. Where it begins or ends within a row, they are `kept` in between. Each tile of rows asks for
   `ahead` of the O rows of W that come next. */
INLINE void tile(const map *a, int64_t row, int64_t output, span within, lanes *kept, int R, int O, int ahead)
{
    const float *x = a->x + row * a->n, *w = a->w + output * a->n, *next = w + (O + row / R * ahead) * a->n;
    int64_t n = a->n, k = within.start;
    lanes sum[24];
    float rest[24];
#pragma GCC unroll 24
    for (int i = 0; i < R * O; i++) {
        sum[i] = k > 0 ? kept[i] : (lanes){0};
        rest[i] = 0;
    }
    for (; k + LANES <= within.stop; k += LANES) {
        lanes number[4];
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
            number[r] = load(x + r * n + k);
#pragma GCC unroll 8
        for (int o = 0; o < O; o++) {
            lanes weight = load(w + o * n + k);
            if (o < ahead)
                __builtin_prefetch(next + o * n + k, 0, 2);
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                sum[r * O + o] += weight * number[r];
        }
    }
    if (within.stop < n) {
#pragma GCC unroll 24
        for (int i = 0; i < R * O; i++)
            kept[i] = sum[i];
        return;
    }
    for (; k < n; k++)
#pragma GCC unroll 8
        for (int o = 0; o < O; o++)
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                rest[r * O + o] = fused(w[o * n + k], x[r * n + k], rest[r * O + o]);
    add_up(sum, rest, a->b ? a->b + output : 0, a->y + row * a->m + output, a->m, R, O);
}

/* The numbers of x and the rows that stay in a core's outer cache, and the numbers of a row that do in its inner one. */
enum { STAY = 192 * 1024, STAY_ROWS = 128, NEAR = 768 };

/* TILE_OUTPUTS outputs for TILE_ROWS rows and more: what of their weights fits into the inner cache meets all rows. While the
   first tiles of rows read their weights, they ask for those of the outputs that come next, a line at a time. */
static void few_outputs(const map *a, int64_t output, int more)
{
    lanes kept[STAY_ROWS * TILE_OUTPUTS];
    int64_t parts = (a->n + NEAR - 1) / NEAR, each = (a->n / parts + LANES - 1) / LANES * LANES;
    int64_t tiles = more ? a->rows / TILE_ROWS : 0;
    for (int64_t k = 0; k < a->n; k += each) {
        span within = {k, k + each < a->n ? k + each : a->n};
        int64_t r = 0;
        for (; r + TILE_ROWS <= a->rows; r += TILE_ROWS) {
            lanes *sums = kept + r * TILE_OUTPUTS;
            if (tiles == 1)
                tile(a, r, output, within, sums, TILE_ROWS, TILE_OUTPUTS, TILE_OUTPUTS);
            else if (tiles == 2)
                tile(a, r, output, within, sums, TILE_ROWS, TILE_OUTPUTS, TILE_OUTPUTS / 2);
            else if (tiles > 2 && r < TILE_OUTPUTS / 2 * TILE_ROWS)
                tile(a, r, output, within, sums, TILE_ROWS, TILE_OUTPUTS, 2);
            else
                tile(a, r, output, within, sums, TILE_ROWS, TILE_OUTPUTS, 0);
        }
        for (; r < a->rows; r++)
            tile(a, r, output, within, kept + r * TILE_OUTPUTS, 1, TILE_OUTPUTS, 0);
    }
}

/* The outputs from `start` to `stop` for rows that stay in the outer cache. */
static void outputs_of_some(const map *a, int64_t start, int64_t stop)
{
    span whole = {0, a->n};
    int64_t o = start;
    if (a->rows == 1)
        for (; o + 8 <= stop; o += 8)
            tile(a, 0, o, whole, 0, 1, 8, 0);
    if (a->rows >= TILE_ROWS)
        for (; o + TILE_OUTPUTS <= stop; o += TILE_OUTPUTS)
            few_outputs(a, o, o + 2 * TILE_OUTPUTS <= stop);
    for (; o + 4 <= stop; o += 4)
        for (int64_t r = 0; r < a->rows; r++)
            tile(a, r, o, whole, 0, 1, 4, 0);
    for (; o < stop; o++)
        for (int64_t r = 0; r < a->rows; r++)
            tile(a, r, o, whole, 0, 1, 1, 0);
}

/* The outputs from `start` to `stop` for all rows. */
static void outputs(const float *x, int64_t rows, const float *w, const float *b, float *y, int64_t n, int64_t m, int64_t start,
                    int64_t stop)
{
    int64_t some = STAY / n / TILE_ROWS * TILE_ROWS;
    some = some < 4 * TILE_ROWS ? 4 * TILE_ROWS : some > STAY_ROWS ? STAY_ROWS : some;
    for (int64_t row = 0; row < rows; row += some) {
        map a = {x + row * n, w, b, y + row * m, n, m, rows - row < some ? rows - row : some};
        outputs_of_some(&a, start, stop);
    }
}

/* A thread's share of the outputs. */
static void linear(const op *o, const member *me, int64_t rows, const float *x, float *y)
{
    span mine = share(me, o->to.width, 8);
    outputs(x, rows, o->data[0], o->data[1], y, o->from.width, o->to.width, mine.start, mine.stop);
}
