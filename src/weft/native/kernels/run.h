/* Runs a step program. A file that includes this has chosen an instruction set, LANES, TILE_ROWS and RUN, the name. */

#include "program.h"

#include "lanes.h"
#include "linear.h"
#include "linear8.h"
#include "embedding.h"
#include "tokens.h"
#include "attention.h"

static int perform(const op *o, batch *at, int64_t tokens, const float *from, float *to)
{
    int64_t n = tokens * o->to.width;
    switch (o->kind) {
    case EMBED: return embed(o, at, to);
    case GRAMS: grams(o, at, to); break;
    case PLACES: return places(o, at, to);
    case WAVES: waves(o, at, to); break;
    case NORM:
        for (int64_t i = 0; i < tokens; i++)
            for (int64_t j = 0; j < o->size[4]; j += o->size[0])
                normalise(from + i * o->from.width + o->size[3] + j, to + i * o->to.width + o->size[3] + j, o->size[0], o);
        break;
    case SHIFT: shift(o, at, from, to); break;
    case LINEAR: linear(from, tokens, o->data[0], o->data[1], to, o->from.width, o->to.width, at->threads); break;
    case LINEAR8: linear8(o, at, tokens, from, to); break;
    case ANGLES: angles(o, at, to); break;
    case TURN: turn(o, tokens, from, to); break;
    case ATTEND: attend(o, at, from, to); break;
    case READ: read_memory(o, at, from, to); break;
    case ACTIVATE: activate(o->size[0], from, to, n); break;
    case GATE: gate(o, tokens, from, to); break;
    case LSTM: lstm(o, at, (float *)from, to); break;
    case COPY: memcpy(to, from, n * sizeof(float)); break;
    case ADD:
        for (int64_t i = 0; i < n; i++)
            to[i] += from[i];
        break;
    case SCALE:
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] * (float)o->number[0];
        break;
    case CAP:
        for (int64_t i = 0; i < n; i++)
            to[i] = (float)o->number[0] * fast_tanh(from[i] / (float)o->number[0]);
        break;
    case LAST:
        for (int64_t b = 0; b < at->rows; b++)
            memcpy(to + b * o->to.width, from + ((b + 1) * at->fresh - 1) * o->from.width, o->to.width * sizeof(float));
        break;
    default: return BAD_KIND;
    }
    return 0;
}

/* Returns 0, or why it could not go on. */
int RUN(const op *ops, int64_t count, batch *at)
{
    int64_t all_tokens = at->rows * at->fresh, tokens = all_tokens;
    for (int64_t i = 0; i < count; i++) {
        const op *o = ops + i;
        const float *from = at->work + o->from.at * all_tokens;
        float *to = i == count - 1 ? at->out : at->work + o->to.at * all_tokens;
        int failed = perform(o, at, tokens, from, to);
        if (failed)
            return failed;
        if (o->kind == LAST)
            tokens = at->rows;
    }
    return 0;
}
