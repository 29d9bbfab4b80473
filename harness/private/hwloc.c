/* hwloc asks udev for the vendors of disks, which the library never reads: a static hwloc finds no
 * udev here, as on a system without it, and programs need no library for it. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

struct udev;
struct udev_device;
struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                           const char *name);
const char *udev_device_get_property_value(struct udev_device *device, const char *key);
struct udev_device *udev_device_unref(struct udev_device *device);

struct udev *udev_new(void)
{
    return NULL;
}

struct udev *udev_unref(struct udev *udev)
{
    (void)udev;
    return NULL;
}

struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                           const char *name)
{
    (void)udev, (void)subsystem, (void)name;
    return NULL;
}

const char *udev_device_get_property_value(struct udev_device *device, const char *key)
{
    (void)device, (void)key;
    return NULL;
}

struct udev_device *udev_device_unref(struct udev_device *device)
{
    (void)device;
    return NULL;
}

/* Static libraries are compiled for programs: they address these variables of the C library as only
 * a program can. merge.py gives them these names, so that they can be a part of a shared library
 * too. */
extern __attribute__((visibility("hidden"))) FILE *private_stdout, *private_stderr;
extern __attribute__((visibility("hidden"))) char *private_program_invocation_name;
FILE *private_stdout, *private_stderr;
char *private_program_invocation_name;

__attribute__((constructor(101))) static void name_variables(void)
{
    private_stdout = stdout;
    private_stderr = stderr;
    private_program_invocation_name = program_invocation_name;
}
