/* The loops of a join: one pass over arrays each, called with the interpreter's lock given up.

   Nothing here allocates, fails or keeps anything. Whoever calls (native/__init__.py, and nobody else) answers for the
   lengths of arrays and for positions that lie within them. Texts are bytes between two offsets, as Arrow has them. */

#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- Codes: each column is folded into one word a row, and the words are mixed at the end. ---- */

#define INCREMENT UINT64_C(0x9E3779B97F4A7C15)

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), after its increment so that 0 moves too. */
static inline uint64_t mix(uint64_t word)
{
    word += INCREMENT;
    word = (word ^ (word >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
    return word ^ (word >> 31);
}

EXPORT void mix_words(uint64_t *words, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        words[i] = mix(words[i]);
}

#define FOLD_INTEGERS(bits)                                                                                            \
    EXPORT void fold_integers_##bits(uint64_t *words, const int##bits##_t *values, int64_t n)                          \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            words[i] ^= (uint64_t)(int64_t)values[i];                                                                  \
    }
FOLD_INTEGERS(8)
FOLD_INTEGERS(16)
FOLD_INTEGERS(32)
FOLD_INTEGERS(64)

/* -0.0 is 0.0, and every NaN is the same. */
static inline uint64_t word_of_double(double value)
{
    uint64_t word;
    if (value != value)
        return UINT64_C(0x7FF8000000000000);
    value += 0.0;
    memcpy(&word, &value, 8);
    return word;
}

EXPORT void fold_doubles(uint64_t *words, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        words[i] ^= word_of_double(values[i]);
}

/* Words of 64 bits that are so many apart, as those of a decimal are. */
EXPORT void fold_strided(uint64_t *words, const uint64_t *values, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        words[i] ^= values[i * stride];
}

/* Eight bytes at a time; the last ones fill a word from its high end. */
static inline uint64_t word_of_text(const uint8_t *text, int64_t length)
{
    uint64_t state = (uint64_t)length * INCREMENT, word;
    int64_t at = 0;
    for (; at + 8 <= length; at += 8) {
        memcpy(&word, text + at, 8);
        state = (at ? mix(state) : state) ^ word;
    }
    if (at < length) {
        word = 0;
        memcpy(&word, text + at, (size_t)(length - at));
        state = (at ? mix(state) : state) ^ (word << (8 * (8 - (length - at))));
    }
    return state;
}

/* Texts longer than `longest` are left out; how many they are. */
#define FOLD_TEXTS(bits)                                                                                               \
    EXPORT int64_t fold_texts_##bits(uint64_t *words, const int##bits##_t *offsets, const uint8_t *data, int64_t n,    \
                                     int64_t longest)                                                                  \
    {                                                                                                                  \
        int64_t left_out = 0;                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            int64_t length = offsets[i + 1] - offsets[i];                                                              \
            if (length > longest)                                                                                      \
                left_out++;                                                                                            \
            else                                                                                                       \
                words[i] ^= word_of_text(data + offsets[i], length);                                                   \
        }                                                                                                              \
        return left_out;                                                                                               \
    }
FOLD_TEXTS(32)
FOLD_TEXTS(64)

/* ---- Ranges: values on a line, and whether two of them are near enough. ---- */

typedef __int128 Integer128;
typedef unsigned __int128 Natural128;

static inline Integer128 wide_at(const void *bytes) /* aligned to 8 of them, as Arrow and NumPy have it */
{
    Integer128 value;
    memcpy(&value, bytes, 16);
    return value;
}

/* How values become places on a line: moved, and in units of so many bits. Places end at these limits. */
typedef struct {
    uint64_t moved[2];
    int64_t bits, lowest, highest;
} Line;

/* What would lie beyond all numbers lies at the last one: whatever was within reach of it still is. */
static inline int64_t place_on(const Line *line, Integer128 value)
{
    Integer128 place;
    if (__builtin_add_overflow(value, wide_at(line->moved), &place))
        place = (Integer128)(((Natural128)1 << 127) - (value > 0));
    place >>= line->bits;
    return place < line->lowest ? line->lowest : place > line->highest ? line->highest : (int64_t)place;
}

#define ADD_PLACES(name, type)                                                                                         \
    EXPORT void add_places_of_##name(uint64_t *codes, const type *values, int64_t n, const Line *line)                 \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            codes[i] += (uint64_t)place_on(line, (Integer128)values[i]);                                               \
    }
ADD_PLACES(integers, int64_t)
ADD_PLACES(naturals, uint64_t)

EXPORT void add_places_of_decimals(uint64_t *codes, const uint8_t *values, int64_t n, const Line *line)
{
    for (int64_t i = 0; i < n; i++)
        codes[i] += (uint64_t)place_on(line, wide_at(values + 16 * i));
}

/* Doubles have as many places as units up to 2^52 of them. Beyond, where they are further apart than a unit, four
   neighbours share one. The unit is a power of two, so nothing is rounded. */
typedef struct {
    double moved, unit, straight; /* the last place is a unit wide up to here: 2^52 units, or infinite */
} DoubleLine;

#define STRAIGHT_PLACES (INT64_C(1) << 52)
#define LAST_PLACE (INT64_C(1) << 62)

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static inline int64_t place_of_double(const DoubleLine *line, double value)
{
    double moved = value + line->moved, size = moved < 0 ? -moved : moved;
    const double most = 1.7976931348623157e308;
    if (size > most) {
        if (value > most || value < -most)
            return value > 0 ? LAST_PLACE : -LAST_PLACE;
        moved = moved > 0 ? most : -most;
        size = most;
    }
    if (size <= line->straight) {
        double units = moved / line->unit;
        int64_t place = (int64_t)units;
        return place - (units < (double)place);
    }
    int64_t beyond = STRAIGHT_PLACES + (int64_t)((bits_of(size) - bits_of(line->straight)) >> 2);
    return moved < 0 ? -beyond : beyond;
}

EXPORT void add_places_of_doubles(uint64_t *codes, const double *values, int64_t n, const DoubleLine *line)
{
    for (int64_t i = 0; i < n; i++)
        codes[i] += values[i] != values[i] ? 0 : (uint64_t)place_of_double(line, values[i]);
}

/* A number of any size, by its size and its sign. */
typedef struct {
    uint64_t size[2];
    int64_t is_negative, is_given;
} Bound;

static inline int not_above(Natural128 size, int is_negative, const Bound *bound)
{
    if (!bound->is_given || is_negative != bound->is_negative)
        return !bound->is_given || is_negative;
    return is_negative ? size >= (Natural128)wide_at(bound->size) : size <= (Natural128)wide_at(bound->size);
}

static inline int not_below(Natural128 size, int is_negative, const Bound *bound)
{
    if (!bound->is_given || is_negative != bound->is_negative)
        return !bound->is_given || !is_negative;
    return is_negative ? size <= (Natural128)wide_at(bound->size) : size >= (Natural128)wide_at(bound->size);
}

static inline int is_between(Integer128 left, Integer128 right, const Bound *bounds)
{
    int is_negative = right < left;
    Natural128 apart = (Natural128)right - (Natural128)left, size = is_negative ? -apart : apart;
    return not_below(size, is_negative, &bounds[0]) && not_above(size, is_negative, &bounds[1]);
}

/* Of each pair whether bounds[0] <= right - left <= bounds[1]. */
#define NEAR_ENOUGH(name, type)                                                                                        \
    EXPORT void near_enough_##name(const type *left, const int64_t *at_left, const type *right,                        \
                                   const int64_t *at_right, int64_t n, const Bound *bounds, uint8_t *near)             \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            near[i] = is_between(left[at_left[i]], right[at_right[i]], bounds);                                        \
    }
NEAR_ENOUGH(integers, int64_t)
NEAR_ENOUGH(naturals, uint64_t)

EXPORT void near_enough_decimals(const uint8_t *left, const int64_t *at_left, const uint8_t *right,
                                 const int64_t *at_right, int64_t n, const Bound *bounds, uint8_t *near)
{
    for (int64_t i = 0; i < n; i++)
        near[i] = is_between(wide_at(left + 16 * at_left[i]), wide_at(right + 16 * at_right[i]), bounds);
}

/* As doubles subtract; but what is equal is nowhere apart, infinities too. */
EXPORT void near_enough_doubles(const double *left, const int64_t *at_left, const double *right,
                                const int64_t *at_right, int64_t n, const double *bounds, uint8_t *near)
{
    for (int64_t i = 0; i < n; i++) {
        double a = left[at_left[i]], b = right[at_right[i]], apart = a == b ? 0 : b - a;
        near[i] = apart >= bounds[0] && apart <= bounds[1];
    }
}

/* ---- Places: XXH64 of each column's values, seeded with the hash of the columns before, as Spark computes it. ---- */

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

static inline uint64_t rotated(uint64_t word, int bits)
{
    return (word << bits) | (word >> (64 - bits));
}

