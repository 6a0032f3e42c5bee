/* Attention within whole lines of tokens for training: queries and keys are normalised and turned, and each query reads all
   tokens, or those up to its own. One piece of work is a row's head of keys with all heads of queries that read it.

   QUERIES queries are taken at a time. Their weights stand in the scratch, and are computed anew for the gradient. */

enum { TILE_TOKENS = LANES == 16 ? 8 : 4, PAIR = 2 * LANES, QUERIES = 32, APART = 16, AHEAD = 12 };

/* The rows of one piece: numbers of tokens, padded to whole blocks, and between rows of scores and of what is turned on its side. */
typedef struct {
    int64_t tokens, padded, across, width, row;
    int causal;
} lines;

/* out_i = sum over k of a_ik b_k, or added to what is there, for TILE_TOKENS rows and `vectors` vectors (a constant). */
INLINE void product_tile(const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_row, int64_t depth, float *out,
                         int64_t out_row, int add, int vectors)
{
    lanes sum[TILE_TOKENS][2];
#pragma GCC unroll 8
    for (int i = 0; i < TILE_TOKENS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sum[i][v] = add ? load(out + i * out_row + v * LANES) : (lanes){0};
    for (int64_t k = 0; k < depth; k++) {
        lanes each[2];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            each[v] = load(b + k * b_row + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < TILE_TOKENS; i++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[i][v] += a[i * a_row + k * a_step] * each[v];
    }
#pragma GCC unroll 8
    for (int i = 0; i < TILE_TOKENS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            store(out + i * out_row + v * LANES, sum[i][v]);
}

/* The same for any number of columns that is a multiple of LANES. */
static void product(const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_row, int64_t depth, float *out,
                    int64_t out_row, int add, int64_t columns)
{
    int64_t j = 0;
    for (; j + PAIR <= columns; j += PAIR)
        product_tile(a, a_row, a_step, b + j, b_row, depth, out + j, out_row, add, 2);
    for (; j < columns; j += LANES)
        product_tile(a, a_row, a_step, b + j, b_row, depth, out + j, out_row, add, 1);
}

/* What the two directions need of `training`; program.h says what each field means. */
INLINE lines lines_of(const training *t)
{
    const int64_t *n = t->size;
    int64_t padded = (n[2] + QUERIES - 1) / QUERIES * QUERIES;
    return (lines){n[2], padded, padded + APART, n[5], (n[3] + 2 * n[4]) * n[5], (int)n[6]};
}

/* Asks for the numbers of the head of a later token: heads of one token stand together, so that those of one head are far apart. */
INLINE void expect(const float *x, const lines *l, int64_t row)
{
    for (int64_t i = 0; i < l->width; i += 16)
        __builtin_prefetch(x + AHEAD * row + i);
}

/* Each pair (x_i, x_{i + half}) turned by its angle, back where `sign` is -1, and all times a factor. */
INLINE void turned(const training *t, int64_t place, const float *restrict x, float *restrict y, float sign, float factor)
{
    int64_t width = t->size[5], half = t->size[7], i = 0;
    const float *cosine = t->data[1] + place * half, *sine = t->data[2] + place * half;
    for (; i + LANES <= half; i += LANES) {
        lanes c = load(cosine + i) * factor, s = load(sine + i) * (sign * factor), a = load(x + i), b = load(x + i + half);
        store(y + i, a * c - b * s);
        store(y + i + half, b * c + a * s);
    }
    for (; i < half; i++) {
        float c = cosine[i] * factor, s = sine[i] * (sign * factor), a = x[i], b = x[i + half];
        y[i] = a * c - b * s;
        y[i + half] = b * c + a * s;
    }
    for (i = 2 * half; i < width; i++)
        y[i] = x[i] * factor;
}

/* Queries or keys of one head, normalised where there is a norm, turned and times a factor; zeros behind the last token. */
static void place_all(const training *t, int64_t row, const float *from, const lines *l, float factor, float *to, float *work)
{
    float eps = (float)t->number[0];
    for (int64_t i = 0; i < l->tokens; i++) {
        const float *x = from + i * l->row;
        expect(x, l, l->row);
        if (eps >= 0)
            normed(x, work, l->width, eps);
        turned(t, row * l->tokens + i, eps >= 0 ? work : x, to + i * l->width, 1, factor);
    }
    memset(to + l->tokens * l->width, 0, (l->padded - l->tokens) * l->width * sizeof(float));
}

/* The gradient of `place_all`, from that of what it gave; `work` holds two heads' numbers. */
static void place_back(const training *t, int64_t row, const float *from, const lines *l, float factor, const float *grad,
                       float *to, float *work)
{
    float eps = (float)t->number[0];
    for (int64_t i = 0; i < l->tokens; i++) {
        expect(from + i * l->row, l, l->row);
        expect(to + i * l->row, l, l->row);
        turned(t, row * l->tokens + i, grad + i * l->width, eps >= 0 ? work : to + i * l->row, -1, factor);
        if (eps >= 0) {
            float scale = normed(from + i * l->row, work + l->width, l->width, eps);
            normed_back(work + l->width, scale, work, to + i * l->row, l->width);
        }
    }
}

/* Rows of one head of all tokens, and zeros behind them; `row` is the number of floats from token to token. */
static void gather(const float *from, int64_t row, const lines *l, float *to)
{
    for (int64_t i = 0; i < l->tokens; i++) {
        expect(from + i * row, l, row);
        memcpy(to + i * l->width, from + i * row, l->width * sizeof(float));
    }
    memset(to + l->tokens * l->width, 0, (l->padded - l->tokens) * l->width * sizeof(float));
}

/* Rows turned on their side: one line for each number of a head. */
static void aside(const float *from, const lines *l, float *to)
{
    for (int64_t i = 0; i < l->padded; i += LANES)
        for (int64_t j = 0; j < l->width; j++)
            for (int64_t k = 0; k < LANES; k++)
                to[j * l->across + i + k] = from[(i + k) * l->width + j];
}

/* The keys that a block of queries may read, in whole blocks, and those that query i may. */
INLINE int64_t reach_of_block(const lines *l, int64_t block) { return l->causal ? block + QUERIES : l->padded; }
INLINE int64_t reach_of(const lines *l, int64_t i) { return l->causal && i < l->tokens ? i + 1 : l->tokens; }

/* e^(x - less) of the first numbers, and zeros up to `stop`. */
static void powers(float *x, float less, int64_t count, int64_t stop)
{
    for (int64_t j = 0; j < count; j++)
        x[j] = fast_exp(x[j] - less);
    memset(x + count, 0, (stop - count) * sizeof(float));
}

static float highest(const float *x, int64_t n)
{
    float most[LANES];
    int64_t j = 0;
    for (int k = 0; k < LANES; k++)
        most[k] = -INFINITY;
    for (; j + LANES <= n; j += LANES)
        for (int k = 0; k < LANES; k++)
            most[k] = x[j + k] > most[k] ? x[j + k] : most[k];
    for (; j < n; j++)
        most[0] = x[j] > most[0] ? x[j] : most[0];
    for (int k = 1; k < LANES; k++)
        most[0] = most[k] > most[0] ? most[k] : most[0];
    return most[0];
}

/* out = softmax(factor q . k) v; keeps the logarithm of each query's sum of powers. */
static void reading_forward(const training *t, int64_t i, float *scratch)
{
    lines l = lines_of(t);
    int64_t heads = t->size[3], groups = t->size[4], row = i / groups, group = i % groups, shared = heads / groups;
    int64_t panel = l.padded * l.width;
    float *q = scratch, *k = q + panel, *v = k + panel, *keys = v + panel, *scores = keys + l.width * l.across;
    float *read = scores + QUERIES * l.across, *work = read + QUERIES * l.width;
    const float *from = t->data[0] + row * l.tokens * l.row;
    place_all(t, row, from + (heads + group) * l.width, &l, 1, k, work);
    aside(k, &l, keys);
    gather(from + (heads + groups + group) * l.width, l.row, &l, v);
    for (int64_t h = group * shared; h < (group + 1) * shared; h++) {
        place_all(t, row, from + h * l.width, &l, (float)t->number[1], q, work);
        for (int64_t block = 0; block < l.padded; block += QUERIES) {
            int64_t stop = reach_of_block(&l, block);
            for (int64_t r = 0; r < QUERIES; r += TILE_TOKENS)
                product(q + (block + r) * l.width, l.width, 1, keys, l.across, l.width, scores + r * l.across, l.across, 0, stop);
            float sums[QUERIES];
            for (int64_t r = 0; r < QUERIES; r++) {
                float *own = scores + r * l.across;
                int64_t count = reach_of(&l, block + r);
                float most = highest(own, count);
                powers(own, most, count, stop);
                sums[r] = sum_of(own, stop);
                if (block + r < l.tokens)
                    t->data[4][(row * heads + h) * l.tokens + block + r] = most + logf(sums[r]);
            }
            for (int64_t r = 0; r < QUERIES; r += TILE_TOKENS) {
                int64_t depth = l.causal ? block + r + TILE_TOKENS : l.padded;
                product(scores + r * l.across, l.across, 1, v, l.width, depth, read + r * l.width, l.width, 0, l.width);
            }
            for (int64_t r = 0; r < QUERIES && block + r < l.tokens; r++) {
                float *out = t->data[3] + ((row * l.tokens + block + r) * heads + h) * l.width;
                for (int64_t j = 0; j < l.width; j++)
                    out[j] = read[r * l.width + j] / sums[r];
            }
        }
    }
}

/* The weights of a block of queries, and the gradients of their scores, from those of the weights; zero for queries behind the last. */
static void scores_back(const lines *l, int64_t block, int64_t stop, const float *sums, float *weights, float *grads)
{
    for (int64_t r = 0; r < QUERIES; r++) {
        float *own = weights + r * l->across, *grad = grads + r * l->across;
        int64_t count = block + r < l->tokens ? reach_of(l, block + r) : 0;
        powers(own, count ? sums[block + r] : 0, count, stop);
        float mean = dot(own, grad, count);
        for (int64_t j = 0; j < count; j++)
            grad[j] = own[j] * (grad[j] - mean);
        memset(grad + count, 0, (stop - count) * sizeof(float));
    }
}

/* What some queries' rows of a matrix, read by columns, add to the rows of keys or values. */
static void add_columns(const lines *l, int64_t block, int64_t stop, const float *by, const float *from, float *to)
{
    for (int64_t j = 0; j < stop; j += TILE_TOKENS) {
        int64_t skip = l->causal && j > block ? j - block : 0; /* earlier queries do not read these keys */
        product(by + skip * l->across + j, 1, l->across, from + (block + skip) * l->width, l->width, QUERIES - skip,
                to + j * l->width, l->width, 1, l->width);
    }
}

/* The gradient of `reading_forward`, from that of out. */
static void reading_backward(const training *t, int64_t i, float *scratch)
{
    lines l = lines_of(t);
    int64_t heads = t->size[3], groups = t->size[4], row = i / groups, group = i % groups, shared = heads / groups;
    int64_t panel = l.padded * l.width, side = l.width * l.across;
    float *q = scratch, *k = q + panel, *grad = k + panel, *to_q = grad + panel, *to_k = to_q + panel, *to_v = to_k + panel;
    float *keys = to_v + panel, *values = keys + side, *weights = values + side, *grads = weights + QUERIES * l.across;
    float *work = grads + QUERIES * l.across;
    const float *from = t->data[0] + row * l.tokens * l.row;
    float *to = t->data[5] + row * l.tokens * l.row;
    gather(from + (heads + groups + group) * l.width, l.row, &l, q);
    aside(q, &l, values);
    place_all(t, row, from + (heads + group) * l.width, &l, 1, k, work);
    aside(k, &l, keys);
    memset(to_k, 0, 2 * panel * sizeof(float));
    for (int64_t h = group * shared; h < (group + 1) * shared; h++) {
        place_all(t, row, from + h * l.width, &l, (float)t->number[1], q, work);
        gather(t->data[3] + (row * l.tokens * heads + h) * l.width, heads * l.width, &l, grad);
        const float *sums = t->data[4] + (row * heads + h) * l.tokens;
        for (int64_t block = 0; block < l.padded; block += QUERIES) {
            int64_t stop = reach_of_block(&l, block);
            for (int64_t r = 0; r < QUERIES; r += TILE_TOKENS) {
                int64_t at = (block + r) * l.width, own = r * l.across;
                product(q + at, l.width, 1, keys, l.across, l.width, weights + own, l.across, 0, stop);
                product(grad + at, l.width, 1, values, l.across, l.width, grads + own, l.across, 0, stop);
            }
            scores_back(&l, block, stop, sums, weights, grads);
            for (int64_t r = 0; r < QUERIES; r += TILE_TOKENS) {
                int64_t depth = l.causal ? block + r + TILE_TOKENS : l.padded;
                product(grads + r * l.across, l.across, 1, k, l.width, depth, to_q + (block + r) * l.width, l.width, 0, l.width);
            }
            add_columns(&l, block, stop, grads, q, to_k);
            add_columns(&l, block, stop, weights, grad, to_v);
        }
        place_back(t, row, from + h * l.width, &l, (float)t->number[1], to_q, to + h * l.width, work);
    }
    place_back(t, row, from + (heads + group) * l.width, &l, 1, to_k, to + (heads + group) * l.width, work);
    for (int64_t j = 0; j < l.tokens; j++)
        memcpy(to + j * l.row + (heads + groups + group) * l.width, to_v + j * l.width, l.width * sizeof(float));
}
