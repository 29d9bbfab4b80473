/* Shared by the cases that compare with other programs: their image, and how Python is called. */
#pragma once

#include "models/rx/rx.h"

#include <yieldpoint/yieldpoint.h>

/* Slow: minutes, and gigabytes of memory. */
#define PEERS_TAGS "perf large slow"
#define PEERS_TIMEOUT 600
#define PEERS_TILE_PIXELS 4096

/* Ratios to other programs are claims; what becomes slower is noticed by the cases' shares. */
#define PEERS_REQUIRED "what Yieldpoint says of itself beside other programs"

/* The command of one. Without the file, or Python, the case is skipped with the reason. */
#define PEER(script_, arguments_) \
    "peer=suites/perf/peers/" script_ ".py; python=${{YIELDPOINT_PYTHON:-python3}; " \
    "if ! [ -f $peer ]; then echo '{{\"skip\": \"no " script_ ".py below this directory\"}'; " \
    "elif ! command -v \"$python\" >/dev/null; then echo '{{\"skip\": \"no Python\"}'; " \
    "else exec \"$python\" $peer " arguments_ "; fi"

/* Times in medians of one run; `of_` and `to_` are whole ids. */
#define PEERS_FASTER(name_, what_, of_, to_, least_) \
    YP_RELATION(peers, name_, .tags = PEERS_TAGS, \
                .budgets = YP_BUDGETS(yp_required(yp_min_value("ratio", least_), PEERS_REQUIRED)), \
                .relation = yp_ratio(of_, to_, what_))
/* A value of both, to `off_` relative. */
#define PEERS_AGREES(name_, what_, of_, to_, off_) \
    YP_RELATION(peers, name_, .tags = PEERS_TAGS, \
                .budgets = YP_BUDGETS(yp_min_value("ratio", 1 - (off_)), \
                                      yp_max_value("ratio", 1 + (off_))), \
                .relation = yp_value_ratio(of_, to_, what_))
#define PEERS_SAME_IMAGE(name_, of_, to_) \
    YP_RELATION(peers, name_, .tags = PEERS_TAGS, .relation = yp_same_hash(of_, to_))

/* An image in the case's memory, in tiles of PEERS_TILE_PIXELS. Values are 1 / 65536 times a whole
 * number from 0 to 65,535. */
struct peers_image {
    struct rx_source source; /* `arg` is this structure */
    size_t side, pixels;
    float *values;
    uint8_t *labels;
};

/* By the case's axes "side" and "channels", and its seed; sets the data hash. The bits are those of
 * peers/common.py. The structure must not move. */
void peers_image_open(struct peers_image *image, struct yp_case *t);

/* From -0.5 to 0.5, by place; the bits are those of peers/common.py. */
float peers_uniform(uint64_t seed, uint64_t index);

/* Many values as one: three times their norm, and their sum with signs that depend on the place. A
 * value that is off, elsewhere or of the other sign shows by as much as it is of the norm. */
double peers_digest(const double *values, size_t count);
double peers_digest_f32(struct yp_case *t, const float *values, size_t count);
