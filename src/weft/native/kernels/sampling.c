/* The next token of a row of logits: the likeliest, or drawn from those that the cuts leave. The definition is in
   generate/sampling.py; this computes the same without sorting the vocabulary. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "program.h"

/* Logits over a lower temperature are no floats; only the likeliest token has a chance there. */
#define COLDEST 1e-35

typedef struct {
    float value;
    int32_t index;
} candidate;

/* Likelier first; of equals, the one that stands first. */
static int order(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The candidates above a bound, in order. */
static int64_t likeliest(const float *values, int64_t n, float bound, candidate *found)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (values[i] > bound)
            found[count++] = (candidate){values[i], (int32_t)i};
    qsort(found, count, sizeof(candidate), order);
    return count;
}

/* The last candidate that the cuts keep: everything behind it in the order is out. Few tokens are near the best, so the
   search begins with those and widens where they do not suffice. `room` holds n candidates. */
static candidate last_kept(const float *values, const float *chance, int64_t n, float best, const drawing *how, candidate *room)
{
    candidate all = {-INFINITY, INT32_MAX};
    int64_t top_k = how->top_k > 0 && how->top_k < n ? how->top_k : 0;
    if (!top_k && how->top_p >= 1)
        return all;
    for (float depth = 4;; depth *= 2) {
        int everything = depth > 200; /* nothing that far below the best has a chance */
        int64_t count = likeliest(values, n, everything ? -INFINITY : best - depth, room);
        float least = -INFINITY; /* of the k likeliest; ties with the last of them stay */
        if (top_k) {
            if (count < top_k && !everything)
                continue;
            least = count >= top_k ? room[top_k - 1].value : -INFINITY;
        }
        if (how->top_p >= 1)
            return (candidate){least, INT32_MAX};
        double total = 0, before = 0;
        for (int64_t i = 0; i < n; i++)
            total += values[i] >= least ? chance[i] : 0;
        int64_t kept = 0;
        while (kept < count && room[kept].value >= least && (kept == 0 || before < how->top_p * total))
            before += chance[room[kept++].index];
        if (before >= how->top_p * total || everything || (kept < count && room[kept].value < least))
            return room[kept - 1];
    }
}

int64_t draw_token(const float *logits, int64_t n, const drawing *how, double u, float *work)
{
    float *values = work, *chance = work + n;
    float best = -INFINITY;
    int64_t first = 0;
    for (int64_t i = 0; i < n; i++) {
        if (logits[i] != logits[i])
            return -1;
        if (logits[i] > best) {
            best = logits[i];
            first = i;
        }
    }
    if (isinf(best))
        return -1;
    if (how->temperature < COLDEST)
        return first;
    best /= (float)how->temperature;
    for (int64_t i = 0; i < n; i++)
        values[i] = logits[i] / (float)how->temperature;
    for (int64_t i = 0; i < n; i++)
        chance[i] = expf(values[i] - best);
    candidate last = last_kept(values, chance, n, best, how, (candidate *)(work + 2 * n));
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int kept = values[i] > last.value || (values[i] == last.value && i <= last.index);
        chance[i] = kept && chance[i] >= how->min_p ? chance[i] : 0;
        total += chance[i];
    }
    int64_t token = first;
    for (int64_t i = 0; i < n; i++)
        if (chance[i] > 0) {
            token = i; /* the last token with any chance, for u next to 1 */
            sum += chance[i];
            if (sum > u * total)
                break;
        }
    return token;
}

/* One token a row, from logits (rows, n) and a number from 0 to 1 for each row; work holds 4 * n floats. Returns 0, or -1
   where logits are not numbers. */
int weft_draw(const float *logits, int64_t rows, int64_t n, const drawing *how, const double *u, float *work, int64_t *tokens)
{
    for (int64_t b = 0; b < rows; b++) {
        tokens[b] = draw_token(logits + b * n, n, how, u[b], work);
        if (tokens[b] < 0)
            return -1;
    }
    return 0;
}
