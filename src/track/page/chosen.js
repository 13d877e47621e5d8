/* chosen.js finds out which runs the charts and the comparison show. */
import { ask, frozen } from "./api.js";
import { state } from "./state.js";

const usual = 10; /* runs that are shown if none is selected */

/* The selected runs, or the latest ones: rows with id, name and status. */
export async function chosen_runs(signal) {
    const { store, runs } = state;
    const answer = await ask("/api/runs", runs.length
        ? { store, runs, columns: "name,status" }
        : { store, sort: "-started", limit: usual, columns: "name,status" },
    signal);
    const rows = answer.rows;

    if (!runs.length)
        return frozen ? rows : rows.slice(0, usual);
    return runs.map((id) => rows.find((r) => r.id === id)).filter((r) => r);
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
