#!/bin/sh
# The steps of the jobs in @CI@; each can be run by hand, too.
#   sh @FOLDER@/ci.sh install        Yieldpoint and $PACKAGES, on Debian, as root; nothing where Yieldpoint is installed
#   sh @FOLDER@/ci.sh restore NAME   the history that NAME kept, into the one of this checkout
#   sh @FOLDER@/ci.sh keep           the history, as history/history.db, of which the job makes an artifact
#   sh @FOLDER@/ci.sh gate BASE      is this commit worse than BASE? comment.md says so, and the exit code
#   sh @FOLDER@/ci.sh comment        puts comment.md where a reviewer sees it
set -eu

# A line that tells this comment from others.
mark='<!-- yieldpoint gate -->'

install_all() {
    # The checkout may belong to another user than that of the container.
    git config --global --get-all safe.directory 2>/dev/null | grep -qxF "$PWD" ||
        git config --global --add safe.directory "$PWD" 2>/dev/null || true
    # Such a machine also has what the project, and this script, need.
    if command -v yieldpoint >/dev/null; then
        yieldpoint --version
        return
    fi
    apt-get update
    # shellcheck disable=SC2086 # several words
    apt-get install -y --no-install-recommends ca-certificates git ${PACKAGES:-}
    git clone -q --depth 1 --branch "$YIELDPOINT_VERSION" "$YIELDPOINT_SOURCE" "$tmp/yieldpoint"
    "$tmp/yieldpoint/ci/setup" --for build
    meson setup "$tmp/yieldpoint/build" "$tmp/yieldpoint" -Dtests=false -Dsuites=false -Dmodels=disabled \
        --libdir=lib # where Debian's pkg-config looks
    meson install -C "$tmp/yieldpoint/build"
    yieldpoint --version
}

restore() {
    if fetch_history "$1"; then
        mkdir -p .yieldpoint
        yieldpoint history import "$tmp/history.db" --history .yieldpoint/history.db
    else
        echo "no history of $1 yet: this run is the first"
    fi
}

# Only the newest results, so that the artifact stays small.
keep() {
    mkdir -p history
    rm -f history/history.db*
    yieldpoint history import .yieldpoint/history.db --history history/history.db
    yieldpoint history prune --keep-last 50 --history history/history.db
}

gate() {
    git rev-parse -q --verify "$1^{commit}" >/dev/null || {
        echo "ci.sh: no commit $1: was it fetched?" >&2
        return 3
    }
    if ! git cat-file -e "$1:@FOLDER@/suite.c"; then
        echo "$mark The base has no suite yet: nothing to compare with." | tee comment.md
        return
    fi
    code=0
    yieldpoint gate --base "$1" -m "not slow and not gpu" --budget 10m --markdown "$tmp/gate.md" || code=$?
    if [ ! -s "$tmp/gate.md" ]; then
        echo "The gate compared nothing (exit code $code); the log of the job says why." >"$tmp/gate.md"
    fi
    { echo "$mark" && cat "$tmp/gate.md"; } >comment.md
    # Nothing is worse, but for some case the time ended before the answer was certain: no reason to stop a merge.
    [ "$code" -ne 6 ] || code=0
    return "$code"
}

