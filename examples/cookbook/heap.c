/* Memory of code that calls malloc: what a parser requests for one line, to the byte. */
#include <yieldpoint/yieldpoint.h>

#include <stdlib.h>
#include <string.h>

/* The words of a line, each a copy. The caller frees them and the list. NULL: no memory is left. */
static char **split(const char *line, size_t *count)
{
    char **words = NULL;
    *count = 0;
    for (; *line != '\0'; line += strcspn(line, " "), line += strspn(line, " ")) {
        const size_t length = strcspn(line, " ");
        char **more = realloc(words, (*count + 1) * sizeof *words);
        char *word = more != NULL ? malloc(length + 1) : NULL;
        if (word == NULL) {
            for (size_t i = 0; i < *count; i++)
                free((more != NULL ? more : words)[i]);
            free(more != NULL ? more : words);
            return NULL;
        }
        memcpy(word, line, length);
        word[length] = '\0';
        words = more;
        words[(*count)++] = word;
    }
    return words;
}

YP_TEST(parser, memory, .tags = "stress small", .heap = true,
        .budgets = YP_BUDGETS(yp_max_peak(YP_HEAP, 64), yp_max_allocations(YP_HEAP, 6),
                              yp_max_leak(YP_HEAP, 0)))
{
    size_t count = 0;
    char **words = split("three small words", &count);
    yp_require(t, words != NULL, "no memory is left");
    yp_expect(t, count == 3 && strcmp(words[1], "small") == 0, "%zu words", count);
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
}
