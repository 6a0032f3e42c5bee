/* Runs a step program. A file that includes this has chosen an instruction set, LANES, TILE_ROWS and TILE_OUTPUTS, the tiles of
   LINEAR8 and RUN, the name. */

#include "program.h"
#include "team.h"

#include "lanes.h"
#include "linear.h"
#include "linear8.h"
#include "embedding.h"
#include "tokens.h"
#include "recurrent.h"
#include "attention.h"
#ifdef BEST
#include "best.h"
#endif
#ifdef TRAIN
#include "training.h"
#endif

enum { SHARED_PRODUCTS = 16384, SHARED_NUMBERS = 8192 }; /* fewer are computed by one thread sooner than by several */

/* Whether an operation is worth the meeting of several threads. */
static int shared(const op *o, const batch *at, int64_t tokens)
{
    int64_t read = tokens * o->size[0] * (o->size[2] + o->size[3]);
    switch (o->kind) {
    case LINEAR:
    case LINEAR8: return tokens * o->from.width * o->to.width >= SHARED_PRODUCTS;
    case LSTM:
    case RNN: return at->rows * o->from.width * (o->data[0] ? o->to.width : 1) >= SHARED_PRODUCTS;
    case ATTEND: return read * (at->length + at->fresh) >= SHARED_PRODUCTS;
    case READ: return read * at->memory_length >= SHARED_PRODUCTS;
    case NORM:
    case TURN:
    case ACTIVATE:
    case GATE:
    case COPY:
    case ADD: return tokens > 1 && tokens * o->to.width >= SHARED_NUMBERS;
    default: return 0;
    }
}

/* A thread's share of an operation; returns 0, or why it could not be done. */
static int perform(const op *o, batch *at, const member *me, int64_t tokens, const float *from, float *to)
{
    int64_t n = tokens * o->to.width;
    span each = share(me, tokens, 1), flat = {each.start * o->to.width, each.stop * o->to.width};
    switch (o->kind) {
    case EMBED: return embed(o, at, to);
    case GRAMS: grams(o, at, to); break;
    case PLACES: return places(o, at, to);
    case WAVES: waves(o, at, to); break;
    case NORM:
        for (int64_t i = each.start; i < each.stop; i++)
            for (int64_t j = 0; j < o->size[4]; j += o->size[0])
                normalise(from + i * o->from.width + o->size[3] + j, to + i * o->to.width + o->size[3] + j, o->size[0], o);
        break;
    case SHIFT: shift(o, at, from, to); break;
    case LINEAR: linear(o, me, tokens, from, to); break;
    case LINEAR8: linear8(o, at, me, tokens, from, to); break;
    case ANGLES: angles(o, at, to); break;
    case TURN: turn(o, each, from, to); break;
    case ATTEND: attend(o, at, me, from, to); break;
    case READ: read_memory(o, at, me, from, to); break;
    case ACTIVATE: activate(o->size[0], from + flat.start, to + flat.start, flat.stop - flat.start); break;
    case GATE: gate(o, each, from, to); break;
    case LSTM:
    case RNN: recur(o, at, me, (float *)from, to); break;
    case RECALL: recall(o, at, to); break;
    case COUNT: return count_ids(o, at, to);
    case ABREAST: read_abreast(o, at, from, to); break;
    case PUT:
        for (int64_t i = each.start; i < each.stop; i++)
            memcpy(to + i * o->to.width + o->size[0], from + i * o->from.width, o->from.width * sizeof(float));
        break;
    case COPY: memcpy(to + flat.start, from + flat.start, (flat.stop - flat.start) * sizeof(float)); break;
    case ADD:
        for (int64_t i = flat.start; i < flat.stop; i++)
            to[i] += from[i];
        break;
    case MULTIPLY:
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * o->data[0][i % o->to.width];
        break;
    case OFFSET:
        for (int64_t i = 0; i < n; i++)
            to[i] += o->data[0][i % o->to.width];
        break;
    case WEIGH:
        for (int64_t i = 0; i < n; i++)
            to[i] *= sigmoid(from[i / o->to.width]);
        break;
    case SCALE:
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * (float)o->number[0];
        break;
    case CAP:
        for (int64_t i = 0; i < n; i++)
            to[i] = (float)o->number[0] * fast_tanh(from[i] / (float)o->number[0]);
        break;
    case CLEAR: memset(to, 0, n * sizeof(float)); break;
    case CHOOSE: choose(o, tokens, from, to); break;
    case SHARE: {
        const float *shares = at->work + o->size[0] * at->rows * at->fresh;
        for (int64_t i = 0; i < n; i++) {
            float part = shares[i / o->to.width * o->size[1] + o->size[2]];
            to[i] += part == 0 ? 0 : part * from[i];
        }
        break;
    }
    case LAST:
        for (int64_t b = 0; b < at->rows; b++)
            memcpy(to + b * o->to.width, from + ((b + 1) * at->fresh - 1) * o->from.width, o->to.width * sizeof(float));
        break;
    default: return BAD_KIND;
    }
    return 0;
}

