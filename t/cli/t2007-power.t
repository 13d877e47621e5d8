#!/bin/sh
# What a command announced is on the disk when the power fails, and a clock that
# jumps changes no result.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
can_disturb || skip_all "no right to supervise system calls"
perl -e 1 2>/dev/null || skip_all "no perl"

make_shards_case
campaign_over power "$(or_long 4)"
make_edits_case
campaign_over power "$(or_long 4)"
thin=4
campaign_over later "$(or_long 1)"
campaign_over earlier "$(or_long 1)"
thin=1
make_results_case
# what the command of an alert writes is its own affair
all=$commands
commands=$(echo "$commands" | sed "s/'echo told >>told'/true/")
campaign_over power "$(or_long 2)"
commands=$all
# those do not read the clock
commands=$(echo "$commands" | grep -v GT_CLOCK_MS)
campaign_over later "$(or_long 1)"
campaign_over earlier "$(or_long 1)"
done_testing
