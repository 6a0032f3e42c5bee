/* The step program for every processor: the vectors that its compiler finds without being asked, SSE or NEON. */

#include <stdint.h>

#define LANES 4
#define TILE_ROWS 2
#define RUN run_plain

#include "run.h"