/* One step. A thread that finds a failure goes on with whatever is there, so that the others do not wait for it. */
static void step(const op *ops, int64_t count, batch *at, const member *me)
{
    int64_t all_tokens = at->rows * at->fresh, tokens = all_tokens;
    int alone_before = 0;
    for (int64_t i = 0; i < count; i++) {
        const op *o = ops + i;
        const float *from = at->work + o->from.at * all_tokens;
        float *to = i == count - 1 ? at->out : at->work + o->to.at * all_tokens;
        if (o->kind == SKIP) { /* where threads share the operations in question, all of them must find the same */
            int together = me->threads > 1 && tokens * o->size[2] >= SHARED_PRODUCTS;
            if (together && alone_before)
                meet(me);
            int64_t left_out = (together || me->number == 0) && unused(o, tokens, from) ? o->size[0] : 0;
            if (together) {
                meet(me);
                alone_before = 0;
            }
            i += left_out;
            continue;
        }
        if (me->threads > 1 && shared(o, at, tokens)) {
            if (alone_before)
                meet(me);
            perform(o, at, me, tokens, from, to);
            meet(me);
            alone_before = 0;
        } else {
            member alone = {me->all, 0, 1};
            int failed = me->number == 0 ? perform(o, at, &alone, tokens, from, to) : 0;
            if (failed)
                me->all->failed = failed;
            alone_before = 1;
        }
        if (o->kind == LAST)
            tokens = at->rows;
    }
    meet(me);
}

/* The next token of each row, and whether the writing is over. Only one thread calls this, between two meetings. */
static void draw_next(batch *at, writing *w, team *all)
{
    all->stop = all->failed != 0;
    if (all->stop || w->drawn == w->count) {
        all->stop = 1;
        return;
    }
    int64_t *tokens = w->tokens + w->drawn * at->rows, ended = 0;
    for (int64_t b = 0; b < at->rows; b++) {
        float *logits = at->out + b * w->values;
        for (int64_t i = w->never_of[2 * b]; i < w->never_of[2 * b + 1]; i++)
            logits[w->never[i]] = -INFINITY;
        tokens[b] = draw_token(logits, w->values, w->how + b, w->chances[w->drawn * at->rows + b], w->work);
        if (tokens[b] < 0)
            all->failed = NOT_NUMBERS;
        for (int64_t i = w->ends_of[2 * b]; i < w->ends_of[2 * b + 1]; i++)
            w->ended[b] |= tokens[b] == w->ends[i];
        ended += w->ended[b] != 0;
    }
    w->drawn++;
    at->ids = tokens;
    all->stop = all->failed || ended == at->rows;
}

/* One step, or where something is to be written, the draws and steps of several tokens. */
static void work_on(const op *ops, int64_t count, batch *at, writing *w, const member *me)
{
    if (!w)
        step(ops, count, at, me);
    while (w) {
        if (me->number == 0)
            draw_next(at, w, me->all);
        meet(me);
        if (me->all->stop)
            break;
        step(ops, count, at, me);
        if (me->number == 0)
            at->length++;
    }
}

/* Returns 0, or why it could not go on. */
int RUN(const op *ops, int64_t count, batch *at, writing *w)
{
    team all = {0};
#ifdef _OPENMP
    if (at->threads > 1) {
#pragma omp parallel num_threads(at->threads)
        {
            member me = {&all, omp_get_thread_num(), omp_get_num_threads()};
            work_on(ops, count, at, w, &me);
        }
        return all.failed;
    }
#endif
    member me = {&all, 0, 1};
    work_on(ops, count, at, w, &me);
    return all.failed;
}
