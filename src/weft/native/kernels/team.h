/* Threads that compute a step together. Each calls every operation; one of them alone does what is too small to be shared, and
   they meet where one needs what another has computed. */

#include <sched.h>
#include <stdint.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef _OPENMP
#include <omp.h>
#endif

enum { SPINS = 2000 }; /* looks at the others before a thread goes to sleep */

typedef struct {
    int64_t arrived __attribute__((aligned(64)));
    uint32_t meetings __attribute__((aligned(64)));
    uint32_t asleep; /* threads that sleep, or are about to, until there is one more meeting */
    int failed, stop;
} team;

/* One thread's view of its team. */
typedef struct {
    team *all;
    int64_t number, threads;
} member;

/* Sleeps until there are more than `before` meetings. A thread that only offered its processor to others might get it back
   after they have worked for milliseconds, and keep all the threads of its team waiting. */
static inline void sleep_until(team *t, uint32_t before)
{
#if defined(__linux__)
    __atomic_add_fetch(&t->asleep, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &t->meetings, FUTEX_WAIT_PRIVATE, before, 0, 0, 0);
    __atomic_sub_fetch(&t->asleep, 1, __ATOMIC_SEQ_CST);
#else
    (void)t;
    (void)before;
    sched_yield();
#endif
}

/* Returns when all threads have come here; what each wrote before is then seen by all. */
static inline void meet(const member *me)
{
    if (me->threads < 2)
        return;
    team *t = me->all;
    uint32_t before = __atomic_load_n(&t->meetings, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&t->arrived, 1, __ATOMIC_ACQ_REL) == me->threads) {
        __atomic_store_n(&t->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&t->meetings, before + 1, __ATOMIC_SEQ_CST);
#if defined(__linux__)
        if (__atomic_load_n(&t->asleep, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &t->meetings, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
#endif
        return;
    }
    for (int64_t looks = 0; __atomic_load_n(&t->meetings, __ATOMIC_ACQUIRE) == before; looks++) {
        if (looks > SPINS)
            sleep_until(t, before);
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

typedef struct {
    int64_t start, stop;
} span;

/* A thread's share of n pieces of work, in whole multiples of `unit`. */
static inline span share(const member *me, int64_t n, int64_t unit)
{
    int64_t units = (n + unit - 1) / unit, each = units / me->threads, more = units % me->threads;
    int64_t start = each * me->number + (me->number < more ? me->number : more);
    int64_t stop = start + each + (me->number < more);
    return (span){start * unit < n ? start * unit : n, stop * unit < n ? stop * unit : n};
}