static inline uint64_t round_of(uint64_t state, uint64_t word)
{
    return rotated(state + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t with_8_bytes(uint64_t hash, uint64_t word)
{
    return rotated(hash ^ round_of(0, word), 27) * PRIME_1 + PRIME_4;
}

static inline uint64_t with_4_bytes(uint64_t hash, uint32_t word)
{
    return rotated(hash ^ word * PRIME_1, 23) * PRIME_2 + PRIME_3;
}

static inline uint64_t finished(uint64_t hash)
{
    hash = (hash ^ (hash >> 33)) * PRIME_2;
    hash = (hash ^ (hash >> 29)) * PRIME_3;
    return hash ^ (hash >> 32);
}

EXPORT void xxh64_of_64_bits(uint64_t *hashes, const uint64_t *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        hashes[i] = finished(with_8_bytes(hashes[i] + PRIME_5 + 8, values[i]));
}

EXPORT void xxh64_of_32_bits(uint64_t *hashes, const uint32_t *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        hashes[i] = finished(with_4_bytes(hashes[i] + PRIME_5 + 4, values[i]));
}

EXPORT void xxh64_of_doubles(uint64_t *hashes, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        hashes[i] = finished(with_8_bytes(hashes[i] + PRIME_5 + 8, word_of_double(values[i])));
}

static uint64_t xxh64_of_text(const uint8_t *text, int64_t length, uint64_t seed)
{
    const uint8_t *end = text + length;
    uint64_t hash = seed + PRIME_5, word;
    uint32_t half;
    if (length >= 32) {
        uint64_t lanes[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
        for (; end - text >= 32; text += 32)
            for (int lane = 0; lane < 4; lane++) {
                memcpy(&word, text + 8 * lane, 8);
                lanes[lane] = round_of(lanes[lane], word);
            }
        hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
        for (int lane = 0; lane < 4; lane++)
            hash = (hash ^ round_of(0, lanes[lane])) * PRIME_1 + PRIME_4;
    }
    hash += (uint64_t)length;
    for (; end - text >= 8; text += 8) {
        memcpy(&word, text, 8);
        hash = with_8_bytes(hash, word);
    }
    if (end - text >= 4) {
        memcpy(&half, text, 4);
        hash = with_4_bytes(hash, half);
        text += 4;
    }
    for (; text < end; text++)
        hash = rotated(hash ^ *text * PRIME_5, 11) * PRIME_1;
    return finished(hash);
}

#define XXH64_OF_TEXTS(bits)                                                                                           \
    EXPORT void xxh64_of_texts_##bits(uint64_t *hashes, const int##bits##_t *offsets, const uint8_t *data, int64_t n)  \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            hashes[i] = xxh64_of_text(data + offsets[i], offsets[i + 1] - offsets[i], hashes[i]);                      \
    }
XXH64_OF_TEXTS(32)
XXH64_OF_TEXTS(64)

/* ---- Sorting: rows by their codes, those of equal code as they came. ---- */

typedef struct {
    uint64_t code;
    int64_t position;
} Row;

enum { FEW_ROWS = 24, MOST_BITS = 10 };

static void insert_in_order(Row *rows, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        Row row = rows[i];
        int64_t at = i;
        for (; at > 0 && rows[at - 1].code > row.code; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* By the highest of the bits below `bits`, into so many buckets that each has few rows if codes are spread; then each
   bucket by itself. `spare` has room for as many rows. */
static void sort_by_bits(Row *rows, Row *spare, int64_t n, int bits)
{
    int64_t ends[1 << MOST_BITS], begin = 0;
    int width = 1;
    if (n <= FEW_ROWS) {
        insert_in_order(rows, n);
        return;
    }
    while (width < MOST_BITS && width < bits && n >> (width + 3))
        width++;
    for (;;) {
        uint64_t mask = ((uint64_t)1 << width) - 1;
        int64_t most = 0, total = 0;
        int shift = bits - width;
        memset(ends, 0, sizeof(int64_t) << width);
        for (int64_t i = 0; i < n; i++)
            ends[rows[i].code >> shift & mask]++;
        for (uint64_t bucket = 0; bucket <= mask; bucket++) {
            most = ends[bucket] > most ? ends[bucket] : most;
            total += ends[bucket];
            ends[bucket] = total - ends[bucket];
        }
        if (most < n) { /* otherwise all have the same bits here */
            for (int64_t i = 0; i < n; i++)
                spare[ends[rows[i].code >> shift & mask]++] = rows[i];
            memcpy(rows, spare, (size_t)n * sizeof(Row));
            if (shift)
                for (uint64_t bucket = 0; bucket <= mask; bucket++) {
                    if (ends[bucket] - begin > 1)
                        sort_by_bits(rows + begin, spare, ends[bucket] - begin, shift);
                    begin = ends[bucket];
                }
            return;
        }
        bits = shift;
        if (!bits)
            return;
        width = width < bits ? width : bits;
    }
}

static int first_width(int64_t n)
{
    int width = 1;
    while (width < MOST_BITS && n >> (width + 3))
        width++;
    return width;
}

/* From counts of the rows of each bucket to where it begins; how many rows all have. */
static int64_t begins_of(int64_t *counts, int n_buckets)
{
    int64_t total = 0;
    for (int bucket = 0; bucket < n_buckets; bucket++) {
        total += counts[bucket];
        counts[bucket] = total - counts[bucket];
    }
    return total;
}

/* The codes of the rows that are wanted (all of them where `wanted` is missing) in their order, and where the rows were;
   how many they are. `rows` and `spare` are scratch memory for all; of `spare` little is used if codes are spread. */
EXPORT int64_t sort_codes(const uint64_t *codes, const uint8_t *wanted, int64_t n, Row *rows, Row *spare,
                          uint64_t *sorted_codes, int64_t *order)
{
    int64_t ends[1 << MOST_BITS] = {0}, kept, begin = 0;
    int width = first_width(n);
    for (int64_t i = 0; i < n; i++)
        if (!wanted || wanted[i])
            ends[codes[i] >> (64 - width)]++;
    kept = begins_of(ends, 1 << width);
    for (int64_t i = 0; i < n; i++)
        if (!wanted || wanted[i])
            rows[ends[codes[i] >> (64 - width)]++] = (Row){codes[i], i};
    for (int bucket = 0; bucket < 1 << width; bucket++) {
        sort_by_bits(rows + begin, spare, ends[bucket] - begin, 64 - width);
        for (; begin < ends[bucket]; begin++) {
            sorted_codes[begin] = rows[begin].code;
            order[begin] = rows[begin].position;
        }
    }
    return kept;
}

/* Two sorted runs of rows as one; of equal codes those of the first come first. No branch depends on the codes, which
   nobody could foresee. */
static void merge_two(const Row *first, const Row *first_end, const Row *second, const Row *second_end, Row *merged)
{
    while (first < first_end && second < second_end) {
        uint64_t is_second = -(uint64_t)(second->code < first->code);
        merged->code = first->code ^ ((first->code ^ second->code) & is_second);
        merged->position = first->position ^ ((first->position ^ second->position) & (int64_t)is_second);
        merged++;
        first += 1 + (int64_t)is_second;
        second -= (int64_t)is_second;
    }
    memcpy(merged, first, (size_t)(first_end - first) * sizeof(Row));
    memcpy(merged + (first_end - first), second, (size_t)(second_end - second) * sizeof(Row));
}

/* Runs of rows that lie one after the other, beginning at `begins`, become half as many. How many they are then. */
static int64_t merge_neighbours(int64_t n_runs, int64_t *begins, const Row *rows, Row *merged)
{
    int64_t n_merged = 0, n = begins[n_runs];
    for (int64_t run = 0; run < n_runs; run += 2) {
        int64_t begin = begins[run], middle = begins[run + 1], end = run + 2 <= n_runs ? begins[run + 2] : middle;
        merge_two(rows + begin, rows + middle, rows + middle, rows + end, merged + begin);
        begins[n_merged++] = begin;
    }
    begins[n_merged] = n;
    return n_merged;
}

/* The codes of several sorted arrays in their order, in which of them each row is, and where. Arrays that follow each
   other in order are one run. `begins` is room for a number more than arrays, `rows` and `spare` for all rows. */
EXPORT void merge_codes(const uint64_t *const *codes, const int64_t *n_codes, int32_t n_parts, int64_t n,
                        int64_t *begins, Row *rows, Row *spare, uint64_t *merged_codes, int64_t *positions,
                        int32_t *parts)
{
    int64_t n_runs = 0, at = 0;
    for (int32_t part = 0; part < n_parts; part++) {
        if (n_codes[part] && (!at || rows[at - 1].code > codes[part][0]))
            begins[n_runs++] = at;
        for (int64_t i = 0; i < n_codes[part]; i++)
            rows[at++] = (Row){codes[part][i], (int64_t)part << 40 | i};
    }
    begins[n_runs] = n;
    while (n_runs > 1) {
        n_runs = merge_neighbours(n_runs, begins, rows, spare);
        Row *merged = spare;
        spare = rows;
        rows = merged;
    }
    for (int64_t i = 0; i < n; i++) {
        merged_codes[i] = rows[i].code;
        positions[i] = rows[i].position & ((INT64_C(1) << 40) - 1);
        parts[i] = (int32_t)(rows[i].position >> 40);
    }
}

/* ---- Matching: for each probe an interval of codes, spelled out as pairs of positions. ---- */

/* The first position from `at` on whose code is not smaller; found in steps that double. */
static inline int64_t advance(const uint64_t *codes, int64_t n, int64_t at, uint64_t bound)
{
    int64_t step = 1, low, high;
    if (at >= n || codes[at] >= bound)
        return at;
    while (at + step < n && codes[at + step] < bound) {
        at += step;
        step *= 2;
    }
    low = at + 1;
    high = at + step < n ? at + step : n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (codes[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum { PROBE, BEGIN, END, NEXT };

/* Pairs (probe, code) with probe - below <= code <= probe + above, both sorted, until there is no room for more.
   `state` says how far it is: the probe, its interval, and what comes next of it (-1: the interval is not known). */
EXPORT int64_t match(const uint64_t *probes, int64_t n_probes, const uint64_t *codes, int64_t n_codes, uint64_t below,
                     uint64_t above, int64_t *state, int64_t *at_probe, int64_t *at_code, int64_t room)
{
    int64_t i = state[PROBE], begin = state[BEGIN], end = state[END], next = state[NEXT], found = 0;
    while (i < n_probes) {
        if (next < 0) {
            uint64_t probe = probes[i];
            begin = advance(codes, n_codes, begin, probe > below ? probe - below : 0);
            if (begin == n_codes) {
                i = n_probes;
                break;
            }
            if (end < begin)
                end = begin;
            if (probe > UINT64_MAX - above || probe + above == UINT64_MAX)
                end = n_codes;
            else
                end = advance(codes, n_codes, end, probe + above + 1);
            next = begin;
        }
        while (next < end && found < room) {
            at_probe[found] = i;
            at_code[found++] = next++;
        }
        if (next < end)
            break;
        i++;
        next = i < n_probes && probes[i] == probes[i - 1] ? begin : -1;
    }
    state[PROBE] = i, state[BEGIN] = begin, state[END] = end, state[NEXT] = next;
    return found;
}

/* Each probe that has a code within reach, with the first of them; both arrays are gone through in steps that double. */
EXPORT int64_t match_first(const uint64_t *probes, int64_t n_probes, const uint64_t *codes, int64_t n_codes,
                           uint64_t below, uint64_t above, int64_t *state, int64_t *at_probe, int64_t *at_code,
                           int64_t room)
{
    int64_t i = state[PROBE], next = state[BEGIN], found = 0;
    while (i < n_probes && found < room) {
        uint64_t probe = probes[i], last = probe > UINT64_MAX - above ? UINT64_MAX : probe + above;
        next = advance(codes, n_codes, next, probe > below ? probe - below : 0);
        if (next == n_codes) {
            i = n_probes;
        } else if (codes[next] <= last) {
            at_probe[found] = i++;
            at_code[found++] = next;
        } else {
            i = advance(probes, n_probes, i, codes[next] - above);
        }
    }
    state[PROBE] = i, state[BEGIN] = next;
    return found;
}

/* ---- Looking up: rows in no order, in sorted codes and an index of the highest bits in which they differ. ---- */

/* The entry of a code: its distance from the lowest, without the lowest bits. Those beyond the last belong to it. */
static inline uint64_t entry_of(uint64_t code, uint64_t base, int32_t shift, int32_t bits)
{
    uint64_t entry = code < base ? 0 : (code - base) >> shift, last = ((uint64_t)1 << bits) - 1;
    return entry < last ? entry : last;
}

/* Where the codes of each entry begin, and at last how many codes there are. */
EXPORT void index_codes(const uint64_t *codes, int64_t n, uint64_t base, int32_t shift, int32_t bits, uint32_t *begins)
{
    uint64_t next = 0, last = (uint64_t)1 << bits;
    for (int64_t i = 0; i < n; i++)
        while (next <= entry_of(codes[i], base, shift, bits))
            begins[next++] = (uint32_t)i;
    while (next <= last)
        begins[next++] = (uint32_t)n;
}

/* The first position whose code is not smaller. Most entries of the index have few codes. */
static inline int64_t look_up(const uint64_t *codes, int64_t at, int64_t end, uint64_t bound)
{
    while (end - at > 8) {
        int64_t middle = at + (end - at) / 2;
        if (codes[middle] < bound)
            at = middle + 1;
        else
            end = middle;
    }
    while (at < end && codes[at] < bound)
        at++;
    return at;
}

enum { AHEAD = 8 };

/* As `match` does, or as `match_first` does, for those of the probes that are wanted (all where that is missing). */
EXPORT int64_t match_in_index(const uint64_t *probes, const uint8_t *wanted, int64_t n_probes, const uint64_t *codes,
                              int64_t n_codes, const uint32_t *begins, uint64_t base, int32_t shift, int32_t bits,
                              uint64_t below, uint64_t above, int32_t only_first, int64_t *state, int64_t *at_probe,
                              int64_t *at_code, int64_t room)
{
    int64_t i = state[PROBE], next = state[NEXT], found = 0;
    for (; i < n_probes && found < room; i++, next = -1) {
        uint64_t probe = probes[i], last = probe > UINT64_MAX - above ? UINT64_MAX : probe + above;
        if (i + 2 * AHEAD < n_probes) { /* what is looked up lies anywhere: it is asked for before it is needed */
            __builtin_prefetch(begins + entry_of(probes[i + 2 * AHEAD], base, shift, bits));
            __builtin_prefetch(codes + begins[entry_of(probes[i + AHEAD], base, shift, bits)]);
        }
        if ((wanted && !wanted[i]) || !n_codes)
            continue;
        if (next < 0) {
            uint64_t first = probe > below ? probe - below : 0;
            uint64_t entry = entry_of(first, base, shift, bits);
            next = look_up(codes, begins[entry], begins[entry + 1], first);
        }
        /* The first one is written and then counted or not: no processor can foresee which. */
        int64_t more = next < n_codes;
        at_probe[found] = i;
        at_code[found] = next;
        more &= codes[more ? next : 0] <= last;
        found += more;
        next += more;
        if (more && !only_first) {
            for (; next < n_codes && codes[next] <= last && found < room; next++) {
                at_probe[found] = i;
                at_code[found++] = next;
            }
            if (next < n_codes && codes[next] <= last)
                break;
        }
    }
    state[PROBE] = i, state[NEXT] = next;
    return found;
}

/* How many of the rows that are wanted have a code below the first bound, then below the second, ... */
EXPORT void count_between(const uint64_t *codes, const uint8_t *wanted, int64_t n, const uint64_t *bounds,
                          int64_t n_bounds, const uint32_t *begins, uint64_t base, int32_t shift, int32_t bits,
                          int64_t *counts)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = begins[entry_of(codes[i], base, shift, bits)];
        while (at < n_bounds && bounds[at] <= codes[i])
            at++;
        counts[at] += !wanted || wanted[i];
    }
}

/* ---- Filters: keep only some of the pairs, in place; how many they are. ---- */

/* Stamps: an array, or where that is missing the same for all rows. */
typedef struct {
    const int32_t *of_row;
    int64_t of_all;
} Stamp;

static inline int32_t stamp_at(const Stamp *stamp, int64_t position)
{
    return stamp->of_row ? stamp->of_row[position] : (int32_t)stamp->of_all;
}

/* Pairs of rows that neither memory nor a memory-disk task has brought together (runs/ledger.py). The stamps of either
   side are when rows arrived, when they left, and the last task that met the disk. */
EXPORT int64_t keep_unmet(int64_t *at_left, int64_t *at_right, int64_t n, const Stamp *left, const Stamp *right)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t l = at_left[i], r = at_right[i];
        int32_t l_arrived = stamp_at(left, l), l_departed = stamp_at(left + 1, l), l_task = stamp_at(left + 2, l);
        int32_t r_arrived = stamp_at(right, r), r_departed = stamp_at(right + 1, r), r_task = stamp_at(right + 2, r);
        int met = (l_arrived <= r_departed) & (r_arrived <= l_departed);
        met |= (l_task >= l_arrived) & (l_task > r_departed);
        met |= (r_task >= r_arrived) & (r_task > l_departed);
        at_left[kept] = l;
        at_right[kept] = r;
        kept += !met;
    }
    return kept;
}

/* Pairs of rows that arrived up to a tick, without those of a rectangle: a left row that arrived up to one tick and a
   right row that arrived up to another (runs/ledger.py). */
EXPORT int64_t keep_beyond(int64_t *at_left, int64_t *at_right, int64_t n, const Stamp *left, const Stamp *right,
                           int64_t left_horizon, int64_t right_horizon, int64_t until)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t l = at_left[i], r = at_right[i];
        int64_t l_arrived = stamp_at(left, l), r_arrived = stamp_at(right, r);
        int met = (l_arrived <= left_horizon) & (r_arrived <= right_horizon);
        int later = (l_arrived > until) | (r_arrived > until);
        at_left[kept] = l;
        at_right[kept] = r;
        kept += !(met | later);
    }
    return kept;
}

/* Stamps of rows in several runs, of which each has its own or the same for all its rows. */
EXPORT void gather_stamps(const Stamp *sources, const int64_t *positions, const int32_t *parts, int64_t n,
                          int32_t *target)
{
    for (int64_t i = 0; i < n; i++)
        target[i] = stamp_at(sources + parts[i], positions[i]);
}

#define KEEP(same)                                                                                                     \
    int64_t kept = 0;                                                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        int64_t l = at_left[i], r = at_right[i];                                                                       \
        at_left[kept] = l;                                                                                             \
        at_right[kept] = r;                                                                                            \
        kept += (same);                                                                                                \
    }                                                                                                                  \
    return kept;

