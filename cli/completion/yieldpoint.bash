# bash completion for `yieldpoint` and for test programs, which say themselves what they take.
#
#   complete -F _yieldpoint_suite my-suite    a test program, by whichever path it is called
#
# zsh: yieldpoint.zsh, which is installed as _yieldpoint, brings it there by bashcompinit.

# The word before the cursor, which colons and equals signs do not end, in `cur`; the one before it in `prev`;
# what readline takes as given already in `given`. (zsh has a `words` of its own, and takes nothing as given.)
_yieldpoint_words() {
    local line=${COMP_LINE:-} before
    if [ -n "$line" ]; then
        line=${line:0:${COMP_POINT:-${#line}}}
    else
        line="${COMP_WORDS[*]:0:COMP_CWORD+1}"
    fi
    cur=${line##*[[:space:]]}
    before=${line%"$cur"}
    before=${before%"${before##*[![:space:]]}"}
    prev=${before##*[[:space:]]}
    given=
    case $cur in
    [\'\"]*) cur=${cur#?} ;;
    *[:=]*) [ -n "${ZSH_VERSION:-}" ] || given=${cur%"${cur##*[:=]}"} ;;
    esac
    # Brackets that the shell has inserted have one before them.
    cur=${cur//\\/}
}

# Offers the lines of its input that begin with the word before the cursor.
_yieldpoint_offer() {
    local line
    while IFS= read -r line; do
        case $line in
        "$cur"*) COMPREPLY+=("${line#"$given"}") ;;
        esac
    done
}

_yieldpoint_program() {
    local program=${COMP_WORDS[0]}
    case $program in
    '~/'*) program=$HOME/${program#'~/'} ;;
    esac
    "$program" "$@" 2>/dev/null </dev/null
}

# "--help" of a test program, a line an option: its name, a blank, and what stands for its value.
_yieldpoint_suite_options() {
    _yieldpoint_program --help | sed -n -E \
        -e 's/^  (-[a-zA-Z]), (--[a-z-]+) ([^ ]+)  .*$/\1 \3\n\2 \3/p; t' \
        -e 's/^  (-[a-zA-Z]), (--[a-z-]+)  .*$/\1\n\2/p; t' \
        -e 's/^  (--?[a-zA-Z-]+) ([^ ]+) .*$/\1 \2/p; t' \
        -e 's/^  (--?[a-zA-Z-]+)  .*$/\1/p'
}

# Files, tests and ids.
_yieldpoint_nodes() {
    _yieldpoint_program --co -q | awk '
        $0 == "" { exit }
        { file = test = $0; sub(/::.*/, "", file); sub(/\[.*/, "", test) }
        !(file in seen) { seen[file]; print file }
        !(test in seen) { seen[test]; print test }
        test != $0 { print }'
}

# Values of one option, whole words: $1 is the option, $2 what stands for its value in the help, $3 is put before.
_yieldpoint_values() {
    case $1 in
    -m) _yieldpoint_program --markers | awk -v before="$3" '{ print before $1 }' ;;
    --deselect) _yieldpoint_nodes | awk -v before="$3" '{ print before $0 }' ;;
    --device) printf "$3%s\n" auto cpu cuda all ;;
    --isa) printf "$3%s\n" baseline avx2 avx512 amx ;;
    --tb) printf "$3%s\n" auto long short line no ;;
    *)
        case $2 in
        FILE | PATH | SOCKET) compgen -f -- "${cur#"$3"}" | awk -v before="$3" '{ print before $0 }' ;;
        *'|'*) printf '%s\n' "$2" | tr '|' '\n' | awk -v before="$3" '/^[a-z]/ { print before $0 }' ;;
        esac
        ;;
    esac
}

_yieldpoint_suite() {
    local cur prev given table value
    COMPREPLY=()
    _yieldpoint_words
    table=$(_yieldpoint_suite_options)
    case $cur in
    --*=*)
        value=$(awk -v option="${cur%%=*}" '$1 == option { print $2 }' <<<"$table")
        _yieldpoint_offer < <(_yieldpoint_values "${cur%%=*}" "$value" "${cur%%=*}=")
        return
        ;;
    -*)
        _yieldpoint_offer < <(awk '{ print $1 }' <<<"$table")
        return
        ;;
    esac
    value=$(awk -v option="$prev" '$1 == option { print $2 }' <<<"$table")
    if [ -n "$value" ]; then
        _yieldpoint_offer < <(_yieldpoint_values "$prev" "$value" "")
    else
        _yieldpoint_offer < <(_yieldpoint_nodes)
    fi
}

_yieldpoint() {
    local cur prev given command=${COMP_WORDS[1]:-} more= option
    COMPREPLY=()
    _yieldpoint_words
    if [ "$COMP_CWORD" -le 1 ]; then
        _yieldpoint_offer < <(_yieldpoint_program --help | awk '/^  yieldpoint / && !seen[$2]++ { print $2 }'
            printf '%s\n' --help --version)
        return
    fi
    case $command:${COMP_WORDS[2]:-} in
    history:import | history:prune | history:export | lm:plan | graph:plan | graph:train) more=${COMP_WORDS[2]} ;;
    esac
    case $cur in
    -*) _yieldpoint_offer < <({
        _yieldpoint_program "$command" ${more:+"$more"} --list-options | sed 's/=$//'
        echo --help
    } | sort -u) ;;
    *)
        case $prev in
        --history | --json | --csv | --markdown | --write | --config | --probe | --output | --load | --dump | --tokens | \
            --input | --target | --graphs | --data | --save | --checkpoint | --log)
            _yieldpoint_offer < <(compgen -f -- "$cur")
            ;;
        *)
            if [ "$COMP_CWORD" -eq 2 ]; then
                case $command in
                history) _yieldpoint_offer < <(printf '%s\n' import prune export) ;;
                lm) _yieldpoint_offer < <(echo plan) ;;
                graph) _yieldpoint_offer < <(printf '%s\n' plan train) ;;
                show) _yieldpoint_offer < <(echo last) ;;
                esac
            fi
            [ "$more" != import ] || _yieldpoint_offer < <(compgen -f -- "$cur")
            ;;
        esac
        ;;
    esac
}

complete -F _yieldpoint yieldpoint
