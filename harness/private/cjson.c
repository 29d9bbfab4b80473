/* cJSON in a library that keeps it to itself. Distributions have no static cJSON that could be a
 * part of it, and a shared one that the program was linked to would give way to the program's own
 * functions of the same names, as when the program tests a cJSON. So it is loaded by its path and
 * bound to itself, and these functions, local to the library, call it. */
#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* What the library calls: result, name, parameters, arguments. */
#define FUNCTIONS(F) \
    F(cJSON *, AddArrayToObject, (cJSON * object, const char *name), (object, name)) \
    F(cJSON *, AddBoolToObject, (cJSON * object, const char *name, cJSON_bool value), \
      (object, name, value)) \
    F(cJSON_bool, AddItemToArray, (cJSON * array, cJSON * item), (array, item)) \
    F(cJSON_bool, AddItemToObject, (cJSON * object, const char *name, cJSON *item), \
      (object, name, item)) \
    F(cJSON *, AddNullToObject, (cJSON * object, const char *name), (object, name)) \
    F(cJSON *, AddNumberToObject, (cJSON * object, const char *name, double value), \
      (object, name, value)) \
    F(cJSON *, AddObjectToObject, (cJSON * object, const char *name), (object, name)) \
    F(cJSON *, AddStringToObject, (cJSON * object, const char *name, const char *value), \
      (object, name, value)) \
    F(cJSON *, AddTrueToObject, (cJSON * object, const char *name), (object, name)) \
    F(cJSON *, CreateArray, (void), ()) \
    F(cJSON *, CreateBool, (cJSON_bool value), (value)) \
    F(cJSON *, CreateNull, (void), ()) \
    F(cJSON *, CreateNumber, (double value), (value)) \
    F(cJSON *, CreateObject, (void), ()) \
    F(cJSON *, CreateString, (const char *value), (value)) \
    F(cJSON *, CreateStringArray, (const char *const *values, int count), (values, count)) \
    F(cJSON *, DetachItemFromArray, (cJSON * array, int index), (array, index)) \
    F(cJSON *, DetachItemFromObjectCaseSensitive, (cJSON * object, const char *name), \
      (object, name)) \
    F(cJSON *, DetachItemViaPointer, (cJSON * parent, cJSON * item), (parent, item)) \
    F(cJSON *, Duplicate, (const cJSON *item, cJSON_bool recurse), (item, recurse)) \
    F(cJSON *, GetArrayItem, (const cJSON *array, int index), (array, index)) \
    F(int, GetArraySize, (const cJSON *array), (array)) \
    F(cJSON *, GetObjectItem, (const cJSON *object, const char *name), (object, name)) \
    F(cJSON *, GetObjectItemCaseSensitive, (const cJSON *object, const char *name), \
      (object, name)) \
    F(char *, GetStringValue, (const cJSON *item), (item)) \
    F(cJSON_bool, HasObjectItem, (const cJSON *object, const char *name), (object, name)) \
    F(cJSON_bool, IsArray, (const cJSON *item), (item)) \
    F(cJSON_bool, IsBool, (const cJSON *item), (item)) \
    F(cJSON_bool, IsNull, (const cJSON *item), (item)) \
    F(cJSON_bool, IsNumber, (const cJSON *item), (item)) \
    F(cJSON_bool, IsObject, (const cJSON *item), (item)) \
    F(cJSON_bool, IsString, (const cJSON *item), (item)) \
    F(cJSON_bool, IsTrue, (const cJSON *item), (item)) \
    F(cJSON *, Parse, (const char *text), (text)) \
    F(cJSON *, ParseWithLength, (const char *text, size_t bytes), (text, bytes)) \
    F(cJSON *, ParseWithOpts, (const char *text, const char **end, cJSON_bool ended), \
      (text, end, ended)) \
    F(char *, Print, (const cJSON *item), (item)) \
    F(char *, PrintUnformatted, (const cJSON *item), (item))

static struct {
#define DECLARE(type, name, parameters, arguments) type(*name) parameters;
    FUNCTIONS(DECLARE)
    void (*Delete)(cJSON *item);
    void (*DeleteItemFromObjectCaseSensitive)(cJSON *object, const char *name);
    void (*free)(void *text);
} loaded;

#define DEFINE(type, name, parameters, arguments) \
    CJSON_PUBLIC(type) cJSON_##name parameters \
    { \
        return loaded.name arguments; \
    }
FUNCTIONS(DEFINE)

CJSON_PUBLIC(void) cJSON_Delete(cJSON *item)
{
    loaded.Delete(item);
}

CJSON_PUBLIC(void) cJSON_DeleteItemFromObjectCaseSensitive(cJSON *object, const char *name)
{
    loaded.DeleteItemFromObjectCaseSensitive(object, name);
}

CJSON_PUBLIC(void) cJSON_free(void *text)
{
    loaded.free(text);
}

/* Without it nothing can be reported: as when a program's library is missing. */
_Noreturn static void missing(void)
{
    fprintf(stderr, "yieldpoint: %s\n", dlerror());
    _Exit(127);
}

static void find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    if (*(void **)function == NULL)
        missing();
}

/* Early, as the loader would: behind a fork() of many threads nothing can be loaded. */
__attribute__((constructor(101))) static void load(void)
{
    /* Sanitizers refuse a library that is bound to itself. */
    int bound = dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace") ? 0 : RTLD_DEEPBIND;
    void *library = dlopen(YPI_CJSON, RTLD_NOW | RTLD_LOCAL |
                                          bound); /* by its path: not one that the program loaded */
    if (library == NULL)
        library = dlopen("libcjson.so.1", RTLD_NOW | RTLD_LOCAL | bound);
    if (library == NULL)
        missing();
#define FIND(type, name, parameters, arguments) find(library, "cJSON_" #name, &loaded.name);
    FUNCTIONS(FIND)
    find(library, "cJSON_Delete", &loaded.Delete);
    find(library, "cJSON_DeleteItemFromObjectCaseSensitive",
         &loaded.DeleteItemFromObjectCaseSensitive);
    find(library, "cJSON_free", &loaded.free);
}
