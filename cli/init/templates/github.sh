# -- GitHub: `gh` with GH_TOKEN and GH_REPO -----------------------------------------------------

# Artifacts of the default branch of this repository alone: a pull request may have made others of that name.
fetch_history() {
    branch=$(gh api "repos/$GH_REPO" --jq .default_branch)
    run=$(gh api "repos/$GH_REPO/actions/artifacts?name=$1&per_page=100" --jq "[.artifacts[]
        | select((.expired | not) and .workflow_run.head_branch == \"$branch\"
            and .workflow_run.head_repository_id == .workflow_run.repository_id)][0].workflow_run.id // empty")
    [ -n "$run" ] && gh run download "$run" --name "$1" --dir "$tmp"
}

# The first comment that begins with the mark is replaced; if there is none, a new one is made.
comment() {
    last=$(gh api "repos/$GH_REPO/issues/$NUMBER/comments?per_page=100" \
        --jq "[.[] | select(.body | startswith(\"$mark\"))][0].id // empty")
    if [ -n "$last" ]; then
        gh api --method PATCH "repos/$GH_REPO/issues/comments/$last" --field body=@comment.md >"$tmp/answer"
    else
        gh pr comment "$NUMBER" --body-file comment.md
    fi
}

