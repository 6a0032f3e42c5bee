/* Ids and places become vectors. */

/* Returns 0, or BAD_ID where the table has no row for an id. */
static int embed(const op *o, const batch *at, float *to)
{
    int64_t width = o->to.width;
    float scale = (float)o->number[0];
    for (int64_t t = 0; t < at->rows * at->fresh; t++) {
        if (at->ids[t] < 0 || at->ids[t] >= o->size[0])
            return BAD_ID;
        const float *row = o->data[0] + at->ids[t] * width;
        for (int64_t i = 0; i < width; i++)
            to[t * width + i] = row[i] * scale;
    }
    return 0;
}

/* The row of a table for a code: the code itself where all codes have a row, otherwise its hash. */
INLINE int64_t bucket(int64_t code, int64_t rows, int exact)
{
    if (exact)
        return code;
    int64_t hash = (int64_t)((uint64_t)code * 2654435761u) >> 7;
    int64_t rest = hash % rows;
    return rest < 0 ? rest + rows : rest;
}

/* Adds the vectors of the last 2, 3 ... ids of each token, and keeps the latest ids for the next step. Where there are no
   earlier ids, zeros stand in their place. */
static void grams(const op *o, const batch *at, float *to)
{
    int64_t width = o->to.width, tables = o->size[0], vocab = o->size[1];
    for (int64_t b = 0; b < at->rows; b++) {
        int64_t *earlier = at->earlier + b * at->before;
        for (int64_t i = 0; i < at->fresh; i++) {
            int64_t t = b * at->fresh + i;
            if (at->length + i < at->first[b])
                continue;
            int64_t code = at->ids[t], power = 1;
            for (int64_t k = 0; k < tables; k++) {
                power *= vocab;
                code = (int64_t)((uint64_t)code + (uint64_t)earlier[at->before - 1 - k] * (uint64_t)power);
                int64_t rows = o->size[2 + k];
                const float *row = o->data[k] + bucket(code, rows, power * vocab <= rows) * width;
                for (int64_t j = 0; j < width; j++)
                    to[t * width + j] += row[j];
            }
            memmove(earlier, earlier + 1, (at->before - 1) * sizeof(int64_t));
            earlier[at->before - 1] = at->ids[t];
        }
    }
}

INLINE int64_t position(const batch *at, int64_t token)
{
    return at->length + token % at->fresh - at->first[token / at->fresh];
}

/* Returns 0, or BAD_PLACE where the table has no row for a place. */
static int places(const op *o, const batch *at, float *to)
{
    int64_t width = o->to.width;
    for (int64_t t = 0; t < at->rows * at->fresh; t++) {
        int64_t place = position(at, t) < 0 ? 0 : position(at, t);
        if (place + o->size[0] >= o->size[1])
            return BAD_PLACE;
        const float *row = o->data[0] + (place + o->size[0]) * width;
        for (int64_t i = 0; i < width; i++)
            to[t * width + i] += row[i];
    }
    return 0;
}

static void waves(const op *o, const batch *at, float *to)
{
    int64_t width = o->to.width, count = o->size[0];
    for (int64_t t = 0; t < at->rows * at->fresh; t++)
        for (int64_t i = 0; i < count; i++) {
            float angle = ((float)position(at, t) + (float)o->number[0]) * o->data[0][i];
            to[t * width + i] += sinf(angle);
            to[t * width + count + i] += cosf(angle);
        }
}

/* Cosines and sines of rotary turns: made once a step, used by all layers. */
static void angles(const op *o, const batch *at, float *to)
{
    int64_t count = o->size[0];
    float gain = (float)o->number[0];
    for (int64_t t = 0; t < at->rows * at->fresh; t++)
        for (int64_t i = 0; i < count; i++) {
            float angle = (float)position(at, t) * o->data[0][i];
            to[t * 2 * count + i] = cosf(angle) * gain;
            to[t * 2 * count + count + i] = sinf(angle) * gain;
        }
}