EXPORT int64_t keep_equal_bytes(int64_t *at_left, int64_t *at_right, int64_t n, const uint8_t *left,
                                const uint8_t *right, int64_t width)
{
    KEEP(memcmp(left + l * width, right + r * width, (size_t)width) == 0)
}

EXPORT int64_t keep_equal_doubles(int64_t *at_left, int64_t *at_right, int64_t n, const double *left,
                                  const double *right)
{
    KEEP(word_of_double(left[l]) == word_of_double(right[r]))
}

#define KEEP_EQUAL_TEXTS(bits)                                                                                         \
    EXPORT int64_t keep_equal_texts_##bits(int64_t *at_left, int64_t *at_right, int64_t n,                             \
                                           const int##bits##_t *left_offsets, const uint8_t *left,                     \
                                           const int##bits##_t *right_offsets, const uint8_t *right)                   \
    {                                                                                                                  \
        KEEP(left_offsets[l + 1] - left_offsets[l] == right_offsets[r + 1] - right_offsets[r] &&                       \
             memcmp(left + left_offsets[l], right + right_offsets[r],                                                  \
                    (size_t)(left_offsets[l + 1] - left_offsets[l])) == 0)                                             \
    }
KEEP_EQUAL_TEXTS(32)
KEEP_EQUAL_TEXTS(64)

/* ---- Gathering: the values at positions, of one array or of several (then `parts` says which). ---- */

EXPORT void concatenate(int32_t n_parts, const void *const *sources, const int64_t *sizes, uint8_t *target)
{
    for (int32_t part = 0; part < n_parts; part++) {
        memcpy(target, sources[part], (size_t)sizes[part]);
        target += sizes[part];
    }
}

#define FROM(source) ((source)[parts ? parts[i] : 0])
#define GATHER(type)                                                                                                   \
    do {                                                                                                               \
        type *out = target;                                                                                            \
        if (parts)                                                                                                     \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = ((const type *)sources[parts[i]])[positions[i]];                                              \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = ((const type *)sources[0])[positions[i]];                                                     \
        return;                                                                                                        \
    } while (0)

typedef struct {
    uint64_t low, high;
} Wide;

static void gather_column(const void *const *sources, int64_t width, void *target, const int64_t *positions,
                          const int32_t *parts, int64_t n)
{
    switch (width) {
    case 1:
        GATHER(uint8_t);
    case 2:
        GATHER(uint16_t);
    case 4:
        GATHER(uint32_t);
    case 8:
        GATHER(uint64_t);
    case 16:
        GATHER(Wide);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((uint8_t *)target + i * width, (const uint8_t *)FROM(sources) + positions[i] * width, (size_t)width);
    }
}

/* Bits, such as booleans and whether values are valid; a missing source has all bits set. How many are not. */
static int64_t gather_bits(const uint8_t *const *sources, const int64_t *offsets, uint8_t *target,
                           const int64_t *positions, const int32_t *parts, int64_t n)
{
    int64_t zeros = 0;
    for (int64_t begin = 0; begin < n; begin += 8) {
        uint8_t byte = 0;
        for (int64_t i = begin; i < begin + 8 && i < n; i++) {
            const uint8_t *source = FROM(sources);
            int64_t at = positions[i] + FROM(offsets);
            uint8_t bit = source ? (source[at >> 3] >> (at & 7)) & 1 : 1;
            byte |= (uint8_t)(bit << (i & 7));
            zeros += !bit;
        }
        target[begin >> 3] = byte;
    }
    return zeros;
}

/* Most texts are short: two words that may overlap are faster than a call. */
#define COPY_ENDS(type)                                                                                                \
    do {                                                                                                               \
        type head, tail;                                                                                               \
        memcpy(&head, source, sizeof head);                                                                            \
        memcpy(&tail, source + length - sizeof tail, sizeof tail);                                                     \
        memcpy(target, &head, sizeof head);                                                                            \
        memcpy(target + length - sizeof tail, &tail, sizeof tail);                                                     \
    } while (0)

