/* Attention of one query over keys that stand side by side, and the two places where keys are: lines of what was read, and a
   memory. */

typedef struct {
    const float *keys, *values;   /* of one key head */
    int64_t start, stop;          /* the places that may be read */
    const uint8_t *valid;         /* null where all of them are real */
    float slope;                  /* taken off the score for each place of distance from `stop - 1` */
    const int32_t *rows;          /* for each place the row of the line that holds it, or null where one row holds all */
    int64_t key_row, value_row;   /* numbers in a row of all heads */
    const float *biases;          /* of this head, a number for each bucket of distances from `stop - 1`, or null */
    const float *sink;            /* the score of this head that takes its part without a value, or null */
} reach;

INLINE const float *key_at(const reach *r, int64_t place, int64_t width)
{
    return r->keys + (r->rows ? r->rows[place] * r->key_row : 0) + place * width;
}

INLINE const float *value_at(const reach *r, int64_t place, int64_t width)
{
    return r->values + (r->rows ? r->rows[place] * r->value_row : 0) + place * width;
}

enum { AT_ONCE = 4 }; /* vectors of values that are summed in one pass over the places */

/* The weighted sum of some vectors of values. */
INLINE void sum_values(const reach *r, const float *weights, int64_t width, int64_t from, float scale, float *out, int count)
{
    lanes mean[AT_ONCE];
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
        mean[i] = (lanes){0};
    for (int64_t j = r->start; j < r->stop; j++) {
        if (weights[j] == 0)
            continue;
        const float *value = value_at(r, j, width) + from;
#pragma GCC unroll 4
        for (int i = 0; i < count; i++)
            mean[i] += weights[j] * load(value + i * LANES);
    }
#pragma GCC unroll 4
    for (int i = 0; i < count; i++)
        store(out + from + i * LANES, mean[i] * scale);
}

/* v . tanh(q + k). */
INLINE float additive(const float *q, const float *k, const float *v, int64_t n)
{
    lanes sum = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        float part[LANES];
        for (int j = 0; j < LANES; j++)
            part[j] = v[i + j] * fast_tanh(q[i + j] + k[i + j]);
        sum += load(part);
    }
    float rest = 0;
    for (; i < n; i++)
        rest = fused(v[i], fast_tanh(q[i] + k[i]), rest);
    return total(sum) + rest;
}

/* softmax(factor * q . k + bias of the distance) v, or with another score; zero where there is nothing to read. */
static void read_keys(const op *o, const float *q, const reach *r, float *scores, float *out)
{
    int64_t width = o->size[2], value_width = o->size[3];
    float factor = (float)o->number[0], cap = (float)o->number[1], most = -INFINITY, sum = 0;
    for (int64_t j = r->start; j < r->stop; j++) {
        if (r->valid && !r->valid[j]) {
            scores[j] = -INFINITY;
            continue;
        }
        const float *key = key_at(r, j, width), *v = o->data[3];
        int64_t distance = r->stop - 1 - j;
        float score = factor * (v ? additive(q, key, v, width) : dot(q, key, width));
        if (cap > 0)
            score = cap * tanhf(score / cap);
        score -= r->slope * (float)distance;
        if (r->biases)
            score += r->biases[((const int32_t *)o->data[2])[distance < o->size[5] ? distance : o->size[5]] * o->size[0]];
        scores[j] = score;
        most = scores[j] > most ? scores[j] : most;
    }
    if (r->sink) {
        most = *r->sink > most ? *r->sink : most;
        sum = fast_exp(*r->sink - most);
    }
    for (int64_t j = r->start; j < r->stop; j++)
        scores[j] = fast_exp(scores[j] - most);
    for (int64_t j = r->start; j < r->stop; j++) {
        scores[j] = r->valid && !r->valid[j] ? 0 : scores[j];
        sum += scores[j];
    }
    float scale = sum > 0 || sum != sum ? 1.0f / sum : 0.0f;
    int64_t i = 0;
    for (; i + AT_ONCE * LANES <= value_width; i += AT_ONCE * LANES)
        sum_values(r, scores, value_width, i, scale, out, AT_ONCE);
    for (; i + LANES <= value_width; i += LANES)
        sum_values(r, scores, value_width, i, scale, out, 1);
    for (; i < value_width; i++) {
        float mean = 0;
        for (int64_t j = r->start; j < r->stop; j++)
            if (scores[j] != 0)
                mean = fused(scores[j], value_at(r, j, value_width)[i], mean);
        out[i] = mean * scale;
    }
}

