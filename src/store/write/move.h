#pragma once

/*
 * move - complete what a killed process left of a run's move
 *
 *      struct move m;
 *
 *      move_begin(&m, root, id);
 *      ...change meta.yaml, and move the folder to another experiment
 *      move_end(&m);
 *
 * Two files cannot change in one step, so a mark in ROOT/.gtrack.trash/moves
 * tells which run is being moved; it is locked as long as its process lives.
 * move_finish() lets the meta.yaml of each run with a mark that is not locked
 * name the experiment that the run is in, and removes the mark.  All of these
 * do what they can: without a mark, gtrack fsck --repair corrects meta.yaml.
 */
struct move {
    char *mark;
    int fd;
};

void move_begin(struct move *, const char *root, const char *id);
void move_end(struct move *);
void move_finish(const char *root);