static inline void copy_text(uint8_t *target, const uint8_t *source, int64_t length)
{
    if (length > 32)
        memcpy(target, source, (size_t)length);
    else if (length >= 16)
        COPY_ENDS(Wide);
    else if (length >= 8)
        COPY_ENDS(uint64_t);
    else if (length >= 4)
        COPY_ENDS(uint32_t);
    else
        for (int64_t i = 0; i < length; i++)
            target[i] = source[i];
}

/* Texts: how many bytes they are together, and then each of them. */
#define GATHER_TEXTS(bits)                                                                                             \
    static int64_t bytes_of_texts_##bits(const void *const *sources, const int64_t *positions, const int32_t *parts,   \
                                         int64_t n)                                                                    \
    {                                                                                                                  \
        int64_t total = 0;                                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const int##bits##_t *offsets = (const int##bits##_t *)FROM(sources) + positions[i];                        \
            total += offsets[1] - offsets[0];                                                                          \
        }                                                                                                              \
        return total;                                                                                                  \
    }                                                                                                                  \
    static void gather_texts_##bits(const void *const *sources, const void *const *data, int##bits##_t *offsets,       \
                                    uint8_t *target, const int64_t *positions, const int32_t *parts, int64_t n)        \
    {                                                                                                                  \
        int64_t total = 0;                                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const int##bits##_t *source = (const int##bits##_t *)FROM(sources) + positions[i];                         \
            int64_t length = (int64_t)source[1] - source[0];                                                           \
            offsets[i] = (int##bits##_t)total;                                                                         \
            copy_text(target + total, (const uint8_t *)FROM(data) + source[0], length);                                \
            total += length;                                                                                           \
        }                                                                                                              \
        offsets[n] = (int##bits##_t)total;                                                                             \
    }
GATHER_TEXTS(32)
GATHER_TEXTS(64)

/* ---- Rows of several columns, as Arrow's C data interface tells of them. ---- */

typedef struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
} ArrowArray;

/* How the values of a column lie in memory: a number that is not negative is the bytes of each. */
enum { BITS = -1, TEXTS_32 = -2, TEXTS_64 = -3, OTHER = -4 };
enum { VALIDITY, VALUES, DATA, N_BUFFERS };

typedef struct {
    int64_t begin, size;
} Span;

/* Columns are told in a table: the array of a batch, where those of its columns are, these, and their buffers. */
static ArrowArray *table_of(int32_t n_columns, int64_t length, void *table)
{
    ArrowArray *batch = table;
    memset(batch, 0, sizeof(ArrowArray));
    batch->length = length;
    batch->n_children = n_columns;
    batch->children = (ArrowArray **)(batch + 1);
    return batch;
}

/* The same of columns that lie in one room. */
static void tell_columns(int32_t n_columns, int64_t length, const Span *spans, const uint8_t *room,
                         const int64_t *nulls, void *table)
{
    ArrowArray *batch = table_of(n_columns, length, table), *columns = (ArrowArray *)(batch->children + n_columns);
    const void **buffers = (const void **)(columns + n_columns);
    for (int32_t column = 0; column < n_columns; column++, spans += N_BUFFERS, buffers += N_BUFFERS) {
        batch->children[column] = columns + column;
        columns[column] = (ArrowArray){.length = length, .null_count = nulls[column], .n_buffers = N_BUFFERS,
                                       .buffers = buffers};
        buffers[VALIDITY] = nulls[column] ? room + spans[VALIDITY].begin : 0;
        buffers[VALUES] = room + spans[VALUES].begin;
        buffers[DATA] = room + spans[DATA].begin;
    }
}

/* The rows from `begin` on, so many of them: a table without buffers of its own. How many nulls they have nobody has
   counted if there are any at all. */
EXPORT void slice_columns(int32_t n_columns, const ArrowArray *batch, int64_t begin, int64_t n, void *table)
{
    ArrowArray *slice = table_of(n_columns, n, table), *columns = (ArrowArray *)(slice->children + n_columns);
    for (int32_t column = 0; column < n_columns; column++) {
        slice->children[column] = columns + column;
        columns[column] = *batch->children[column];
        columns[column].offset += begin;
        columns[column].length = n;
        columns[column].null_count = columns[column].null_count ? -1 : 0;
    }
}

/* Columns of several batches side by side: a table of where they are. */
EXPORT void choose_columns(int32_t n_columns, const ArrowArray *const *batches, const int32_t *numbers, void *table)
{
    ArrowArray *chosen = table_of(n_columns, n_columns ? batches[0]->length : 0, table);
    for (int32_t column = 0; column < n_columns; column++)
        chosen->children[column] = batches[column]->children[numbers[column]];
}

/* Where the values of a column begin in each part, as far as they begin at a byte. */
static void find_values(const ArrowArray *const *batches, int32_t n_parts, int32_t column, int64_t width,
                        const void **sources)
{
    for (int32_t part = 0; part < n_parts; part++) {
        const ArrowArray *array = batches[part]->children[column];
        sources[part] = array->length ? (const uint8_t *)array->buffers[VALUES] + array->offset * width : 0;
    }
}

static int may_have_nulls(const ArrowArray *const *batches, int32_t n_parts, int32_t column)
{
    for (int32_t part = 0; part < n_parts; part++) {
        const ArrowArray *array = batches[part]->children[column];
        if (array->null_count && array->buffers[VALIDITY])
            return 1;
    }
    return 0;
}

static int64_t width_of_offsets(int64_t layout)
{
    return layout == TEXTS_32 ? 4 : 8;
}

/* Where the buffers of gathered columns are to lie in one room, and how large it must be. If a column has more text than
   its offsets can tell, -1 less the number of the column. `sources` is room for an address of each part. */
EXPORT int64_t plan_columns(int32_t n_columns, const int64_t *layouts, int32_t n_parts,
                            const ArrowArray *const *batches, const int64_t *positions, const int32_t *parts, int64_t n,
                            const void **sources, Span *spans)
{
    int64_t end = 0;
    for (int32_t column = 0; column < n_columns; column++) {
        int64_t layout = layouts[column], sizes[N_BUFFERS] = {0};
        if (layout == TEXTS_32 || layout == TEXTS_64) {
            find_values(batches, n_parts, column, width_of_offsets(layout), sources);
            sizes[VALUES] = (n + 1) * width_of_offsets(layout);
            sizes[DATA] = layout == TEXTS_32 ? bytes_of_texts_32(sources, positions, parts, n)
                                             : bytes_of_texts_64(sources, positions, parts, n);
            if (layout == TEXTS_32 && sizes[DATA] > INT32_MAX)
                return -1 - column;
        } else if (layout != OTHER) {
            sizes[VALUES] = layout == BITS ? (n + 7) / 8 : n * layout;
        }
        if (layout != OTHER && may_have_nulls(batches, n_parts, column))
            sizes[VALIDITY] = (n + 7) / 8;
        for (int buffer = 0; buffer < N_BUFFERS; buffer++) {
            spans[column * N_BUFFERS + buffer] = (Span){end, sizes[buffer]};
            end += (sizes[buffer] + 63) / 64 * 64; /* as Arrow likes it */
        }
    }
    return end;
}

/* Bits of a column, such as whether its values are valid; how many are not set. */
static int64_t gather_bits_of(const ArrowArray *const *batches, int32_t n_parts, int32_t column, int buffer,
                              const void **sources, int64_t *offsets, uint8_t *target, const int64_t *positions,
                              const int32_t *parts, int64_t n)
{
    for (int32_t part = 0; part < n_parts; part++) {
        const ArrowArray *array = batches[part]->children[column];
        sources[part] = array->buffers[buffer];
        offsets[part] = array->offset;
    }
    return gather_bits((const uint8_t *const *)sources, offsets, target, positions, parts, n);
}

/* The columns themselves, how many nulls each has, and a table of them. `sources` is room for two words of each part. */
EXPORT void gather_columns(int32_t n_columns, const int64_t *layouts, int32_t n_parts, const ArrowArray *const *batches,
                           const int64_t *positions, const int32_t *parts, int64_t n, const void **sources,
                           const Span *all_spans, uint8_t *room, int64_t *nulls, void *table)
{
    const void **more = sources + n_parts;
    const Span *spans = all_spans;
    for (int32_t column = 0; column < n_columns; column++, spans += N_BUFFERS) {
        int64_t layout = layouts[column];
        uint8_t *values = room + spans[VALUES].begin;
        nulls[column] = 0;
        if (spans[VALIDITY].size)
            nulls[column] = gather_bits_of(batches, n_parts, column, VALIDITY, sources, (int64_t *)more,
                                           room + spans[VALIDITY].begin, positions, parts, n);
        if (layout == BITS)
            gather_bits_of(batches, n_parts, column, VALUES, sources, (int64_t *)more, values, positions, parts, n);
        if (layout >= 0) {
            find_values(batches, n_parts, column, layout, sources);
            gather_column(sources, layout, values, positions, parts, n);
        }
        if (layout != TEXTS_32 && layout != TEXTS_64)
            continue;
        find_values(batches, n_parts, column, width_of_offsets(layout), sources);
        for (int32_t part = 0; part < n_parts; part++)
            more[part] = batches[part]->children[column]->buffers[DATA];
        if (layout == TEXTS_32)
            gather_texts_32(sources, more, (int32_t *)values, room + spans[DATA].begin, positions, parts, n);
        else
            gather_texts_64(sources, more, (int64_t *)values, room + spans[DATA].begin, positions, parts, n);
    }
    tell_columns(n_columns, n, all_spans, room, nulls, table);
}

static int64_t offset_at(const ArrowArray *array, int64_t layout, int64_t at)
{
    const void *offsets = array->buffers[VALUES];
    at += array->offset;
    return layout == TEXTS_32 ? ((const int32_t *)offsets)[at] : ((const int64_t *)offsets)[at];
}

static int bit_at(const uint8_t *bits, int64_t at)
{
    return bits[at >> 3] >> (at & 7) & 1;
}

/* The bitmap of a column that has nulls, as far as anybody knows. */
static const uint8_t *validity_of(const ArrowArray *array)
{
    return array->null_count ? array->buffers[VALIDITY] : 0;
}

