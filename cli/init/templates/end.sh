# -------------------------------------------------------------------------------------------------

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
case "$# ${1:-}" in
"1 install") install_all ;;
"2 restore") restore "$2" ;;
"1 keep") keep ;;
"2 gate") gate "$2" ;;
"1 comment") comment ;;
*)
    echo "usage: ci.sh install | restore NAME | keep | gate BASE | comment" >&2
    exit 4
    ;;
esac
