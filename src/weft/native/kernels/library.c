/* The door of the library: which instruction sets this processor has, and the step program in each. */

#include "program.h"

#ifdef HAS_AMX
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifndef SOURCES
#define SOURCES "unknown"
#endif

/* What it was built from: the digest that build.py computes. */
const char *weft_sources(void) { return SOURCES; }

/* The bytes of the structures that Python lays out too. */
int64_t weft_bytes(void) { return sizeof(op) + 1000 * sizeof(batch) + 1000000 * (sizeof(writing) + 1000 * (sizeof(leaders) + 1000 * sizeof(training))); }

#ifdef HAS_AMX

/* Linux's request for a state of the processor, the state of tiles, and the bits of CPUID's leaf 7 (EDX) that speak of tiles. */
enum { REQUEST_STATE = 0x1023, TILES = 18, HAS_TILES = 1 << 24, HAS_TILES8 = 1 << 25 };

/* Whether the processor multiplies tiles of bytes and the system lets this process do it: it must be asked. */
static int tiles_allowed(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & HAS_TILES) || !(d & HAS_TILES8))
        return 0;
    return syscall(SYS_arch_prctl, REQUEST_STATE, TILES) == 0;
}

#endif

/* The widest instruction set of this processor: 0 plain, 1 AVX2, 2 AVX-512, 3 the same with products of bytes (VNNI), 4 also of
   tiles of bytes (AMX). */
int weft_widest(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        if (!__builtin_cpu_supports("avx512vnni"))
            return 2;
#ifdef HAS_AMX
        return tiles_allowed() ? 4 : 3;
#else
        return 3;
#endif
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}

/* One step, or with `w` several tokens; returns 0, or why it could not go on. */
int weft_run(int set, const op *ops, int64_t count, batch *at, writing *w)
{
#ifdef HAS_AMX
    if (set == 4)
        return run_amx(ops, count, at, w);
#endif
#if defined(__x86_64__)
    if (set == 3)
        return run_vnni(ops, count, at, w);
    if (set == 2)
        return run_avx512(ops, count, at, w);
    if (set == 1)
        return run_avx2(ops, count, at, w);
#endif
    (void)set;
    return run_plain(ops, count, at, w);
}

/* The likeliest tokens of each row among those that are open; returns 0, or NOT_NUMBERS. */
int weft_best(int set, const float *open, const float *logits, const leaders *l)
{
#if defined(__x86_64__)
    if (set >= 2)
        return best_avx512(open, logits, l);
    if (set == 1)
        return best_avx2(open, logits, l);
#endif
    (void)set;
    return best_plain(open, logits, l);
}

/* One operation of training. */
void weft_train(int set, const training *t)
{
#if defined(__x86_64__)
    if (set >= 2) {
        train_avx512(t);
        return;
    }
    if (set == 1) {
        train_avx2(t);
        return;
    }
#endif
    (void)set;
    train_plain(t);
}
