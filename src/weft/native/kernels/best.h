/* The likeliest few of a row of logits, and the logarithm of the sum of all their exponentials. */

enum { FLUSH = 512 }; /* exponentials that are added in single precision before they join a sum in double precision */

/* log(sum of e^x): NaN where any is. */
static double log_total(const float *x, int64_t n)
{
    float most = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    if (isinf(most))
        return most;
    double sum = 0;
    for (int64_t start = 0; start < n; start += FLUSH) {
        int64_t stop = start + FLUSH < n ? start + FLUSH : n, i = start;
        lanes part = {0};
        float made[LANES], rest = 0;
        for (; i + LANES <= stop; i += LANES) {
            for (int j = 0; j < LANES; j++)
                made[j] = fast_exp(x[i + j] - most);
            part += load(made);
        }
        for (; i < stop; i++)
            rest += fast_exp(x[i] - most);
        sum += total(part) + rest;
    }
    return (double)most + log(sum);
}

/* The `count` largest values and where they stand, the largest first; of equals, the first. */
static void largest(const float *x, int64_t n, int64_t count, float *values, int64_t *places)
{
    int64_t found = 0;
    float least = -INFINITY; /* what a value must exceed once there are enough */
    for (int64_t start = 0; start < n; start += 2 * LANES) {
        int64_t stop = start + 2 * LANES < n ? start + 2 * LANES : n;
        int any = found < count;
        for (int64_t i = start; i < stop; i++)
            any |= x[i] > least;
        for (int64_t i = start; any && i < stop; i++) {
            if (found == count && !(x[i] > least))
                continue;
            int64_t at = found < count ? found++ : count - 1;
            for (; at > 0 && values[at - 1] < x[i]; at--) {
                values[at] = values[at - 1];
                places[at] = places[at - 1];
            }
            values[at] = x[i];
            places[at] = i;
            least = found == count ? values[count - 1] : least;
        }
    }
}

/* For each row, its largest values and their places among those that are open, less the logarithm of the sum over all. */
int BEST(const float *open, const float *logits, const leaders *l)
{
    int bad = 0;
#pragma omp parallel for num_threads(l->threads) if (l->threads > 1 && l->rows * l->values > 100000) reduction(| : bad)
    for (int64_t b = 0; b < l->rows; b++) {
        float *found = l->best + b * l->count;
        double all = log_total(logits + b * l->values, l->values);
        largest(open + b * l->values, l->values, l->count, found, l->tokens + b * l->count);
        bad |= !isfinite(all) || !isfinite(found[0]);
        for (int64_t i = 0; i < l->count; i++)
            found[i] = (float)((double)found[i] - all);
    }
    return bad ? NOT_NUMBERS : 0;
}
