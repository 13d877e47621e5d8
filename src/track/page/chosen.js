/*
 * chosen.js finds out which runs the charts and the comparison show, and lists
 * them beside charts: colours, hide, solo, pin.
 */
import { ask, frozen } from "./api.js";
import { button, element, keep_focus } from "./dom.js";
import { address, change, state, toggled } from "./state.js";
import { count_text, short_names, split_list } from "./text.js";

/* Alone if others are shown; all if this one is alone already. */
function solo(runs, id) {
    const others = runs.map((r) => r.id).filter((other) => other !== id);
    const is_alone = others.every((o) => state.hidden.includes(o)) &&
        !state.hidden.includes(id);

    change({ hidden: is_alone ? [] : others });
}

export function baseline_button({ id, name }) {
    const is_base = state.baseline === id;

    return button("⚑", is_base ? "No longer the baseline"
        : "Compare others with this run", () =>
        change({ baseline: is_base ? "" : id }), { class: "small",
        "aria-label": `baseline ${name}`, "aria-pressed": `${is_base}`,
        dataset: { focus: `base-${id}` } });
}

function item(runs, run, colour, shown) {
    const is_hidden = state.hidden.includes(run.id);
    const name = run.name || run.id.slice(0, 8);

    return element("li", { class: is_hidden ? "hidden-run" : null,
        dataset: { run: run.id } },
        button(element("span", { class: "swatch", style: { background:
            is_hidden ? "transparent" : colour ?? "var(--grey)" } }),
        is_hidden ? "Show this run" : "Hide this run", () =>
            change({ hidden: toggled(state.hidden, run.id) }),
        { "aria-label": `hide ${name}`, "aria-pressed": `${is_hidden}`,
            dataset: { focus: `hide-${run.id}` } }),
        element("a", { href: address({ view: "run", id: run.id }),
            title: name }, shown || name),
        run.status === "RUNNING" ? element("span", { class: "live",
            title: "running" }, "running") : null,
        button("solo", "Show only this run, or all again", () =>
            solo(runs, run.id), { "aria-label": `show only ${name}`,
            class: "small", dataset: { focus: `solo-${run.id}` } }),
        baseline_button(run));
}

/* Emphasise a run of the list, or none. */
export function mark_near(list, run) {
    for (const row of list.children)
        row.classList.toggle("nearest", row.dataset.run === run);
}

/* Fill the list; colour_of_run(run) is a colour or nothing. */
export function fill_run_list(list, runs, colour_of_run) {
    const names = short_names(runs.map((r) => alias_of(r.name)));

    keep_focus(list, () => list.replaceChildren(...runs.map((run, i) =>
        item(runs, run, colour_of_run(run), names[i]))));
}

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
