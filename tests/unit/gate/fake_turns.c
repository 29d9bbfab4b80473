/* A suite of one measurement that takes turns and reports what its caches and a machine that slows
 * down would make of them: the head takes RATIO times what the base does, each turn 1 % more than
 * the one before, and one that follows another of its own 0.7 of that. In its directory file
 * `order` gets a letter a turn, `b` or `h`.
 *
 * With --busy RATIO, two of three pairs meet a busy machine, where all is 1.3 times slower and the
 * head takes that many times what the base does.
 *
 * With --alone RATIO, the head alone takes that many times as long in two of three pairs.
 *
 * usage: fake-turns ... --turns .../base.sock or .../head.sock --ratio RATIO [--busy RATIO]
 *        [--alone RATIO] */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The process has had `before` turns. */
static double seconds_of_turn(char own, double ratio, int before)
{
    FILE *order = fopen("order", "a+");
    if (order == NULL || fseek(order, 0, SEEK_END) != 0)
        exit(1);
    long turns = ftell(order); /* of all pairs */
    int last = turns > 0 && fseek(order, -1, SEEK_END) == 0 ? fgetc(order) : EOF;
    fseek(order, 0, SEEK_END);
    fputc(own, order);
    fclose(order);
    double drift = exp(0.01 * (2 * before + (int)(turns % 2)));
    return 1e-3 * (own == 'h' ? ratio : 1) * drift * (last == own ? 0.7 : 1);
}

/* Which of the pairs this process belongs to: each side leaves a letter when it starts. */
static long pair_of(void)
{
    FILE *starts = fopen("starts", "a+");
    if (starts == NULL || fputc('s', starts) == EOF || fseek(starts, 0, SEEK_END) != 0)
        exit(1);
    long before = ftell(starts) - 1;
    fclose(starts);
    return before / 2;
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[64];
    const char *path = "";
    double ratio = 1;
    double busy = 0;
    double alone = 0;
    int turns = 0;
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--turns") == 0)
            path = argv[i + 1];
        else if (strcmp(argv[i], "--ratio") == 0)
            ratio = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--busy") == 0)
            busy = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--alone") == 0)
            alone = strtod(argv[i + 1], NULL);
    bool is_busy = busy > 0 && pair_of() % 3 != 0;
    if (alone > 0 && pair_of() % 3 != 0)
        ratio *= alone;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        return 1;
    FILE *in = fdopen(fd, "r");
    FILE *out = fdopen(dup(fd), "w");
    if (in == NULL || out == NULL)
        return 1;
    fputs("turns 1\nmeasurement work\n", out);
    fflush(out);
    while (fgets(line, sizeof line, in) != NULL && strncmp(line, "run ", 4) == 0) {
        double iterations = strtod(line + 4, NULL);
        double seconds = seconds_of_turn(strstr(path, "/head.sock") != NULL ? 'h' : 'b',
                                         is_busy ? busy : ratio, turns++);
        seconds *= is_busy ? 1.3 : 1;
        fprintf(out, "took %.17g %.0f\n", seconds * iterations, iterations);
        fflush(out);
    }
    return 0;
}
