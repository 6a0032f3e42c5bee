/* What is done within a token: norms, shifts, turns, activations. */

/* One group of numbers brought to a common scale: by mean and variance, or by the mean square. */
static void normalise(const float *x, float *y, int64_t n, const op *o)
{
    const float *gain = o->data[0], *offset = o->data[1];
    int rms = (int)o->size[1];
    float excess = o->size[2] ? 1.0f : 0.0f, mean = 0;
    lanes sum = {0};
    int64_t i = 0;
    if (!rms) {
        float rest = 0;
        for (; i + LANES <= n; i += LANES)
            sum += load(x + i);
        for (; i < n; i++)
            rest += x[i];
        mean = (total(sum) + rest) / (float)n;
    }
    lanes squares = {0};
    float rest = 0;
    for (i = 0; i + LANES <= n; i += LANES) {
        lanes apart = load(x + i) - mean;
        squares += apart * apart;
    }
    for (; i < n; i++)
        rest = fused(x[i] - mean, x[i] - mean, rest);
    float scale = 1.0f / sqrtf((total(squares) + rest) / (float)n + (float)o->number[0]);
    if (!gain)
        for (i = 0; i < n; i++)
            y[i] = (x[i] - mean) * scale;
    else
        for (i = 0; i < n; i++)
            y[i] = (x[i] - mean) * scale * (gain[i] + excess);
    if (offset)
        for (i = 0; i < n; i++)
            y[i] += offset[i];
}

/* Mixes each token with the one before, which is zero ahead of a row's first; keeps the last for the next step. */
static void shift(const op *o, const batch *at, const float *from, float *to)
{
    int64_t width = o->to.width;
    const float *mix = o->data[0];
    for (int64_t b = 0; b < at->rows; b++) {
        float *previous = at->slots[o->slot[0]] + b * width;
        for (int64_t i = 0; i < at->fresh; i++) {
            const float *x = from + (b * at->fresh + i) * width;
            float *y = to + (b * at->fresh + i) * width;
            if (at->length + i < at->first[b])
                continue;
            for (int64_t j = 0; j < width; j++)
                y[j] = x[j] + mix[j] * (previous[j] - x[j]);
            memcpy(previous, x, width * sizeof(float));
        }
    }
}

/* Each pair (x_i, x_{i + half}) of some heads turned by its angle. */
static void turn(const op *o, span each, const float *angle, float *to)
{
    int64_t half = o->from.width / 2, heads = o->size[1], head_width = o->size[2];
    for (int64_t t = each.start; t < each.stop; t++) {
        const float *cosine = angle + t * 2 * half, *sine = cosine + half;
        for (int64_t h = 0; h < heads; h++) {
            float *a = to + t * o->to.width + o->size[0] + h * head_width, *b = a + half;
            for (int64_t i = 0; i < half; i++) {
                float x = a[i], y = b[i];
                a[i] = x * cosine[i] - y * sine[i];
                b[i] = y * cosine[i] + x * sine[i];
            }
        }
    }
}

#define EACH(value)                                                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                                                          \
        float v = x[i];                                                                                                        \
        y[i] = (value);                                                                                                        \
    }                                                                                                                          \
    break;

static void activate(int64_t kind, const float *x, float *y, int64_t n)
{
    switch (kind) {
    case RELU: EACH(v < 0 ? 0 : v)
    case GELU: EACH(0.5f * v * (1.0f + erff(v * 0.70710678f)))
    case GELU_TANH: EACH(0.5f * v * (1.0f + fast_tanh(0.79788456f * (v + 0.044715f * v * v * v))))
    case QUICK: EACH(v * sigmoid(1.702f * v))
    case RELU_SQUARED: EACH(v < 0 ? 0 : v * v)
    case SILU: EACH(v * sigmoid(v))
    case SINE: EACH(sinf(v))
    case TANH: EACH(fast_tanh(v))
    }
}

static void gate(const op *o, span each, const float *from, float *to)
{
    int64_t n = o->to.width;
    for (int64_t t = each.start; t < each.stop; t++) {
        const float *value = from + (2 * t + 1) * n;
        activate(o->size[0], from + 2 * t * n, to + t * n, n);
        for (int64_t i = 0; i < n; i++)
            to[t * n + i] *= value[i];
    }
}

/* i, f, g, o = gates;  c' = f c + i g;  h' = o tanh(c'). Tokens of a row come one after the other, rows side by side. */
static void lstm(const op *o, const batch *at, const member *me, float *from, float *to)
{
    int64_t width = o->to.width;
    float *h = at->slots[o->slot[0]], *c = at->slots[o->slot[1]], *added = at->scratch + me->number * at->scratch_size;
    span gated = share(me, 4 * width, 8), kept = share(me, width, 8);
    for (int64_t i = 0; i < at->fresh; i++) {
        for (int64_t b = 0; b < at->rows; b++) {
            float *gates = from + (b * at->fresh + i) * 4 * width;
            if (at->length + i < at->first[b])
                continue;
            outputs(h + b * width, 1, o->data[0], o->data[1], added, width, 4 * width, gated.start, gated.stop);
            for (int64_t j = gated.start; j < gated.stop; j++)
                gates[j] += added[j];
        }
        meet(me);
        for (int64_t b = 0; b < at->rows; b++) {
            int64_t t = b * at->fresh + i;
            float *gates = from + t * 4 * width, *state = h + b * width, *cell = c + b * width;
            if (at->length + i < at->first[b])
                continue;
            for (int64_t j = kept.start; j < kept.stop; j++) {
                float in = sigmoid(gates[j]), keep = sigmoid(gates[width + j]), new = fast_tanh(gates[2 * width + j]);
                cell[j] = keep * cell[j] + in * new;
                state[j] = sigmoid(gates[3 * width + j]) * fast_tanh(cell[j]);
                to[t * width + j] = state[j];
            }
        }
        meet(me);
    }
}
