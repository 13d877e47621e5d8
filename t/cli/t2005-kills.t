#!/bin/sh
# Commands that are killed at any system call, and typed again, do what they
# would have done, and lose nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"

make_shards_case
campaign_over kill "$(or_long 4)"
make_edits_case
campaign_over kill "$(or_long 2)"
make_push_case && campaign_over kill "$(or_long 3)"
make_results_case
campaign_over kill "$(or_long 1)"
done_testing
