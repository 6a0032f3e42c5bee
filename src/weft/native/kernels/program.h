/* The step program: what one step of a decoder computes, as a flat list of operations over registers.

   A register holds `width` floats for each token of the batch. All tokens of a register stand side by side, so register `r`
   of token `t` begins at  work + r.at * tokens + t * r.width.  Python makes the list once from a model (generate/program.py)
   and lays out the same structures with ctypes (native/layout.py): whoever changes one changes the other. */

#ifndef WEFT_PROGRAM_H
#define WEFT_PROGRAM_H

#include <stdint.h>

/* Whether this compiler knows products of tiles (AMX), and the system can be asked for them. */
#if defined(__x86_64__) && defined(__linux__)
#if (defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11)
#define HAS_AMX
#endif
#endif

enum kind {
    EMBED,      /* to = scale * table[id]                                    data: table; size: rows; number: scale */
    GRAMS,      /* to += tables[hash of the last 2, 3 ... ids]               data: tables; size: tables, vocab, rows of each */
    PLACES,     /* to += table[position + start]                             data: table; size: start, rows */
    WAVES,      /* to += sines, then cosines of (position + start) * f       data: f; size: frequencies; number: start */
    NORM,       /* to = normalised groups of from                            data: gain, offset; number: eps;
                                                                             size: group, RMS?, gain - 1?, first, numbers in all */
    SHIFT,      /* to = from + mix * (previous - from)                       data: mix; slot: previous */
    LINEAR,     /* to = W from + b                                           data: W, b */
    ANGLES,     /* to = cosines, then sines of position * f, times a gain    data: f; size: frequencies; number: gain */
    TURN,       /* pairs of each head of `to` are turned by angles in from   size: first, heads, head width */
    ATTEND,     /* to = attention over what was read; from holds q, k, v     size: heads, key heads, key width, value width, window,
                                                                             the farthest distance of buckets;
                                                                             number: factor, cap; slot: keys, values;
                                                                             data: slopes, a table of biases, buckets, v, sinks */
    READ,       /* to = attention over a memory; from holds q                the same, without window and biases */
    ACTIVATE,   /* to = act(from)                                            size: activation */
    GATE,       /* to = act(first half of from) * second half                size: activation; number: the limit of the first half
                                                                             and of +-the second, if above 0; what the second is
                                                                             increased by */
    LSTM,       /* to = h; from holds W_x x + b, without W_h all gates       data: W_h, b_h; slot: h, c;
                                                                             size: where a register for W_h h begins */
    COPY,       /* to = from */
    ADD,        /* to += from */
    SCALE,      /* to = factor * from                                        number: factor */
    CAP,        /* to = cap * tanh(from / cap)                               number: cap */
    LINEAR8,    /* to = W from + b with weights in eight bits                data: tiles of W, scales, b, sums of W's rows;
                                                                             size: the largest rounded number */
    LAST,       /* to = from of each row's last token; from here on a row has one token */
    MULTIPLY,   /* to = gain * from, number by number                        data: gain */
    OFFSET,     /* to += the same numbers for every token                    data: those numbers */
    PUT,        /* some numbers of to = from                                 size: the first of them */
    RECALL,     /* to = what is kept for the row, or its row of the memory   slot: kept; size: numbers in a row, of the memory? */
    WEIGH,      /* to = sigmoid(from) * to; from is one number */
    RNN,        /* the same as LSTM: h = tanh(from + W_h h)                  slot: h */
    COUNT,      /* to = how many of some ids the row has so far              data: a byte for each id; slot: counts; size: ids */
    ABREAST,    /* to = the memory's first vector at the place in from       slot: vectors, places */
    CLEAR,      /* to = 0 */
    CHOOSE,     /* to = softmax of the highest numbers in from, else 0       size: how many; whether the softmax is of all numbers */
    SKIP,       /* some operations are left out where a number of from is 0  size: operations; the number; products of the largest
                   for all tokens                                            of them for one token */
    SHARE       /* to += a number of another register * from                 size: where that register begins, its width, the number */
};

enum activation { RELU, GELU, GELU_TANH, QUICK, RELU_SQUARED, SILU, SINE, TANH };

/* A table has no row for a place or an id; logits are not numbers; an operation is not known. */
enum failure { BAD_PLACE = 1, BAD_ID, NOT_NUMBERS, BAD_KIND };

enum { SIZES = 8, NUMBERS = 2, DATA = 8, SLOTS = 2 };

typedef struct {
    int64_t at, width;
} reg;

typedef struct {
    int64_t kind;
    reg from, to;
    int64_t size[SIZES];
    double number[NUMBERS];
    const float *data[DATA];
    int64_t slot[SLOTS];
} op;

/* A batch in the making. Keys and values of a slot are (rows, key heads, room, width), of a memory (memory_rows, key heads,
   memory_length, width); other slots are (rows, width), of a memory (memory_rows, width). Counts and places are 64-bit
   integers. Tokens that stand before a row's `first` place are padding. */
