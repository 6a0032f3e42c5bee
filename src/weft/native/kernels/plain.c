/* The step program for every processor: the vectors that its compiler finds without being asked, SSE or NEON. */

#include <stdint.h>

#define LANES 4
#define TILE_ROWS 2
#define TILE_OUTPUTS 4
#define FAST_LIMIT 127
#define WIDE8 1
#define NARROW8 1
#define RUN run_plain
#define BEST best_plain
#define TRAIN train_plain

#include "run.h"
