/* chosen.js finds out which runs the charts and the comparison show. */
import { ask, frozen } from "./api.js";
import { state } from "./state.js";
import { count_text, split_list } from "./text.js";

export const most = 200; /* runs that are shown if none is selected */

/* The parameters by which every request names these runs: their ids if they
 * are selected, else the filter, so that a copied command has it, too. */
function params_of(rows) {
    const { runs, filter, sort } = state;

    return frozen || runs.length ? { runs: rows.map((r) => r.id) }
        : { filter, sort, first: most };
}

/* "20 of 200 runs, which match the filter" */
function set_text(rows, answer) {
    const of_all = rows.length === answer.total || frozen
        ? count_text(rows.length, "run", "runs")
        : `${rows.length} of ${count_text(answer.total, "run", "runs")}`;

    if (state.runs.length)
        return `${of_all}, selected`;
    if (answer.matched > rows.length && !frozen)
        return `${of_all}, the first of the table`;
    return state.filter ? `${of_all}, which match the filter` : of_all;
}

/* The chosen set: the selected runs, else those that match the filter, else
 * all; { rows, params, text }, and each row has an id, a name and a status. */
export async function chosen_runs(signal) {
    const { store, runs, filter, sort } = state;
    const answer = await ask("/api/runs", { store, columns: "name,status",
        ...runs.length ? { only: runs } : { filter, sort, first: most } },
    signal);
    const by_id = new Map(answer.rows.map((r) => [r.id, r]));
    const rows = runs.length ? runs.map((id) => by_id.get(id)).filter((r) => r)
        : answer.rows;

    return { rows, params: params_of(rows), text: set_text(rows, answer) };
}

/* Do other runs become the chosen ones by these changes of the state? */
export function changes_set(changed) {
    return ["runs", "store", "filter", "sort"].some((k) => changed.has(k));
}

/* Of the panels, is it what a run is called, or its colour? */
export function is_alias(panel) {
    return panel.includes("=");
}

/* What a run is called: of the panels "loss,run1=ours", run1 is ours. */
export function alias_of(name) {
    return split_list(state.panels).find((s) => s.startsWith(`${name}=`))
        ?.slice(name.length + 1) ?? name;
}

/* The names of the parameters and metrics that runs of this store have. */
export async function known_names(signal) {
    const answer = await ask("/api/runs", { store: state.store, limit: 1 },
        signal);
    const all = [...answer.columns, ...answer.hidden];
    const of_kind = (kind) => all.filter((c) => c.kind === kind)
        .map((c) => c.spec?.replace(/^(params|metrics)\./, "") ??
            c.name).sort();

    return { params: of_kind("param"), metrics: of_kind("metric") };
}
