/* What goes on from step to step: recurrent states, and counts by which a memory is read at the place that a row has come to. */

/* Which row of the memory a row of the batch reads. */
INLINE int64_t memory_row(const batch *at, int64_t row)
{
    int64_t m = row / (at->rows / at->memory_rows);
    return at->memory_index ? at->memory_index[m] : m;
}

/* i, f, g, o = gates;  c' = f c + i g;  h' = o tanh(c'). */
static void lstm_cell(const float *gates, float *h, float *c, int64_t width, span some)
{
    for (int64_t j = some.start; j < some.stop; j++) {
        float in = sigmoid(gates[j]), keep = sigmoid(gates[width + j]), new = fast_tanh(gates[2 * width + j]);
        c[j] = keep * c[j] + in * new;
        h[j] = sigmoid(gates[3 * width + j]) * fast_tanh(c[j]);
    }
}

/* h' = tanh(sum). */
static void rnn_cell(const float *sum, float *h, span some)
{
    for (int64_t j = some.start; j < some.stop; j++)
        h[j] = fast_tanh(sum[j]);
}

/* Tokens of a row come one after the other, rows side by side: W_h is read once for all of them. */
static void recur(const op *o, const batch *at, const member *me, float *from, float *to)
{
    int64_t width = o->to.width, gates = o->from.width;
    float *h = at->slots[o->slot[0]], *c = at->slots[o->slot[1]], *added = at->work + o->size[0] * at->rows * at->fresh;
    span gated = share(me, gates, 8), kept = share(me, width, 8);
    for (int64_t i = 0; i < at->fresh; i++) {
        if (o->data[0]) {
            outputs(h, at->rows, o->data[0], o->data[1], added, width, gates, gated.start, gated.stop);
            for (int64_t b = 0; b < at->rows; b++)
                for (int64_t j = gated.start; j < gated.stop; j++)
                    from[(b * at->fresh + i) * gates + j] += added[b * gates + j];
            meet(me);
        }
        for (int64_t b = 0; b < at->rows; b++) {
            int64_t t = b * at->fresh + i;
            if (at->length + i < at->first[b])
                continue;
            if (o->kind == LSTM)
                lstm_cell(from + t * gates, h + b * width, c + b * width, width, kept);
            else
                rnn_cell(from + t * gates, h + b * width, kept);
            memcpy(to + t * width + kept.start, h + b * width + kept.start, (kept.stop - kept.start) * sizeof(float));
        }
        meet(me);
    }
}

/* Counts the ids that have a flag, those of this step included. */
static int count_ids(const op *o, const batch *at, float *to)
{
    const uint8_t *flags = (const uint8_t *)o->data[0];
    int64_t *counts = (int64_t *)at->slots[o->slot[0]];
    for (int64_t t = 0; t < at->rows * at->fresh; t++) {
        int64_t b = t / at->fresh, id = at->ids[t];
        if (id < 0 || id >= o->size[0])
            return BAD_ID;
        if (at->length + t % at->fresh >= at->first[b])
            counts[b] += flags[id];
        to[t] = (float)counts[b];
    }
    return 0;
}

/* The vector of the memory's first token whose place is that of the reader; zero where there is none. */
static void read_abreast(const op *o, const batch *at, const float *from, float *to)
{
    int64_t width = o->to.width, length = at->memory_length;
    const float *vectors = at->slots[o->slot[0]];
    const int64_t *places = (const int64_t *)at->slots[o->slot[1]];
    for (int64_t t = 0; t < at->rows * at->fresh; t++) {
        int64_t m = memory_row(at, t / at->fresh), wanted = (int64_t)from[t], j = 0;
        while (j < length && places[m * length + j] != wanted)
            j++;
        if (j < length)
            memcpy(to + t * width, vectors + (m * length + j) * width, width * sizeof(float));
        else
            memset(to + t * width, 0, width * sizeof(float));
    }
}

/* What is kept for each row of the batch, or for its row of the memory. */
static void recall(const op *o, const batch *at, float *to)
{
    int64_t width = o->to.width;
    for (int64_t t = 0; t < at->rows * at->fresh; t++) {
        int64_t b = t / at->fresh, row = o->size[1] ? memory_row(at, b) : b;
        memcpy(to + t * width, at->slots[o->slot[0]] + row * o->size[0], width * sizeof(float));
    }
}
