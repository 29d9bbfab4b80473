# -- GitLab: its API, with the job's token; to comment, with YIELDPOINT_TOKEN -------------------

# Of the newest pipeline of the default branch that succeeded.
fetch_history() {
    curl --fail --silent --show-error --location --header "JOB-TOKEN: $CI_JOB_TOKEN" --output "$tmp/history.db" \
        "$CI_API_V4_URL/projects/$CI_PROJECT_ID/jobs/artifacts/$CI_DEFAULT_BRANCH/raw/history/history.db?job=$1"
}

# YIELDPOINT_TOKEN: a project access token of the scope `api`, as a masked variable that is not protected.
comment() {
    if [ -z "${YIELDPOINT_TOKEN:-}" ]; then
        echo "no comment: the variable YIELDPOINT_TOKEN is not set"
        return
    fi
    notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
    note=$(curl --fail --silent --show-error --header "PRIVATE-TOKEN: $YIELDPOINT_TOKEN" "$notes?per_page=100" |
        jq -r "[.[] | select(.body | startswith(\"$mark\"))][0].id // empty")
    if [ -n "$note" ]; then
        method=PUT notes=$notes/$note
    else
        method=POST
    fi
    curl --fail --silent --show-error --request "$method" --header "PRIVATE-TOKEN: $YIELDPOINT_TOKEN" \
        --data-urlencode body@comment.md --output "$tmp/answer" "$notes"
}

