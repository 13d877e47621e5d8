#!/bin/sh
# Trainings that cannot write, open or allocate something, whose power fails or
# whose clock jumps: they say so and lose nothing, or are not affected.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"
perl -e 1 2>/dev/null || skip_all "no perl"

make_training_case
over() {        # over PATTERN HOW...: disturb the commands with this name
    commands=$(echo "$all" | grep "$1")
    shift
    for how in "$@"; do
        campaign_over "$how" "$(or_long 2)"
    done
}
all=$commands
over "one process" ENOSPC EIO full EMFILE memory later earlier
campaign_over power "$(or_long 4)"
over "ranks 2 with" ENOSPC EIO full EMFILE power
over sweep EIO power
done_testing
