# shellcheck shell=bash
# What every script here starts from: the root of the project, where the dependencies are, and how
# a build directory comes to be. Sourced, never run.
#
# YP_PREFIX names a directory that holds dependencies: either one with bin/, lib/, include/ in it,
# or Debian packages unpacked into it (dpkg -x), which begin with usr/. When the C library's headers
# are among those, the compilers see nothing but the directory, and it must hold all the packages
# they depend on, of the release the system itself has.

yp_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# Meson would give every test a random value, and with it another speed and memory.
export MALLOC_PERTURB_=0

yp_say() {
    printf '%s\n' "$*"
}

yp_die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# For arguments that are not allowed.
yp_usage() {
    printf '%s\n' "$*" >&2
    exit 2
}

# prepend VARIABLE DIRECTORY: to a list separated by colons, if there is such a directory.
yp_prepend() {
    [ -d "$2" ] || return 0
    export "$1=$2${!1:+:${!1}}"
}

yp_sysroot=
if [ -n "${YP_PREFIX:-}" ]; then
    YP_PREFIX=$(cd "$YP_PREFIX" 2>/dev/null && pwd -P) || yp_die "YP_PREFIX: no such directory"
    export YP_PREFIX
    if [ -e "$YP_PREFIX/usr/include/stdio.h" ]; then
        yp_sysroot="--sysroot=$YP_PREFIX"
    fi
    # A second script started from the first finds everything set already.
    if [ "${YP_PREFIX_SET:-}" != "$YP_PREFIX" ]; then
        for yp_base in "$YP_PREFIX" "$YP_PREFIX/usr"; do
            yp_prepend PATH "$yp_base/bin"
            yp_prepend PKG_CONFIG_PATH "$yp_base/share/pkgconfig"
            for yp_each in "$yp_base"/lib "$yp_base"/lib64 "$yp_base"/lib/*-linux-gnu \
                "$yp_base"/lib/*-linux-gnu/openblas-openmp; do
                yp_prepend LD_LIBRARY_PATH "$yp_each"
                yp_prepend PKG_CONFIG_PATH "$yp_each/pkgconfig"
                [ -n "$yp_sysroot" ] || yp_prepend LIBRARY_PATH "$yp_each"
            done
            for yp_each in "$yp_base"/include "$yp_base"/include/*-linux-gnu; do
                [ -n "$yp_sysroot" ] || yp_prepend C_INCLUDE_PATH "$yp_each"
                [ -n "$yp_sysroot" ] || yp_prepend CPLUS_INCLUDE_PATH "$yp_each"
            done
        done
        if [ -d "$YP_PREFIX/usr" ]; then
            # Unpacked packages still say prefix=/usr.
            export PKG_CONFIG_SYSROOT_DIR=$YP_PREFIX
            export PKG_CONFIG_PATH=${PKG_CONFIG_PATH:+$PKG_CONFIG_PATH:}$yp_root/ci/prefix
        fi
        export YP_PREFIX_SET=$YP_PREFIX
    fi
    # The script's first line names an interpreter that is not there.
    if [ -x "$YP_PREFIX/usr/bin/python3" ] && [ -e "$YP_PREFIX/usr/bin/meson" ]; then
        meson() {
            "$YP_PREFIX/usr/bin/python3" "$YP_PREFIX/usr/bin/meson" "$@"
        }
    fi
fi

# shellcheck disable=SC2034 # for the script that sources this
yp_gcc=gcc${yp_sysroot:+ $yp_sysroot} yp_gxx=g++${yp_sysroot:+ $yp_sysroot}
# shellcheck disable=SC2034
yp_clang=clang${yp_sysroot:+ $yp_sysroot} yp_clangxx=clang++${yp_sysroot:+ $yp_sysroot}

# llvm NAME: the tool of the release the project is formatted with, else the one there is.
yp_llvm() {
    command -v "$1-14" || command -v "$1"
}

# yp_configure DIRECTORY CC CXX [meson options]: once, and again only when asked for something else.
# The directory is below build/.
yp_configure() {
    local directory=$yp_root/build/$1 wanted
    # An option whose kind has changed silently has its default in a directory that was set up before.
    wanted=$(printf '%s\n' "$yp_root" "${YP_PREFIX:-}" "${@:2}" && cksum <"$yp_root/meson_options.txt")
    if [ ! -f "$directory/build.ninja" ] ||
        [ "$(cat "$directory/configured" 2>/dev/null)" != "$wanted" ]; then
        rm -rf "$directory"
        CC=$2 CXX=$3 meson setup "$directory" "$yp_root" "${@:4}" || return 1
        printf '%s\n' "$wanted" >"$directory/configured"
    fi
    # What meson knows of the targets has to be that of the files as they are.
    ninja -C "$directory" build.ninja
}

# yp_compile DIRECTORY [targets]: all, or these alone. A compiler that does not end fails the build.
yp_compile() {
    local code=0
    timeout --foreground 1800 ninja -C "$yp_root/build/$1" -j "$(nproc)" "${@:2}" || code=$?
    [ "$code" -ne 124 ] || yp_say "build/$1: not built within 1800 s; stopped"
    return "$code"
}

# yp_build DIRECTORY CC CXX [meson options]: configures, then compiles what changed.
yp_build() {
    yp_configure "$@" && yp_compile "$1"
}

# yp_selected DIRECTORY [selection as meson test takes it]: the tests, one a line.
yp_selected() {
    meson test -C "$yp_root/build/$1" --no-rebuild --list "${@:2}" 2>/dev/null |
        grep -v '^No .*tests defined' || true
}