typedef struct {
    int64_t rows, fresh;               /* rows, and new tokens in each */
    int64_t length, room;              /* places read before this step, and places that the lines have */
    int64_t memory_rows, memory_length; /* rows of the memory that are read, each by as many neighbouring rows; and its places */
    int64_t threads, scratch_size;
    const int64_t *ids;                /* (rows, fresh) */
    const int64_t *first;              /* (rows): the place of each row's first real token */
    int64_t *earlier;                  /* (rows, before): ids read before, the latest last */
    int64_t before;
    const uint8_t *memory_valid;       /* of all rows of the memory and memory_length places; null where all is real */
    const int32_t *memory_index;       /* (memory_rows): which row of the memory each of them is; null for all in their order */
    float **slots;
    float *work, *scratch;             /* the registers; `scratch_size` floats for each thread */
    float *out;                        /* (rows, values): what the last operation gives */
    uint8_t *rounded;                  /* room for all tokens of a register in eight bits, and the steps of each token */
    float *steps;
    const uint8_t *line_valid;         /* (rows, room): which places are real, where a memory stands before the first; or null */
    const int32_t *places;             /* (rows, room): the row of the lines that holds each place of a row; null for its own */
} batch;

/* How the next token is drawn; top_k is 0 where all tokens may come. */
typedef struct {
    double temperature, top_p, min_p;
    int64_t top_k;
} drawing;

/* Tokens that are drawn and read one after the other, until there are `count` or all rows have written an end. */
typedef struct {
    const drawing *how;                /* (rows): how the tokens of each are drawn */
    int64_t count, values;             /* tokens to write in each row, and logits to draw from */
    const double *chances;             /* (count, rows): a number from 0 to 1 for each token */
    const int64_t *never, *ends;       /* tokens that are never written, and that end a row: those of all rows */
    const int64_t *never_of, *ends_of; /* (rows, 2): where those of each row begin and end */
    int64_t *tokens;                   /* (count, rows): what was drawn */
    int64_t drawn;                     /* of each row so far */
    uint8_t *ended;                    /* (rows): whether an end was drawn */
    float *work;                       /* 4 * values */
} writing;

/* The likeliest tokens of each row. */
typedef struct {
    int64_t rows, values, count, threads;
    float *best;                       /* (rows, count): logarithms of probabilities */
    int64_t *tokens;                   /* (rows, count) */
} leaders;

/* The operations of training. A number in brackets is a field of `size`, `number` or `data`. */
enum training_kind {
    RELU_SQUARED_FORWARD,  /* size[0] numbers: x data[0] -> y data[1] */
    RELU_SQUARED_BACKWARD, /* y data[0], gradient of y data[1] -> of x data[2] */
    DROPOUT,               /* size[0] numbers in rows of size[1]: x data[0], keys of rows data[1] -> y data[2]; way there and back */
    NORM_FORWARD,          /* size[0] rows of size[1], eps number[0]: x data[0] -> y data[1] */
    NORM_BACKWARD,         /* x data[0], gradient of y data[1] -> of x data[2] */
    SHIFT_FORWARD,         /* size[0] lines of size[1] tokens of size[2]: x data[0], mix data[1] -> y data[2] */
    SHIFT_BACKWARD,        /* x data[0], mix data[1], gradient of y data[2] -> of x data[3], of mix by each line data[4] */
    READ_FORWARD,          /* attention: qkv data[0], cosine data[1], sine data[2] -> out data[3], logarithms of sums data[4] */
    READ_BACKWARD          /* qkv, cosine, sine, gradient of out data[3], logarithms data[4] -> gradient of qkv data[5] */
};

/* One operation of training. For READ the sizes are: pieces of work (rows times key heads), rows, tokens, heads, key heads, width of a
   head, whether a token reads up to its own place alone, pairs of a head that are turned. number[0] is eps of the norm, below zero
   where there is none, as also for SHIFT; number[1] is the factor on scores. For DROPOUT numbers whose 16 bits are below
   number[0] become zero, and the others are multiplied by number[1]. */
typedef struct {
    int64_t kind, threads, scratch_size;
    int64_t size[8];
    double number[2];
    float *data[6];
    float *scratch; /* `scratch_size` floats for each thread, for SHIFT and READ */
} training;

/* The next token of a row, or -1 where the logits are not numbers; work holds 4 * n floats. */
int64_t draw_token(const float *logits, int64_t n, const drawing *how, double u, float *work);

int run_plain(const op *ops, int64_t count, batch *at, writing *w);
int run_avx2(const op *ops, int64_t count, batch *at, writing *w);
int run_avx512(const op *ops, int64_t count, batch *at, writing *w);
int run_vnni(const op *ops, int64_t count, batch *at, writing *w);
int run_amx(const op *ops, int64_t count, batch *at, writing *w);

int best_plain(const float *open, const float *logits, const leaders *l);
int best_avx2(const float *open, const float *logits, const leaders *l);
int best_avx512(const float *open, const float *logits, const leaders *l);

void train_plain(const training *t);
void train_avx2(const training *t);
void train_avx512(const training *t);

#endif
