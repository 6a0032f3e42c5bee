/* LINEAR8 for many rows by tiles of the processor (AMX): 16 rows of x times 16 outputs, 64 inputs at a time. A tile of weights
   is 16 neighbouring tiles of 4 inputs, as they stand. Rows are padded with zeros to 64 numbers; they meet whatever follows the
   weights of an output, and behind the last weights there is room for as many. Sums are exact: they are those of other kernels. */

enum { AMX_ROWS = 16, AMX_INPUTS = 64 };

/* Shapes for a block of rows. Up to 16 are in tile 4 and their sums in 0 to 3, weights in 5 to 7. Of more, the first 16 are in
   tile 4 and their sums in 0 and 1, the others in 5 and theirs in 2 and 3, weights in 6 and 7. */
static void shape_tiles(int64_t rows)
{
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        int second = i == 2 || i == 3 || i == 5;
        shape.bytes[i] = AMX_INPUTS;
        shape.rows[i] = AMX_ROWS;
        if (rows > AMX_ROWS && second)
            shape.rows[i] = (uint8_t)(rows - AMX_ROWS);
        if (rows <= AMX_ROWS && i < 5)
            shape.rows[i] = (uint8_t)rows;
    }
    __asm__ volatile("" ::"r"(&shape) : "memory"); /* the intrinsic names the first bytes alone as what it reads */
    _tile_loadconfig(&shape);
}

/* Up to 16 rows times four tiles of outputs. */
static void rows_times_four(const map8 *a, int64_t row, int64_t rows, int64_t tile, int64_t tiles)
{
    const uint8_t *q = a->q + row * a->apart;
    const int8_t *w[4];
    int32_t found[4][AMX_ROWS * TILE] __attribute__((aligned(64)));
    for (int g = 0; g < 4; g++) /* where there are fewer, the last is computed again */
        w[g] = a->w + (tile + (g < tiles ? g : tiles - 1)) * TILE * a->n;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k = 0; k < a->n; k += AMX_INPUTS) {
        _tile_loadd(4, q + k, a->apart);
        _tile_loadd(5, w[0] + k * TILE, 64);
        _tile_dpbusd(0, 4, 5);
        _tile_loadd(6, w[1] + k * TILE, 64);
        _tile_dpbusd(1, 4, 6);
        _tile_loadd(7, w[2] + k * TILE, 64);
        _tile_dpbusd(2, 4, 7);
        _tile_loadd(5, w[3] + k * TILE, 64);
        _tile_dpbusd(3, 4, 5);
    }
    _tile_stored(0, found[0], 64);
    _tile_stored(1, found[1], 64);
    _tile_stored(2, found[2], 64);
    _tile_stored(3, found[3], 64);
    for (int64_t g = 0; g < tiles; g++)
        hand_out(a, row, rows, (tile + g) * TILE, found[g], TILE);
}

/* Seventeen to 32 rows times two tiles of outputs. */
static void rows_times_two(const map8 *a, int64_t row, int64_t rows, int64_t tile, int64_t tiles)
{
    const uint8_t *q = a->q + row * a->apart, *more = q + AMX_ROWS * a->apart;
    const int8_t *w = a->w + tile * TILE * a->n, *next = tiles > 1 ? w + TILE * a->n : w;
    int32_t found[4][AMX_ROWS * TILE] __attribute__((aligned(64)));
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k = 0; k < a->n; k += AMX_INPUTS) {
        _tile_loadd(6, w + k * TILE, 64);
        _tile_loadd(4, q + k, a->apart);
        _tile_dpbusd(0, 4, 6);
        _tile_loadd(7, next + k * TILE, 64);
        _tile_dpbusd(1, 4, 7);
        _tile_loadd(5, more + k, a->apart);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, found[0], 64);
    _tile_stored(1, found[1], 64);
    _tile_stored(2, found[2], 64);
    _tile_stored(3, found[3], 64);
    for (int64_t g = 0; g < tiles; g++) {
        hand_out(a, row, AMX_ROWS, (tile + g) * TILE, found[g], TILE);
        hand_out(a, row + AMX_ROWS, rows - AMX_ROWS, (tile + g) * TILE, found[2 + g], TILE);
    }
}

/* All rows times the tiles of outputs from `tile` to `stop`: those of a few outputs stay in a cache while the rows pass. */
static void many8(const map8 *a, int64_t tile, int64_t stop)
{
    int64_t shaped = -1;
    for (; tile < stop; tile += 4) {
        int64_t tiles = stop - tile < 4 ? stop - tile : 4;
        for (int64_t row = 0; row < a->rows; row += 2 * AMX_ROWS) {
            int64_t rows = a->rows - row < 2 * AMX_ROWS ? a->rows - row : 2 * AMX_ROWS;
            if (rows != shaped)
                shape_tiles(rows);
            shaped = rows;
            if (rows <= AMX_ROWS)
                rows_times_four(a, row, rows, tile, tiles);
            else
                for (int64_t two = 0; two < tiles; two += 2)
                    rows_times_two(a, row, rows, tile + two, tiles - two < 2 ? tiles - two : 2);
        }
    }
    _tile_release();
}
