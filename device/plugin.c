/* Plugins: found, checked, loaded once. */
#include "device/plugin.h"

#include "base/system/self.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef YPI_LIBDIR
#define YPI_LIBDIR ""
#endif

enum { LEVELS = 5, PLUGINS_MAX = 16, NAME_MAX_ = 64 };

/* Loaded ones stay: what they have registered with a driver cannot be taken back. */
static struct {
    pthread_mutex_t lock;
    struct loaded {
        char name[NAME_MAX_];
        const struct yp_plugin *plugin;
        bool open;
    } loaded[PLUGINS_MAX];
    int count;
    struct yp_device *device;                             /* NULL: none is open */
} now = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP}; /* one may ask for another's table */

/* -- finding --------------------------------------------------------------------------------- */

/* Code of another user's would run as this one. */
static bool may_be_loaded(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           (file.st_uid == 0 || file.st_uid == geteuid()) && (file.st_mode & S_IWOTH) == 0;
}

static bool is_in(const char *directory, int length, const char *name, char out[PATH_MAX])
{
    int size = snprintf(out, PATH_MAX, "%.*s/libyieldpoint-%s.so", length, directory, name);
    return length > 0 && size > 0 && size < PATH_MAX && may_be_loaded(out);
}

static bool is_in_list(const char *list, const char *name, char out[PATH_MAX])
{
    while (*list != '\0') {
        int length = (int)strcspn(list, ":");
        if (is_in(list, length, name, out))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

static bool is_above(char *directory, const char *name, char out[PATH_MAX])
{
    for (int i = 0; i < LEVELS && directory[0] != '\0'; i++) {
        if (is_in(directory, (int)strlen(directory), name, out))
            return true;
        char *slash = strrchr(directory, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    return false;
}

bool ypi_plugin_find(const char *name, char out[PATH_MAX])
{
    const char *list = getenv("YIELDPOINT_PLUGINS");
    if (list != NULL) {
        if (is_in_list(list, name, out))
            return true;
        yp_set_error(YP_UNSUPPORTED,
                     "no plugin libyieldpoint-%s.so in the directories of YIELDPOINT_PLUGINS",
                     name);
        return false;
    }
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", ypi_self_path());
    char *slash = strrchr(program, '/');
    if (slash != NULL)
        *slash = '\0';
    if (is_above(program, name, out) || is_in(YPI_LIBDIR, (int)strlen(YPI_LIBDIR), name, out))
        return true;
    yp_set_error(YP_UNSUPPORTED,
                 "no plugin libyieldpoint-%s.so near the program: not built (-Dcuda), or name its "
                 "directory in YIELDPOINT_PLUGINS",
                 name);
    return false;
}

/* -- loading --------------------------------------------------------------------------------- */

static void *native_stream(struct yp_device *device)
{
    return yp_stream_native(yp_device_stream(device));
}

static const struct yp_plugin_host host = {
    .abi = YP_PLUGIN_ABI,
    .set_error = yp_set_error,
    .last_error = yp_last_error,
    .cpu = yp_device_cpu,
    .alloc = yp_device_alloc,
    .free = yp_device_free,
    .memory_kind = yp_device_memory_kind,
    .stream = native_stream,
    .alloc_pinned = yp_device_alloc_pinned,
    .free_pinned = yp_device_free_pinned,
    .copy = yp_device_copy,
    .synchronize = yp_device_synchronize,
    .default_stream = yp_device_stream,
    .stream_create = yp_stream_create,
    .stream_destroy = yp_stream_destroy,
    .stream_native = yp_stream_native,
    .stream_wait = yp_stream_wait,
    .stream_copy = yp_stream_copy,
    .stream_synchronize = yp_stream_synchronize,
    .event_create = yp_event_create,
    .event_destroy = yp_event_destroy,
    .event_record = yp_event_record,
    .event_synchronize = yp_event_synchronize,
    .event_seconds = yp_event_seconds,
};

static const struct yp_plugin *check(const struct yp_plugin *p, const char *name, const char *path)
{
    if (p != NULL && p->abi == YP_PLUGIN_ABI && strcmp(p->name, name) == 0)
        return p;
    yp_set_error(YP_INVALID, "plugin %s is of another version than this program, or is not '%s'",
                 path, name);
    return NULL;
}

static const struct yp_plugin *load(const char *name)
{
    char path[PATH_MAX];
    if (!ypi_plugin_find(name, path))
        return NULL;
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        yp_set_error(YP_UNSUPPORTED, "plugin %s cannot be loaded: %s", path, dlerror());
        return NULL;
    }
    yp_plugin_open_function *open = NULL;
    void *symbol = dlsym(object, "yp_plugin_open");
    memcpy(&open, &symbol, sizeof open); /* C has no conversion from one to the other */
    if (open == NULL) {
        yp_set_error(YP_INVALID, "plugin %s exports no yp_plugin_open()", path);
        dlclose(object);
        return NULL;
    }
    return check(open(&host), name, path);
}

static struct loaded *find_loaded(const char *name)
{
    for (int i = 0; i < now.count; i++)
        if (strcmp(now.loaded[i].name, name) == 0)
            return &now.loaded[i];
    if (now.count == PLUGINS_MAX) {
        yp_set_error(YP_UNSUPPORTED, "plugin '%s' is one too many: at most %d", name, PLUGINS_MAX);
        return NULL;
    }
    const struct yp_plugin *plugin = load(name);
    if (plugin == NULL)
        return NULL;
    struct loaded *entry = &now.loaded[now.count++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->plugin = plugin;
    return entry;
}

/* -- opening --------------------------------------------------------------------------------- */

static enum yp_status open_loaded(struct loaded *entry)
{
    if (entry->open || now.device == NULL)
        return YP_OK;
    enum yp_status status = entry->plugin->open != NULL ? entry->plugin->open(now.device) : YP_OK;
    entry->open = status == YP_OK;
    return status;
}

enum yp_status ypi_plugins_open(struct yp_device *device)
{
    enum yp_status status = YP_OK;
    pthread_mutex_lock(&now.lock);
    now.device = device;
    for (int i = 0; i < now.count && status == YP_OK; i++)
        status = open_loaded(&now.loaded[i]);
    pthread_mutex_unlock(&now.lock);
    return status;
}

void ypi_plugins_close(void)
{
    pthread_mutex_lock(&now.lock);
    for (int i = now.count - 1; i >= 0; i--) {
        struct loaded *entry = &now.loaded[i];
        if (entry->open && entry->plugin->close != NULL)
            entry->plugin->close(now.device);
        entry->open = false;
    }
    now.device = NULL;
    pthread_mutex_unlock(&now.lock);
}

const void *yp_plugin_table(const char *name, size_t table_size)
{
    if (name == NULL || name[0] == '\0' || strlen(name) >= NAME_MAX_ || strchr(name, '/') != NULL) {
        yp_set_error(YP_INVALID, "name is '%s': a plugin's has 1 to %d characters and no '/'",
                     name != NULL ? name : "(null)", NAME_MAX_ - 1);
        return NULL;
    }
    pthread_mutex_lock(&now.lock);
    struct loaded *entry = find_loaded(name);
    const struct yp_plugin *plugin =
        entry != NULL && open_loaded(entry) == YP_OK ? entry->plugin : NULL;
    pthread_mutex_unlock(&now.lock);
    if (plugin == NULL)
        return NULL;
    if (plugin->table_size == table_size)
        return plugin->table;
    yp_set_error(YP_INVALID, "plugin '%s' has a table of %zu bytes, this program expects %zu", name,
                 plugin->table_size, table_size);
    return NULL;
}
