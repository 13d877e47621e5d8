#!/bin/sh
# Commands that cannot write, open or allocate something say so and lose
# nothing: the same command does its work when it is typed again.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"

all_faults() {
    campaign_over ENOSPC "$(or_long "$1")"
    campaign_over EIO "$(or_long "$1")"
    campaign_over full "$(or_long "$1")"
    campaign_over EMFILE "$(or_long "$1")"
    # Python itself ends without a word
    commands=$(echo "$commands" | grep -v python)
    campaign_over memory "$(or_long "$1")"
}
thin=4
make_shards_case
all_faults 3
make_edits_case
all_faults 3
make_push_case && all_faults 3
make_results_case
all_faults 2
done_testing