/* How many bytes of its buffers a batch refers to, as Arrow counts them; those of several columns are never the same. */
EXPORT int64_t bytes_of_columns(int32_t n_columns, const int64_t *layouts, const ArrowArray *batch)
{
    int64_t total = 0, n = batch->length;
    for (int32_t column = 0; column < n_columns; column++) {
        const ArrowArray *array = batch->children[column];
        int64_t layout = layouts[column], of_bits = (array->offset + n + 7) / 8 - array->offset / 8;
        total += array->buffers[VALIDITY] ? of_bits : 0;
        if (layout >= 0)
            total += n * layout;
        else if (layout == BITS)
            total += of_bits;
        else
            total += n * width_of_offsets(layout) + (n ? offset_at(array, layout, n) - offset_at(array, layout, 0) : 0);
    }
    return total;
}

/* What each row weighs beside the values that have the same size in all rows (kernels/sizes.py). */
EXPORT void weigh_texts(int32_t n_columns, const int64_t *layouts, const ArrowArray *batch, int64_t *weights)
{
    for (int32_t column = 0; column < n_columns; column++) {
        const ArrowArray *array = batch->children[column];
        const uint8_t *validity = validity_of(array);
        int64_t layout = layouts[column];
        if (layout == TEXTS_32 || layout == TEXTS_64)
            for (int64_t i = 0; i < batch->length; i++)
                if (!validity || bit_at(validity, array->offset + i))
                    weights[i] += offset_at(array, layout, i + 1) - offset_at(array, layout, i);
    }
}

/* ---- Blocks: rows as messages of Arrow's IPC format, which differ in few numbers of their headers. ---- */

/* A header up to where the buffers begin, and where the numbers are in it: how many rows, how many bytes of buffers;
   of each column how many rows and nulls; of each buffer its place and size. Other bytes, with a mask of ones, are the
   same in all blocks. */
typedef struct {
    const uint8_t *header, *mask;
    int64_t size, rows, body, nodes, buffers;
} Message;

static void put(uint8_t *target, int64_t number)
{
    memcpy(target, &number, 8);
}

static int64_t number_at(const uint8_t *source)
{
    int64_t number;
    memcpy(&number, source, 8);
    return number;
}

static int buffers_of(int64_t layout)
{
    return layout == TEXTS_32 || layout == TEXTS_64 ? 3 : 2;
}

static int64_t bytes_of_values(int64_t layout, int64_t n)
{
    return layout == BITS ? (n + 7) / 8 : layout >= 0 ? n * layout : (n + 1) * width_of_offsets(layout);
}

static int64_t padded(int64_t size)
{
    return (size + 7) / 8 * 8;
}

static int64_t nulls_between(const ArrowArray *array, int64_t begin, int64_t end)
{
    const uint8_t *validity = validity_of(array);
    int64_t nulls = 0;
    for (int64_t i = begin; validity && i < end; i++)
        nulls += !bit_at(validity, array->offset + i);
    return nulls;
}

/* Where blocks of these rows, of which each has those from `cuts[i][0]` to `cuts[i][1]`, are to lie one after the other:
   all `places` and sizes. How much they take. */
EXPORT int64_t plan_blocks(int32_t n_columns, const int64_t *layouts, const ArrowArray *batch, int64_t n_blocks,
                           const int64_t *cuts, const Message *message, Span *places)
{
    int64_t end = 0;
    for (int64_t block = 0; block < n_blocks; block++, cuts += 2) {
        int64_t size = message->size;
        for (int32_t column = 0; column < n_columns; column++) {
            const ArrowArray *array = batch->children[column];
            int64_t layout = layouts[column];
            size += padded(bytes_of_values(layout, cuts[1] - cuts[0]));
            if (nulls_between(array, cuts[0], cuts[1]))
                size += padded((cuts[1] - cuts[0] + 7) / 8);
            if (buffers_of(layout) > 2)
                size += padded(offset_at(array, layout, cuts[1]) - offset_at(array, layout, cuts[0]));
        }
        places[block] = (Span){end, size};
        end += size;
    }
    return end;
}

static void copy_bits(uint8_t *target, const uint8_t *source, int64_t begin, int64_t n)
{
    memset(target, 0, (size_t)((n + 7) / 8));
    for (int64_t i = 0; i < n; i++)
        target[i >> 3] |= (uint8_t)(bit_at(source, begin + i) << (i & 7));
}

static void copy_offsets(uint8_t *target, const ArrowArray *array, int64_t layout, int64_t begin, int64_t n)
{
    int64_t first = offset_at(array, layout, begin);
    for (int64_t i = 0; i <= n; i++) {
        int64_t offset = offset_at(array, layout, begin + i) - first;
        if (layout == TEXTS_32)
            ((int32_t *)target)[i] = (int32_t)offset;
        else
            ((int64_t *)target)[i] = offset;
    }
}

/* One buffer is written: its number, place and size go into the header, and padding after it. */
static uint8_t *end_buffer(uint8_t *told, const uint8_t *body, uint8_t *begin, int64_t size)
{
    put(told, begin - body);
    put(told + 8, size);
    memset(begin + size, 0, (size_t)(padded(size) - size));
    return begin + padded(size);
}

static void write_block(int32_t n_columns, const int64_t *layouts, const ArrowArray *batch, int64_t begin, int64_t end,
                        const Message *message, uint8_t *content)
{
    uint8_t *node = content + message->nodes, *told = content + message->buffers;
    uint8_t *body = content + message->size, *at = body;
    int64_t n = end - begin;
    memcpy(content, message->header, (size_t)message->size);
    for (int32_t column = 0; column < n_columns; column++, node += 16) {
        const ArrowArray *array = batch->children[column];
        int64_t layout = layouts[column], nulls = nulls_between(array, begin, end), from = array->offset + begin;
        const uint8_t *values = array->buffers[VALUES];
        put(node, n);
        put(node + 8, nulls);
        if (nulls)
            copy_bits(at, array->buffers[VALIDITY], from, n);
        at = end_buffer(told, body, at, nulls ? (n + 7) / 8 : 0);
        if (layout == BITS)
            copy_bits(at, values, from, n);
        else if (layout >= 0)
            memcpy(at, values + from * layout, (size_t)(n * layout));
        else
            copy_offsets(at, array, layout, begin, n);
        at = end_buffer(told + 16, body, at, bytes_of_values(layout, n));
        if (buffers_of(layout) > 2) {
            int64_t first = offset_at(array, layout, begin), size = offset_at(array, layout, end) - first;
            memcpy(at, (const uint8_t *)array->buffers[DATA] + first, (size_t)size);
            at = end_buffer(told + 32, body, at, size);
        }
        told += 16 * buffers_of(layout);
    }
    put(content + message->rows, n);
    put(content + message->body, at - body);
}

/* The blocks themselves. */
EXPORT void write_blocks(int32_t n_columns, const int64_t *layouts, const ArrowArray *batch, int64_t n_blocks,
                         const int64_t *cuts, const Message *message, const Span *places, uint8_t *room)
{
    for (int64_t block = 0; block < n_blocks; block++, cuts += 2)
        write_block(n_columns, layouts, batch, cuts[0], cuts[1], message, room + places[block].begin);
}

/* The spans of one column's buffers in a block, and its nulls; whether they lie in it and have all its rows. */
static int find_buffers(const uint8_t *content, int64_t size, const Message *message, const uint8_t *node,
                        const uint8_t *told, int64_t layout, int64_t n, Span *spans, int64_t *nulls)
{
    *nulls = number_at(node + 8);
    for (int buffer = 0; buffer < buffers_of(layout); buffer++, told += 16) {
        int64_t begin = number_at(told), length = number_at(told + 8), room = size - message->size;
        if (begin < 0 || length < 0 || begin > room || length > room - begin || begin % 8)
            return 0;
        spans[buffer] = (Span){message->size + begin, length};
    }
    if (spans[VALUES].size < bytes_of_values(layout, n) || (*nulls && spans[VALIDITY].size < (n + 7) / 8))
        return 0;
    if (buffers_of(layout) == 2)
        return 1;
    const uint8_t *offsets = content + spans[VALUES].begin + n * width_of_offsets(layout);
    int32_t last;
    memcpy(&last, offsets, 4);
    return (layout == TEXTS_32 ? last : number_at(offsets)) <= spans[DATA].size;
}

/* Where the columns of a block lie in its content, how many nulls each has, and a table of them without the first ones,
   which are helpers. How many rows they are; -1 if it is no such block. */
EXPORT int64_t read_block(int32_t n_columns, const int64_t *layouts, int32_t n_helpers, const uint8_t *content,
                          int64_t size, const Message *message, Span *spans, int64_t *nulls, void *table)
{
    uint8_t different = 0;
    if (size < message->size)
        return -1;
    for (int64_t i = 0; i < message->size; i++)
        different |= (content[i] ^ message->header[i]) & message->mask[i];
    int64_t n = number_at(content + message->rows);
    if (different || n < 0 || n > size * 8)
        return -1;
    const uint8_t *node = content + message->nodes, *told = content + message->buffers;
    for (int32_t column = 0; column < n_columns; column++, node += 16) {
        Span *of_column = spans + column * N_BUFFERS;
        if (number_at(node) != n
            || !find_buffers(content, size, message, node, told, layouts[column], n, of_column, nulls + column))
            return -1;
        told += 16 * buffers_of(layouts[column]);
    }
    tell_columns(n_columns - n_helpers, n, spans + n_helpers * N_BUFFERS, content, nulls + n_helpers, table);
    return n;
}

/* ---- Dictionaries: the value of each row is one of few, told by its place among them. ---- */

#define SPREAD(bits)                                                                                                   \
    EXPORT void spread_##bits(const uint##bits##_t *values, const int32_t *places, int64_t n, uint##bits##_t *found)   \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            found[i] = values[places[i]];                                                                              \
    }
SPREAD(8)
SPREAD(32)
SPREAD(64)

/* ---- Exact sums: as many bits as whatever is added up may need, so that nothing is ever rounded or runs over. ---- */

/* 192 bits, the lowest first: 2^64 products of two numbers of 64 bits fit. */
typedef struct __attribute__((packed, aligned(8))) {
    Natural128 low;
    uint64_t high;
} Whole;

#define INLINE static inline __attribute__((always_inline))
#define SELDOM(condition) __builtin_expect(!!(condition), 0)

INLINE void add_whole(Whole *sum, Integer128 number)
{
    Natural128 before = sum->low;
    sum->low += (Natural128)number;
    uint64_t carry = (uint64_t)(number >> 127) + (sum->low < before);
    if (SELDOM(carry)) /* the sum changes its sign, or is very large */
        sum->high += carry;
}

