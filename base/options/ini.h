/* Ini files, with the numbers of their lines, which may be as long as memory allows. A line is
 * `[section]`, `name = value` (or `:`), more of the value before where it is indented, empty, or a
 * comment where it begins with `;` or `#`; a comment behind a value begins with ` ;`, one behind a
 * section with ` #` too. Some programs write U+FEFF in front: it is passed over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum ypi_ini { YPI_INI_OK, YPI_INI_WRONG, YPI_INI_UNREADABLE };

/* Takes one `name = value` of a section ("" before the first), whose name goes up to the last `]`
 * of its line; a value that goes on in indented lines comes whole, joined by blanks. NULL, or what
 * is wrong with it: the caller frees. */
typedef char *ypi_ini_take(void *arg, const char *section, const char *name, const char *value);

/* Reads the whole file, whatever is wrong with it, and prints each error to stderr with its place:
 * "error: PATH:LINE: ...". YPI_INI_UNREADABLE: the system's reason was printed. */
enum ypi_ini ypi_ini_read(const char *path, ypi_ini_take *take, void *arg);

/* The same with the number of the line, and of the beginning of each section, for which name and
 * value are NULL. */
typedef char *ypi_ini_take_line(void *arg, int line, const char *section, const char *name,
                                const char *value);
enum ypi_ini ypi_ini_read_lines(const char *path, ypi_ini_take_line *take, void *arg);
/* The same of a text of `length` bytes that was read already; `path` is for messages. */
enum ypi_ini ypi_ini_read_text(const char *path, const char *text, size_t length,
                               ypi_ini_take_line *take, void *arg);

/* Several programs share a file: a section that is none of `own` is another's, unless its name is
 * empty or nearly one of them and so a slip. */
bool ypi_ini_section_is_anothers(const char *section, const char *const *own, int count);
