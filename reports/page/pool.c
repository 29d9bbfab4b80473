/* Texts that come again and again, written once: a case has their numbers. */
#include "reports/page/escape.h"
#include "reports/page/parts.h"

#include "base/numbers/fnv1a.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, TEXTS_MOST = 50000, LEAST_LENGTH = 3, MOST_LENGTH = 300 };

/* Where it is, or the free place where it would be. */
static size_t place_of(const struct ypi_page_pool *pool, const char *text)
{
    size_t at = (size_t)ypi_fnv1a(YPI_FNV1A_BEGIN, text, strlen(text)) & (pool->room - 1);
    while (pool->texts[at] != NULL && strcmp(pool->texts[at], text) != 0)
        at = (at + 1) & (pool->room - 1);
    return at;
}

static void grow(struct ypi_page_pool *pool)
{
    struct ypi_page_pool old = *pool;
    pool->room = old.room > 0 ? 2 * old.room : FIRST_ROOM;
    pool->texts = ypi_calloc(pool->room, sizeof *pool->texts);
    pool->numbers = ypi_calloc(pool->room, sizeof *pool->numbers);
    for (size_t i = 0; i < old.room; i++) {
        if (old.texts[i] == NULL)
            continue;
        size_t at = place_of(pool, old.texts[i]);
        pool->texts[at] = old.texts[i];
        pool->numbers[at] = old.numbers[i];
    }
    free(old.texts);
    free(old.numbers);
}

void ypi_page_pooled(struct ypi_page_pool *pool, struct ypi_text *out, const char *text)
{
    size_t length = strnlen(text, MOST_LENGTH);
    if (2 * pool->count >= pool->room)
        grow(pool);
    size_t at = place_of(pool, text);
    bool is_there = pool->texts[at] != NULL;
    bool is_fit = length >= LEAST_LENGTH && length < MOST_LENGTH && pool->count < TEXTS_MOST;
    if (!is_there && !is_fit) {
        ypi_page_string(out, text);
        return;
    }
    if (!is_there) {
        if (pool->count == 0)
            ypi_page_open(&pool->json, '[');
        pool->texts[at] = ypi_strdup(text);
        pool->numbers[at] = pool->count++;
        ypi_page_string(&pool->json, text);
    }
    ypi_page_number(out, pool->numbers[at]);
}

void ypi_page_pool_free(struct ypi_page_pool *pool)
{
    for (size_t i = 0; i < pool->room; i++)
        free(pool->texts[i]);
    free(pool->texts);
    free(pool->numbers);
    free(ypi_text_take(&pool->json));
}
