/* runlist.js is the list of runs beside charts: colours, hide, solo, pin. */
import { alias_of } from "./chosen.js";
import { button, element, keep_focus } from "./dom.js";
import { address, change, state, toggled } from "./state.js";
import { short_names } from "./text.js";

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
