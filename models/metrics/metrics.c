/* Decisions, and rankings by the scores of the targets. */
#include "models/metrics/internal.h"

#include "base/numbers/sort.h"
#include "device/host.h"

#include <inttypes.h>
#include <math.h>

void metrics_confusion_add(struct metrics_confusion *counts, const float *logits,
                           const uint8_t *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool target = labels[i] != 0;
        if (isnan(logits[i]))
            counts->skipped++;
        else if (logits[i] >= 0)
            *(target ? &counts->true_positives : &counts->false_positives) += 1;
        else
            *(target ? &counts->false_negatives : &counts->true_negatives) += 1;
    }
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

double metrics_precision(const struct metrics_confusion *counts)
{
    return ratio(counts->true_positives, counts->true_positives + counts->false_positives);
}

double metrics_recall(const struct metrics_confusion *counts)
{
    return ratio(counts->true_positives, counts->true_positives + counts->false_negatives);
}

double metrics_f1(const struct metrics_confusion *counts)
{
    uint64_t twice = 2 * counts->true_positives;
    return ratio(twice, twice + counts->false_positives + counts->false_negatives);
}

double metrics_iou(const struct metrics_confusion *counts)
{
    return ratio(counts->true_positives,
                 counts->true_positives + counts->false_positives + counts->false_negatives);
}

/* -- rankings ------------------------------------------------------------------------------- */

struct metrics_ranking {
    struct yp_device *device;
    size_t capacity;
    float *scores; /* (capacity): of targets, ascending when sorted */
    uint64_t
        *from; /* (capacity + 1): background with so many targets' scores at or below its own */
    uint64_t *tied; /* (capacity): background equal to the last target's score at or below it */
    bool sorted;
    uint64_t targets, background, skipped_targets, skipped_background;
};

static void lay_out(struct metrics_ranking *ranking, struct ypi_arena *arena, size_t targets)
{
    *ranking = (struct metrics_ranking){.capacity = targets};
    ranking->scores = ypi_arena_take(arena, targets, sizeof(float));
    ranking->from = ypi_arena_take(arena, targets + 1, sizeof(uint64_t));
    ranking->tied = ypi_arena_take(arena, targets, sizeof(uint64_t));
}

struct metrics_ranking *ypi_metrics_ranking_take(struct ypi_arena *arena, size_t targets)
{
    struct metrics_ranking parts, *ranking = ypi_arena_take(arena, 1, sizeof *ranking);
    lay_out(&parts, arena, targets);
    if (ranking != NULL) {
        *ranking = parts;
        metrics_ranking_reset(ranking);
    }
    return ranking;
}

static enum yp_status check_targets(const char *what, size_t targets)
{
    if (targets == 0 || targets > UINT32_MAX)
        return yp_set_error(YP_INVALID, "%s: targets is %zu, allowed are 1 to %" PRIu32, what,
                            targets, UINT32_MAX);
    return YP_OK;
}

size_t metrics_ranking_bytes(size_t targets)
{
    struct ypi_arena arena = {0};
    if (check_targets("metrics_ranking_bytes", targets) != YP_OK)
        return 0;
    ypi_metrics_ranking_take(&arena, targets);
    return arena.used;
}

struct metrics_ranking *metrics_ranking_create(struct yp_device *device, size_t targets)
{
    if (ypi_check_host("metrics_ranking_create", device) != YP_OK ||
        check_targets("metrics_ranking_create", targets) != YP_OK)
        return NULL;
    struct ypi_arena arena = {.base = yp_device_alloc(device, metrics_ranking_bytes(targets))};
    if (arena.base == NULL)
        return NULL;
    struct metrics_ranking *ranking = ypi_metrics_ranking_take(&arena, targets);
    ranking->device = device;
    return ranking;
}

void metrics_ranking_destroy(struct metrics_ranking *ranking)
{
    if (ranking != NULL)
        yp_device_free(ranking->device, ranking);
}

void metrics_ranking_reset(struct metrics_ranking *ranking)
{
    ranking->sorted = false;
    ranking->targets = ranking->background = 0;
    ranking->skipped_targets = ranking->skipped_background = 0;
}

enum yp_status metrics_ranking_targets(struct metrics_ranking *ranking, const float *scores,
                                       const uint8_t *labels, size_t n)
{
    if (ranking->sorted)
        return yp_set_error(YP_INVALID, "metrics_ranking_targets: the pass over the background has "
                                        "begun; targets are allowed before it");
    for (size_t i = 0; i < n; i++) {
        if (labels[i] == 0)
            continue;
        if (isnan(scores[i])) {
            ranking->skipped_targets++;
            continue;
        }
        if (ranking->targets == ranking->capacity)
            return yp_set_error(
                YP_INVALID, "metrics_ranking_targets: more targets than the %zu there is room for",
                ranking->capacity);
        ranking->scores[ranking->targets++] = scores[i];
    }
    return YP_OK;
}