/* Add the product of two sums of numbers of 64 bits: by words, modulo 2^192. */
static void add_product(Whole *sum, Integer128 left, Integer128 right)
{
    if (left == (int64_t)left && right == (int64_t)right) {
        add_whole(sum, left * right);
        return;
    }
    uint64_t a[3] = {(Natural128)left, (Natural128)left >> 64, left < 0 ? UINT64_MAX : 0};
    uint64_t b[3] = {(Natural128)right, (Natural128)right >> 64, right < 0 ? UINT64_MAX : 0};
    uint64_t words[3] = {sum->low, sum->low >> 64, sum->high};
    for (int i = 0; i < 3; i++) {
        Natural128 carry = 0;
        for (int j = 0; i + j < 3; j++) {
            carry += (Natural128)a[i] * b[j] + words[i + j];
            words[i + j] = (uint64_t)carry;
            carry >>= 64;
        }
    }
    sum->low = (Natural128)words[1] << 64 | words[0];
    sum->high = words[2];
}

/* A sum of whole numbers, or of doubles of any size: its lowest word counts in units of 2^(64 place). The highest word is
   for carries: when a number comes that would reach into it, all are moved. So if anything is lost at the lower end, it
   is less than 2^-116 of the largest number. */
enum { WORDS = 5 };
typedef struct {
    int64_t place; /* or NOT_FINITE: infinity or NaN is among the numbers */
    uint64_t words[WORDS];
} Exact;
#define NOT_FINITE INT64_MAX

static inline uint64_t sign_of(const uint64_t *words, int n)
{
    return words[n - 1] >> 63 ? UINT64_MAX : 0;
}

/* Where a number of n words begins among those of a sum, once there is room for it. */
static int64_t make_room(Exact *sum, int n, int64_t place)
{
    int64_t at = place - sum->place, up = at + n - (WORDS - 1);
    uint64_t sign = sign_of(sum->words, WORDS), any = 0;
    for (int i = 0; i < WORDS; i++)
        any |= sum->words[i];
    if (!any)
        sum->place += up;
    else if (up > 0) {
        for (int64_t i = 0; i < WORDS; i++)
            sum->words[i] = i < WORDS - up ? sum->words[i + up] : sign;
        sum->place += up;
    }
    return place - sum->place;
}

static void add_words(Exact *sum, const uint64_t *words, int n, int64_t place)
{
    if (sum->place == NOT_FINITE)
        return;
    uint64_t sign = sign_of(words, n);
    int64_t at = place - sum->place;
    if (at < 0 || at + n >= WORDS)
        at = make_room(sum, n, place);
    unsigned carry = 0;
    for (int64_t i = at < 0 ? -at : 0; at + i < WORDS && (i < n || carry != (sign & 1)); i++) {
        Natural128 found = (Natural128)sum->words[at + i] + (i < n ? words[i] : sign) + carry;
        sum->words[at + i] = (uint64_t)found;
        carry = (unsigned)(found >> 64);
    }
}

/* Add number * 2^exponent. */
static inline void add_shifted(Exact *sum, Integer128 number, int64_t exponent)
{
    int shift = exponent & 63;
    Natural128 low = (Natural128)number << shift;
    uint64_t words[3] = {(uint64_t)low, (uint64_t)(low >> 64), (uint64_t)(number >> (127 - shift) >> 1)};
    add_words(sum, words, 3, exponent >> 6);
}

/* Add another sum so many times. */
static void add_times(Exact *sum, const Exact *other, uint64_t times)
{
    uint64_t words[WORDS + 1], sign = sign_of(other->words, WORDS);
    int n = WORDS + 1;
    Natural128 carry = 0;
    if (other->place == NOT_FINITE && times)
        sum->place = NOT_FINITE;
    for (int i = 0; i < n; i++) {
        carry += (Natural128)(i < WORDS ? other->words[i] : sign) * times;
        words[i] = (uint64_t)carry;
        carry >>= 64;
    }
    while (n > 1 && words[n - 1] == sign_of(words, n - 1))
        n--;
    if (n > 1 || words[0])
        add_words(sum, words, n, other->place);
}

/* Moments are two sums: of numbers, and of their squares. */
static inline void add_number(Exact *moments, int64_t number)
{
    add_shifted(moments, number, 0);
    add_shifted(moments + 1, (Integer128)number * number, 0);
}

/* In the place of a double where there is none: a NaN that no data have (kernels/folding.py sees to it). */
#define ABSENT UINT64_C(0x7FF8736F6F6E6572)

static inline void add_double(Exact *moments, double value)
{
    uint64_t bits = bits_of(value);
    if (bits == ABSENT)
        return;
    int64_t exponent = bits >> 52 & 0x7FF, size = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7FF) {
        moments[0].place = moments[1].place = NOT_FINITE;
        return;
    }
    if (exponent)
        size |= INT64_C(1) << 52;
    exponent = (exponent ? exponent : 1) - 1075;
    if (!size)
        return;
    add_shifted(moments, bits >> 63 ? -size : size, exponent);
    add_shifted(moments + 1, (Integer128)size * size, 2 * exponent);
}

/* Sums that were made apart become those of all. */
EXPORT void add_exact(Exact *sums, const Exact *others, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        add_times(sums + i, others + i, 1);
}

/* ---- Folding: pairs are added up instead of spelled out. ---- */

/* Of each pair of groups and of random parts (`tags`) of both sides: sums of products of a left and a right factor, of
   which one that is missing is 1, and one that is ABSENT leaves nothing to add, whatever the other is; and moments of
   numbers that one side has, whole or not. */
typedef struct {
    const int32_t *tags, *groups; /* of each row; groups may be missing */
    const int64_t *const *wholes; /* factors of each row, for each sum */
    const double *const *reals;
    const int64_t *const *whole_numbers; /* of each row, for each pair of moments; or they are doubles, */
    const double *const *real_numbers;   /* or the other side's */
} Factors;

/* Room for rows of one code with those of one group and tag as one; nothing is in it between two calls. */
typedef struct {
    int32_t *where;  /* [group, tag]: which row that is, or -1 */
    int32_t *cells;  /* of each row, its group and tag as one number */
    int64_t *counts; /* of how many it was made */
    Integer128 *wholes;
    double *reals;
    uint8_t *kinds; /* of the factors that each of these is the sum of */
    Exact *moments;
} Condensed;

typedef struct {
    Condensed room[2];
    Whole *wholes; /* [group, sum, left tag, right tag] */
    double *reals;
    Exact *moments;                                             /* and at the end which of the two */
    int64_t n_tags, right_groups, n_wholes, n_reals, n_moments; /* n_tags is a power of two: tags are taken modulo it */
} Sums;

typedef struct {
    const Factors *of[2];
    Sums into;
} Fold;

static inline int64_t tag_at(const Fold *fold, int side, int64_t at)
{
    return fold->of[side]->tags[at] & (fold->into.n_tags - 1);
}

static inline int64_t group_at(const Fold *fold, int side, int64_t at)
{
    return fold->of[side]->groups ? fold->of[side]->groups[at] : 0;
}

static inline int has_numbers(const Factors *factors, int64_t k)
{
    return factors->whole_numbers[k] || factors->real_numbers[k];
}

static inline void add_moments(Exact *moments, const Factors *factors, int64_t k, int64_t at)
{
    if (factors->whole_numbers[k])
        add_number(moments, factors->whole_numbers[k][at]);
    else
        add_double(moments, factors->real_numbers[k][at]);
}

/* Not inline: moments are rare, and what they need would be in the way of all else. */
static __attribute__((noinline)) void fold_numbers(const Fold *fold, int64_t left, int64_t right, int64_t at)
{
    Exact *moments = fold->into.moments + 2 * at;
    for (int64_t k = 0; k < fold->into.n_moments; k++, moments += 2 * fold->into.n_tags * fold->into.n_tags)
        if (has_numbers(fold->of[0], k))
            add_moments(moments, fold->of[0], k, left);
        else
            add_moments(moments, fold->of[1], k, right);
}

INLINE double product_of(double left, double right)
{
    double product = left * right;
    return SELDOM(product != product) && (bits_of(left) == ABSENT || bits_of(right) == ABSENT) ? 0 : product;
}

INLINE void fold_pair(const Fold *fold, int64_t left, int64_t right)
{
    const Factors *lefts = fold->of[0], *rights = fold->of[1];
    int64_t n_cells = fold->into.n_tags * fold->into.n_tags;
    int64_t cell = tag_at(fold, 0, left) * fold->into.n_tags + tag_at(fold, 1, right);
    int64_t group = group_at(fold, 0, left) * fold->into.right_groups + group_at(fold, 1, right);
    Whole *whole = fold->into.wholes + group * fold->into.n_wholes * n_cells + cell;
    double *real = fold->into.reals + group * fold->into.n_reals * n_cells + cell;
    for (int64_t k = 0; k < fold->into.n_wholes; k++, whole += n_cells)
        add_whole(whole, (Integer128)(lefts->wholes[k] ? lefts->wholes[k][left] : 1) *
                             (rights->wholes[k] ? rights->wholes[k][right] : 1));
    for (int64_t k = 0; k < fold->into.n_reals; k++, real += n_cells)
        *real += product_of(lefts->reals[k] ? lefts->reals[k][left] : 1, rights->reals[k] ? rights->reals[k][right] : 1);
    if (SELDOM(fold->into.n_moments))
        fold_numbers(fold, left, right, group * fold->into.n_moments * n_cells + cell);
}

