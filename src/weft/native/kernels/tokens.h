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

/* The shares of the highest scores of each token, all others 0. A share that is too small for a number counts as not chosen. */
static void choose(const op *o, int64_t tokens, const float *from, float *to)
{
    int64_t n = o->to.width;
    for (int64_t t = 0; t < tokens; t++) {
        const float *score = from + t * n;
        float *share = to + t * n, most = score[0], sum = 0;
        for (int64_t j = 0; j < n; j++) {
            most = score[j] > most ? score[j] : most;
            share[j] = 0;
        }
        for (int64_t i = 0; i < o->size[0]; i++) {
            int64_t best = -1;
            for (int64_t j = 0; j < n; j++)
                if (share[j] == 0 && (best < 0 || score[j] > score[best]))
                    best = j;
            if (best < 0)
                break;
            share[best] = fast_exp(score[best] - most);
            sum += share[best];
        }
        if (o->size[1]) {
            sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += fast_exp(score[j] - most);
        }
        for (int64_t j = 0; j < n; j++)
            share[j] /= sum;
    }
}

/* Whether a number of a register is 0 for all tokens. */
static int unused(const op *o, int64_t tokens, const float *from)
{
    for (int64_t t = 0; t < tokens; t++)
        if (from[t * o->from.width + o->size[1]] != 0)
            return 0;
    return 1;
}

static void gate(const op *o, span each, const float *from, float *to)
{
    int64_t n = o->to.width;
    float limit = (float)o->number[0], more = (float)o->number[1];
    for (int64_t t = each.start; t < each.stop && limit > 0; t++) {
        const float *first = from + 2 * t * n, *second = first + n;
        float *y = to + t * n;
        for (int64_t i = 0; i < n; i++)
            y[i] = first[i] > limit ? limit : first[i];
        activate(o->size[0], y, y, n);
        for (int64_t i = 0; i < n; i++)
            y[i] *= more + (second[i] > limit ? limit : second[i] < -limit ? -limit : second[i]);
    }
    for (int64_t t = each.start; t < each.stop && !(limit > 0); t++) {
        const float *value = from + (2 * t + 1) * n;
        activate(o->size[0], from + 2 * t * n, to + t * n, n);
        for (int64_t i = 0; i < n; i++)
            to[t * n + i] *= value[i];
    }
}