/* Puts the keys or values of the new tokens behind those of earlier ones. */
static void append(const batch *at, const float *from, int64_t from_width, float *line, int64_t heads, int64_t width)
{
    for (int64_t b = 0; b < at->rows; b++)
        for (int64_t i = 0; i < at->fresh; i++)
            for (int64_t h = 0; h < heads; h++)
                memcpy(line + ((b * heads + h) * at->room + at->length + i) * width,
                       from + (b * at->fresh + i) * from_width + h * width, width * sizeof(float));
}

/* New tokens read their own line: what came before them in the row, themselves included. */
static void attend(const op *o, const batch *at, const member *me, const float *from, float *to)
{
    int64_t heads = o->size[0], groups = o->size[1], width = o->size[2], value_width = o->size[3], window = o->size[4];
    float *keys = at->slots[o->slot[0]], *values = at->slots[o->slot[1]];
    if (me->number == 0) {
        append(at, from + heads * width, o->from.width, keys, groups, width);
        append(at, from + (heads + groups) * width, o->from.width, values, groups, value_width);
    }
    meet(me);
    span mine = share(me, at->rows * at->fresh * heads, 1);
    for (int64_t work = mine.start; work < mine.stop; work++) {
        int64_t t = work / heads, h = work % heads, b = t / at->fresh, g = h / (heads / groups);
        int64_t place = at->length + t % at->fresh, first = at->first[b], line = at->room * groups;
        reach r = {keys + g * at->room * width, values + g * at->room * value_width, first, place + 1, 0, 0, 0,
                   line * width, line * value_width, 0, o->data[4] ? o->data[4] + h : 0};
        if (at->places)
            r.rows = at->places + b * at->room;
        else {
            r.keys += b * r.key_row;
            r.values += b * r.value_row;
        }
        if (window >= 0 && place - window > first)
            r.start = place - window;
        if (at->line_valid) {
            r.start = 0;
            r.valid = at->line_valid + b * at->room;
        }
        if (o->data[0])
            r.slope = o->data[0][h];
        if (o->data[1])
            r.biases = o->data[1] + h;
        if (place >= first)
            read_keys(o, from + t * o->from.width + h * width, &r, at->scratch + me->number * at->scratch_size,
                      to + t * o->to.width + h * value_width);
    }
}

/* Tokens read a memory, of which neighbouring rows may share one row. */
static void read_memory(const op *o, const batch *at, const member *me, const float *from, float *to)
{
    int64_t heads = o->size[0], groups = o->size[1], width = o->size[2], value_width = o->size[3], length = at->memory_length;
    const float *keys = at->slots[o->slot[0]], *values = at->slots[o->slot[1]];
    span mine = share(me, at->rows * at->fresh * heads, 1);
    for (int64_t work = mine.start; work < mine.stop; work++) {
        int64_t t = work / heads, h = work % heads, m = memory_row(at, t / at->fresh);
        int64_t g = m * groups + h / (heads / groups);
        const uint8_t *valid = at->memory_valid ? at->memory_valid + m * length : 0;
        reach r = {keys + g * length * width, values + g * length * value_width, 0, length, valid, 0, 0, 0, 0, 0,
                   o->data[4] ? o->data[4] + h : 0};
        read_keys(o, from + t * o->from.width + h * width, &r, at->scratch + me->number * at->scratch_size,
                  to + t * o->to.width + h * value_width);
    }
}