static void begin_background(struct metrics_ranking *ranking)
{
    if (ranking->sorted)
        return;
    ypi_sort_f32(ranking->scores, (size_t)ranking->targets);
    for (size_t i = 0; i < ranking->targets; i++)
        ranking->from[i] = ranking->tied[i] = 0;
    ranking->from[ranking->targets] = 0;
    ranking->sorted = true;
}

/* How many of n ascending values are at or below x. Without branches on them: which way it goes is
 * as good as random, and a wrong guess of the processor costs more than the step. */
static size_t at_or_below(const float *ascending, size_t n, float x)
{
    size_t low = 0;
    if (n == 0 || x < ascending[0]) /* most background is */
        return 0;
    for (; n > 1; n -= n / 2)
        low += n / 2 * (ascending[low + n / 2 - 1] <= x);
    return low + (ascending[low] <= x);
}

enum yp_status metrics_ranking_background(struct metrics_ranking *ranking, const float *scores,
                                          const uint8_t *labels, size_t n)
{
    begin_background(ranking);
    for (size_t i = 0; i < n; i++) {
        if (labels[i] != 0)
            continue;
        if (isnan(scores[i])) {
            ranking->skipped_background++;
            continue;
        }
        /* Twice the number of pairs must fit 64 bits. */
        if (ranking->targets + ranking->background >= UINT32_MAX)
            return yp_set_error(YP_INVALID,
                                "metrics_ranking_background: allowed are %" PRIu32 " scores",
                                UINT32_MAX);
        size_t low = at_or_below(ranking->scores, (size_t)ranking->targets, scores[i]);
        ranking->from[low]++;
        if (low > 0 && ranking->scores[low - 1] == scores[i])
            ranking->tied[low - 1]++;
        ranking->background++;
    }
    return YP_OK;
}

/* A walk over the groups of equal targets from the highest down. */
struct group {
    size_t first, end;           /* of ranking->scores */
    uint64_t above, false_above; /* targets and background with that score or a higher one */
    uint64_t tied;               /* background with that score */
};

static bool next_group(const struct metrics_ranking *ranking, struct group *group)
{
    if (group->first == 0)
        return false;
    group->end = group->first;
    group->tied = ranking->tied[group->end - 1];
    group->false_above += ranking->from[group->end];
    while (group->first > 0 && ranking->scores[group->first - 1] == ranking->scores[group->end - 1])
        group->first--;
    /* A background score has all of a group at or below it, or none. */
    group->above += group->end - group->first;
    return true;
}

static struct group highest(struct metrics_ranking *ranking)
{
    begin_background(ranking);
    return (struct group){.first = (size_t)ranking->targets};
}

double metrics_ranking_detection(struct metrics_ranking *ranking, double false_alarms,
                                 float *threshold)
{
    double detected = 0;
    if (threshold != NULL)
        *threshold = INFINITY;
    if (ranking->targets == 0 || ranking->background == 0)
        return NAN;
    for (struct group group = highest(ranking); next_group(ranking, &group);) {
        if (!((double)group.false_above / (double)ranking->background <= false_alarms))
            break;
        detected = (double)group.above / (double)ranking->targets;
        if (threshold != NULL)
            *threshold = ranking->scores[group.first];
    }
    return detected;
}

void metrics_ranking_result(struct metrics_ranking *ranking, struct metrics_ranked *out)
{
    *out =
        (struct metrics_ranked){.targets = ranking->targets,
                                .background = ranking->background,
                                .skipped = ranking->skipped_targets + ranking->skipped_background,
                                .average_precision = NAN,
                                .roc_auc = NAN,
                                .detection_1e3 = metrics_ranking_detection(ranking, 1e-3, NULL),
                                .detection_1e4 = metrics_ranking_detection(ranking, 1e-4, NULL)};
    if (ranking->targets == 0)
        return;
    uint64_t twice_above = 0, all = 2 * ranking->targets * ranking->background;
    double sum = 0;
    for (struct group group = highest(ranking); next_group(ranking, &group);) {
        uint64_t here = group.end - group.first;
        sum += (double)here * ratio(group.above, group.above + group.false_above);
        twice_above += here * (2 * (ranking->background - group.false_above) + group.tied);
    }
    out->average_precision = sum / (double)ranking->targets;
    out->roc_auc = ratio(twice_above, all);
}
