#!/bin/sh
# Trainings and sweeps that are killed at any system call, and started again,
# end with the bits of those that were not.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
. "$top/t/lib/commands.sh"
takes_minutes
can_disturb || skip_all "no right to supervise system calls"

make_training_case
campaign_over kill "$(or_long 3)"
done_testing