/* Pairs that were found by their positions, or where these are missing each row with itself. */
EXPORT void fold_pairs(const Sums *sums, const Factors *left, const Factors *right, const int64_t *at_left,
                       const int64_t *at_right, int64_t n)
{
    const Fold folded = {{left, right}, *sums}, *fold = &folded;
    if (!at_left) {
        for (int64_t i = 0; i < n; i++)
            fold_pair(fold, i, i);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        fold_pair(fold, at_left[i], at_right[i]);
}

enum { NEW, MET, NOT_YET }; /* ages of rows: two that have met are no pair, and what is not there yet is in none */
enum { MANY = 4096 };       /* pairs of one code, from which on both sides are condensed first */

/* Infinity times a sum is not the sum of infinity times each number: 2 and -1 make NaN of it, and their sum does not. So
   it is kept which kinds of numbers a sum is made of, a bit for each; ABSENT is of none. */
enum { N_KINDS = 6, FINITE = 7 }; /* the first three are finite */
static const double KINDS[N_KINDS] = {0, 1, -1, __builtin_inf(), -__builtin_inf(), __builtin_nan("")};

static inline unsigned kind_of(double value)
{
    if (SELDOM(value - value != 0))
        return bits_of(value) == ABSENT ? 0 : value != value ? 1 << 5 : value > 0 ? 1 << 3 : 1 << 4;
    return value > 0 ? 1 << 1 : value < 0 ? 1 << 2 : 1;
}

/* The sum of all products of numbers of these kinds, if any of them is not finite; 0 if there is no product. */
static __attribute__((noinline)) double sum_of_kinds(unsigned lefts, unsigned rights)
{
    double sum = 0;
    for (int i = 0; i < N_KINDS; i++)
        for (int j = 0; j < N_KINDS; j++)
            if (lefts >> i & rights >> j & 1)
                sum += KINDS[i] * KINDS[j];
    return sum;
}

enum { NEW_ONES = 1 << NEW, MET_ONES = 1 << MET };

/* The rows of one code and side that are of these ages. How many are left of them. */
static int32_t condense(const Fold *fold, int side, const uint8_t *ages, int wanted, int64_t begin, int64_t end)
{
    const Factors *factors = fold->of[side];
    const Sums *into = &fold->into;
    const Condensed *room = into->room + side;
    int32_t n = 0;
    for (int64_t i = begin; i < end; i++) {
        if (ages && !(wanted >> ages[i] & 1))
            continue;
        int64_t cell = group_at(fold, side, i) * into->n_tags + tag_at(fold, side, i);
        int64_t row = room->where[cell];
        if (row < 0) {
            row = room->where[cell] = n++;
            room->cells[row] = (int32_t)cell;
            room->counts[row] = 0;
            memset(room->wholes + row * into->n_wholes, 0, into->n_wholes * sizeof(Integer128));
            memset(room->reals + row * into->n_reals, 0, into->n_reals * sizeof(double));
            memset(room->kinds + row * into->n_reals, 0, into->n_reals);
            memset(room->moments + row * into->n_moments * 2, 0, into->n_moments * 2 * sizeof(Exact));
        }
        room->counts[row]++;
        for (int64_t k = 0; k < into->n_wholes; k++)
            room->wholes[row * into->n_wholes + k] += factors->wholes[k] ? factors->wholes[k][i] : 1;
        for (int64_t k = 0; k < into->n_reals; k++) {
            double factor = factors->reals[k] ? factors->reals[k][i] : 1;
            unsigned kind = kind_of(factor);
            room->kinds[row * into->n_reals + k] |= kind;
            room->reals[row * into->n_reals + k] += kind ? factor : 0;
        }
        for (int64_t k = 0; k < into->n_moments; k++)
            if (has_numbers(factors, k))
                add_moments(room->moments + (row * into->n_moments + k) * 2, factors, k, i);
    }
    for (int32_t row = 0; row < n; row++)
        room->where[room->cells[row]] = -1;
    return n;
}

static void fold_condensed(const Fold *fold, int32_t n_lefts, int32_t n_rights)
{
    const Sums *into = &fold->into;
    const Condensed *lefts = into->room, *rights = into->room + 1;
    int64_t n_tags = into->n_tags, n_cells = n_tags * n_tags;
    for (int64_t i = 0; i < n_lefts; i++)
        for (int64_t j = 0; j < n_rights; j++) {
            int64_t cell = lefts->cells[i] % n_tags * n_tags + rights->cells[j] % n_tags;
            int64_t group = lefts->cells[i] / n_tags * into->right_groups + rights->cells[j] / n_tags;
            Whole *whole = into->wholes + group * into->n_wholes * n_cells + cell;
            double *real = into->reals + group * into->n_reals * n_cells + cell;
            Exact *moments = into->moments + (group * into->n_moments * n_cells + cell) * 2;
            for (int64_t k = 0; k < into->n_wholes; k++, whole += n_cells)
                add_product(whole, lefts->wholes[i * into->n_wholes + k], rights->wholes[j * into->n_wholes + k]);
            for (int64_t k = 0; k < into->n_reals; k++, real += n_cells) {
                int64_t left = i * into->n_reals + k, right = j * into->n_reals + k;
                if (SELDOM((lefts->kinds[left] | rights->kinds[right]) > FINITE))
                    *real += sum_of_kinds(lefts->kinds[left], rights->kinds[right]);
                else
                    *real += lefts->reals[left] * rights->reals[right];
            }
            for (int64_t k = 0; k < into->n_moments; k++, moments += 2 * n_cells) {
                int of_left = has_numbers(fold->of[0], k);
                const Exact *numbers = of_left ? lefts->moments + (i * into->n_moments + k) * 2
                                               : rights->moments + (j * into->n_moments + k) * 2;
                int64_t times = of_left ? rights->counts[j] : lefts->counts[i];
                add_times(moments, numbers, times);
                add_times(moments + 1, numbers + 1, times);
            }
        }
}

static inline int is_open(const uint8_t *left_ages, int64_t left, const uint8_t *right_ages, int64_t right)
{
    int left_age = left_ages ? left_ages[left] : NEW, right_age = right_ages ? right_ages[right] : NEW;
    return left_age != NOT_YET && right_age != NOT_YET && (left_age == NEW || right_age == NEW);
}

/* All open pairs of equal codes of two sorted arrays; how many they are, or of a code with many of them at most. */
EXPORT int64_t fold_runs(const Sums *sums, const Factors *left_factors, const Factors *right_factors,
                         const uint64_t *lefts, const uint8_t *left_ages, int64_t n_lefts, const uint64_t *rights,
                         const uint8_t *right_ages, int64_t n_rights)
{
    const Fold folded = {{left_factors, right_factors}, *sums}, *fold = &folded;
    int64_t i = 0, j = 0, pairs = 0;
    while (i < n_lefts && j < n_rights) {
        if (lefts[i] != rights[j]) {
            if (lefts[i] < rights[j])
                i = advance(lefts, n_lefts, i, rights[j]);
            else
                j = advance(rights, n_rights, j, lefts[i]);
            continue;
        }
        uint64_t code = lefts[i];
        int64_t left_end = i + 1, right_end = j + 1;
        while (left_end < n_lefts && lefts[left_end] == code)
            left_end++;
        while (right_end < n_rights && rights[right_end] == code)
            right_end++;
        int64_t many = left_end - i, others = right_end - j;
        if (many < MANY && others < MANY && many * others < MANY) { /* so that the product fits */
            for (int64_t left = i; left < left_end; left++)
                for (int64_t right = j; right < right_end; right++)
                    if (is_open(left_ages, left, right_ages, right)) {
                        fold_pair(fold, left, right);
                        pairs++;
                    }
        } else {
            int some_met = left_ages && right_ages, all = NEW_ONES | MET_ONES;
            fold_condensed(fold, condense(fold, 0, left_ages, some_met ? NEW_ONES : all, i, left_end),
                           condense(fold, 1, right_ages, all, j, right_end));
            if (some_met)
                fold_condensed(fold, condense(fold, 0, left_ages, MET_ONES, i, left_end),
                               condense(fold, 1, right_ages, NEW_ONES, j, right_end));
            if (__builtin_mul_overflow(many, others, &many) || __builtin_add_overflow(pairs, many, &pairs))
                pairs = INT64_MAX;
        }
        i = left_end, j = right_end;
    }
    return pairs;
}

typedef struct {
    const Factors *factors;
    const uint64_t *codes;
    int64_t n;
} Operand;

/* The same of one sorted array of this side with several of the other. */
EXPORT int64_t fold_many(const Sums *sums, int32_t side, const Operand *one, const Operand *others, int64_t n_others)
{
    int64_t pairs = 0;
    for (int64_t i = 0; i < n_others; i++) {
        const Operand *left = side ? others + i : one, *right = side ? one : others + i;
        pairs += fold_runs(sums, left->factors, right->factors, left->codes, NULL, left->n, right->codes, NULL,
                           right->n);
    }
    return pairs;
}

/* ---- Rows that are only counted, as the lab has them: by side, partition and key, and each key in one partition. ---- */

/* Rows of a side and key that came together. */
typedef struct {
    int64_t next; /* the group that came after it, or that is free after it; 0 is none */
    int64_t tick;
    int64_t rows;
    int64_t unmet_pairs;   /* of each row: rows on disk of the other side when it came */
    int64_t unmet_matches; /* and those with the same key */
} Group;

/* A join; arrays are indexed [side][partition][key] in the first block, [side][partition] in the second, and [partition]
   in the third. */
typedef struct {
    int64_t partitions, keys, row_bytes, disk_row_bytes;
    int64_t *memory, *on_disk, *seen, *settled, *unmet_matches, *unmet_pairs;
    uint8_t *joined;                /* NULL: nobody looks at regions */
    int64_t *joins;                 /* NULL: nobody counts them row by row */
    int64_t *first_group, *last_group; /* NULL: nobody asks for the age of a row */
    int64_t *arrived, *resident, *resident_bytes, *forgotten, *spilled, *spilled_bytes, *spilled_runs;
    const int64_t *met_disk;
    double *unmet_with_disk;
    const uint64_t *bounds; /* [side][partition][2] of the middle region */
    int64_t *region_joins;  /* [side][partition][3] */
    double *compared, *matched, *selectivity, *unmet_on_disk;
    int64_t *whole_rows;
    const uint64_t *codes; /* [partition][key] */
    int64_t *came;         /* [side][partition]: room for what comes */
} Counted;

/* The rows of the join at this place have got one more. The first free group is told by the one that is none. */
static inline void note_age(const Counted *join, Group *groups, int64_t place, int64_t tick, int64_t unmet_pairs,
                            int64_t unmet_matches)
{
    int64_t last = join->last_group[place];
    if (last && groups[last].tick == tick) {
        groups[last].rows++;
        return;
    }
    int64_t mine = groups->next;
    groups->next = groups[mine].next;
    groups[mine] = (Group){0, tick, 1, unmet_pairs, unmet_matches};
    *(last ? &groups[last].next : join->first_group + place) = mine;
    join->last_group[place] = mine;
}

/* Rows of this key are in so many results, on both sides. */
static inline void note_joins(const Counted *join, const uint8_t *kept, int64_t p, int64_t place, int64_t results)
{
    int64_t partitions = join->partitions, n_places = partitions * join->keys;
    for (int side = 0; side < 2; side++, p += partitions, place += n_places) {
        if (kept[p]) {
            join->joined[place] = 1;
            if (join->joins)
                join->joins[place] += results;
        }
        uint64_t code = join->codes[side ? place - n_places : place];
        join->region_joins[3 * p + (code < join->bounds[2 * p] ? 0 : code > join->bounds[2 * p + 1] ? 2 : 1)] += results;
    }
}

static int64_t count_side(const Counted *join, int side, const int32_t *keys, int64_t n, const uint8_t *kept,
                          Group *groups, int64_t tick)
{
    int64_t partitions = join->partitions, n_places = partitions * join->keys, results = 0;
    int64_t mine = side ? n_places : 0, other = n_places - mine;
    for (int64_t i = 0; i < n; i++) {
        uint32_t p = (uint32_t)keys[i] % (uint32_t)partitions;
        int64_t place = p * join->keys + (uint32_t)keys[i] / (uint32_t)partitions, at = side * partitions + p;
        int64_t matches = join->memory[other + place];
        join->came[at]++;
        results += matches;
        join->matched[p] += (double)matches;
        if (kept[at]) {
            join->memory[mine + place]++;
            if (join->first_group)
                note_age(join, groups, mine + place, tick, join->spilled[(1 - side) * partitions + p],
                         join->on_disk[other + place]);
        }
        if (matches && join->joined)
            note_joins(join, kept, p, place, matches);
    }
    return results;
}

/* Rows with these keys of each side come: those of the left meet what is in memory, those of the right these too. They
   are in memory then, where their side and partition is kept. How many results that gives; and what a nested loop over
   partitions would have compared. */
EXPORT int64_t count_arrivals(const Counted *join, const int32_t *lefts, int64_t n_lefts, const int32_t *rights,
                              int64_t n_rights, const uint8_t *kept, Group *groups, int64_t tick, int64_t *compared)
{
    int64_t partitions = join->partitions, *came = join->came, *resident = join->resident;
    memset(came, 0, 2 * partitions * sizeof *came);
    int64_t results = count_side(join, 0, lefts, n_lefts, kept, groups, tick);
    results += count_side(join, 1, rights, n_rights, kept, groups, tick);
    *compared = 0;
    for (int64_t p = 0, q = partitions; p < partitions; p++, q++) {
        int64_t pairs = came[p] * resident[q] + came[q] * (resident[p] + came[p]);
        *compared += pairs;
        join->compared[p] += (double)pairs;
        join->selectivity[p] = (join->matched[p] + 1) / (join->compared[p] + 1);
    }
    for (int64_t at = 0; at < 2 * partitions; at++) {
        int64_t other = at < partitions ? at + partitions : at - partitions;
        join->arrived[at] += came[at];
        join->unmet_with_disk[at] += (double)(came[at] * join->spilled[other]);
        *(kept[at] ? resident + at : join->forgotten + at) += came[at];
        join->resident_bytes[at] = resident[at] * join->row_bytes;
    }
    return results;
}

/* Rows in memory of this side and partition meet the disk of the other; how many results that gives. */
EXPORT int64_t count_meeting_disk(const Counted *join, int64_t side, int64_t p)
{
    int64_t first = (side * join->partitions + p) * join->keys, results = 0;
    int64_t other = ((1 - side) * join->partitions + p) * join->keys - first;
    for (int64_t i = first; i < first + join->keys; i++) {
        int64_t came = join->memory[i] + join->on_disk[i];
        results += join->unmet_matches[i] + (came - join->settled[i]) * join->on_disk[i + other];
        join->unmet_matches[i] = join->unmet_pairs[i] = 0;
        join->seen[i] = join->memory[i];
        join->settled[i] = came;
    }
    return results;
}

/* Before rows leave a partition: what has come since the last time has not met what is on disk now. */
static void settle(const Counted *join, int64_t p)
{
    int64_t n_places = join->partitions * join->keys, first = p * join->keys;
    int64_t spilled[2] = {0, 0};
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < join->keys; i++)
            spilled[side] += join->on_disk[side * n_places + first + i];
    for (int side = 0; side < 2; side++) {
        int64_t mine = side ? n_places + first : first, other = side ? first : n_places + first;
        for (int64_t i = 0; i < join->keys; i++, mine++, other++) {
            int64_t came = join->memory[mine] + join->on_disk[mine], new = came - join->settled[mine];
            join->unmet_matches[mine] += new * join->on_disk[other];
            join->unmet_pairs[mine] += new * spilled[1 - side];
            join->settled[mine] = came;
        }
    }
}

/* The first rows of a place leave, group by group: what they have not met on disk since they came. */
static void leave_by_age(const Counted *join, Group *groups, int64_t place, int64_t rows, int64_t *unmet_pairs,
                         int64_t *unmet_matches)
{
    int64_t met_disk = join->met_disk[place / join->keys];
    *unmet_pairs = *unmet_matches = 0;
    while (rows > 0) {
        int64_t first = join->first_group[place];
        Group *group = groups + first;
        rows -= group->rows;
        if (group->tick > met_disk) {
            *unmet_pairs += group->rows * group->unmet_pairs;
            *unmet_matches += group->rows * group->unmet_matches;
        }
        if (!(join->first_group[place] = group->next))
            join->last_group[place] = 0;
        group->next = groups->next;
        groups->next = first;
    }
}

/* Rows of this side and partition have left memory as a run, and what they had not met there is open on disk now. */
static void note_run(const Counted *join, int64_t at, int64_t rows, int64_t unmet_pairs)
{
    int64_t p = at % join->partitions, q = p + join->partitions;
    double *with_disk = join->unmet_with_disk, *on_disk = join->unmet_on_disk + p;
    join->resident[at] -= rows, join->resident_bytes[at] -= rows * join->row_bytes;
    join->spilled[at] += rows, join->spilled_bytes[at] += rows * join->disk_row_bytes, join->spilled_runs[at]++;
    if (with_disk[p] + with_disk[q] + *on_disk == 0)
        join->whole_rows[p] = join->arrived[p] + join->arrived[q];
    double carried = (double)unmet_pairs < with_disk[at] ? (double)unmet_pairs : with_disk[at];
    with_disk[at] -= carried;
    *on_disk += carried;
    double most = (double)join->spilled[p] * (double)join->spilled[q];
    if (*on_disk > most)
        *on_disk = most;
}

/* So many rows of each key of some sides and partitions leave memory. In `left`, five rows of so many columns, is told
   of each key: its number, how many leave, how many of these have not been seen on disk, how many have left with them,
   and how many of the other side have come. And of each side and partition how many keys and how many rows. */
EXPORT int64_t count_leaving(const Counted *join, const int64_t *places, int64_t n_places, const int64_t *leaving,
                             Group *groups, int64_t *left, int64_t columns, int64_t *totals)
{
    int64_t half = join->partitions * join->keys, n = 0;
    for (int64_t i = 0; i < n_places; i++)
        settle(join, places[i] % join->partitions); /* once more changes nothing: nothing has left yet */
    for (int64_t i = 0; i < n_places; i++, totals += 2) {
        int64_t before = n, all_rows = 0, all_pairs = 0;
        for (int64_t key = 0; key < join->keys; key++) {
            int64_t rows = *leaving++, at = places[i] * join->keys + key;
            if (!rows)
                continue;
            int64_t other = at < half ? at + half : at - half, are_all = rows == join->memory[at];
            int64_t pairs = join->unmet_pairs[at], matches = join->unmet_matches[at];
            if (join->first_group) {
                int64_t of_age[2];
                leave_by_age(join, groups, at, rows, of_age, of_age + 1);
                if (!are_all)
                    pairs = of_age[0], matches = of_age[1];
            }
            if (are_all && join->joined)
                join->joined[at] = 0;
            int64_t seen = rows < join->seen[at] ? rows : join->seen[at];
            join->on_disk[at] += rows;
            join->memory[at] -= rows;
            join->seen[at] -= seen;
            join->unmet_matches[at] -= matches;
            join->unmet_pairs[at] -= pairs;
            int64_t told[] = {key, rows, rows - seen, join->on_disk[at], join->on_disk[other] + join->memory[other]};
            for (int k = 0; k < 5; k++)
                left[k * columns + n] = told[k];
            all_rows += rows, all_pairs += pairs, n++;
        }
        if (all_rows)
            note_run(join, places[i], all_rows, all_pairs);
        totals[0] = n - before, totals[1] = all_rows;
    }
    return n;
}

/* How many rows leave if so many are wanted of a place, the first to come: all that came with the last of them do. */
EXPORT int64_t count_oldest(const Counted *join, const Group *groups, int64_t place, int64_t wanted)
{
    int64_t rows = 0;
    for (int64_t group = join->first_group[place]; group; group = groups[group].next)
        if ((rows += groups[group].rows) >= wanted)
            break;
    return rows;
}

/* So many rows leave some sides and partitions, from the lowest key up or from the highest down: how many of each key.
   Of the last key the oldest leave, where ages are noted, and what is left of it has joined nothing yet. */
EXPORT void count_in_order(const Counted *join, const Group *groups, const int64_t *places, const int64_t *wanted,
                           const uint8_t *downwards, int64_t n_places, int64_t *leaving)
{
    int64_t keys = join->keys;
    memset(leaving, 0, n_places * keys * sizeof *leaving);
    for (int64_t i = 0; i < n_places; i++, leaving += keys) {
        int64_t first = places[i] * keys, in_memory = join->resident[places[i]], still_wanted = wanted[i];
        for (int64_t k = 0; k < keys; k++) {
            int64_t key = downwards[i] ? keys - 1 - k : k, rows = join->memory[first + key];
            leaving[key] = rows;
            if (still_wanted <= rows && still_wanted < in_memory) {
                if (join->first_group)
                    leaving[key] = count_oldest(join, groups, first + key, still_wanted);
                if (join->first_group && join->joined)
                    join->joined[first + key] = 0;
                break;
            }
            still_wanted -= rows, in_memory -= rows;
        }
    }
}

/* How many rows in memory have a key below the middle region of their side and partition, in it, and above it. */
EXPORT void count_regions(const Counted *join, int64_t *rows)
{
    for (int64_t at = 0; at < 2 * join->partitions; at++, rows += 3) {
        const uint64_t *codes = join->codes + at % join->partitions * join->keys, *bounds = join->bounds + 2 * at;
        const int64_t *memory = join->memory + at * join->keys;
        rows[0] = rows[1] = rows[2] = 0;
        for (int64_t key = 0; key < join->keys; key++)
            rows[codes[key] < bounds[0] ? 0 : codes[key] > bounds[1] ? 2 : 1] += memory[key];
    }
}
