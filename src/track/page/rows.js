/* rows.js makes the rows of the table of runs. */
import { button, element } from "./dom.js";
import { duration_text, number_text } from "./text.js";
import { address, change, state, toggled } from "./state.js";

/* The runs that a row stands for: one, or those of a group. */
export function runs_of(row) {
    return row.runs ?? [row.id];
}

function status_cell(row) {
    const parts = [row.status ?? ""];

    if (row.progress !== null && row.progress !== undefined) {
        parts.push(" ", element("progress", { max: "1", value: row.progress,
            "aria-label": `progress of ${row.name}` }),
        ` ${Math.round(100 * row.progress)} %`);
        if (row.eta_ms)
            parts.push(`, ${duration_text(row.eta_ms)} left`);
    }
    return element("span", { class: `status ${row.status ?? ""}` }, parts);
}

/* How far a metric is from its value in the baseline. */
function difference(column, cell, base) {
    if (column.kind !== "metric" || !base || base === cell ||
        typeof base.value !== "number" || typeof cell.value !== "number")
        return null;
    const d = cell.value - base.value;

    return element("span", { class: "difference" },
        ` ${d < 0 ? "−" : "+"}${number_text(Number(Math.abs(d)
            .toPrecision(3)))}`);
}

function value_cell(column, cell, base, row) {
    const classes = [typeof cell.value === "number" ? "number" : "",
        cell.best ? "best" : ""].filter((c) => c).join(" ");

    if (column.name === "status")
        return element("td", {}, status_cell(row));
    return element("td", { class: classes || null, title: cell.best
        ? `${cell.text} (best)` : cell.text },
    cell.text, difference(column, cell, base));
}

function select_box(row) {
    const runs = runs_of(row), box = element("input", { type: "checkbox",
        "aria-label": `select ${row.name}`, dataset: { focus:
            `select-${row.id}` },
        onchange: () => change({ runs: box.checked
            ? [...new Set([...state.runs, ...runs])]
            : state.runs.filter((id) => !runs.includes(id)) }) });

    box.checked = runs.every((id) => state.runs.includes(id));
    return box;
}

function row_buttons(row) {
    const is_base = state.baseline === row.id;
    const is_hidden = state.hidden.includes(row.id);

    return element("span", { class: "row-buttons" },
        button(is_hidden ? "○" : "●", is_hidden ? "Show in charts"
            : "Hide in charts", () =>
            change({ hidden: toggled(state.hidden, row.id) }),
        { "aria-label": `hide ${row.name}`, "aria-pressed": `${is_hidden}`,
            dataset: { focus: `hide-${row.id}` } }),
        button("⚑", is_base ? "No longer the baseline"
            : "Compare others with this run", () =>
            change({ baseline: is_base ? "" : row.id }),
        { "aria-label": `baseline ${row.name}`, "aria-pressed": `${is_base}`,
            dataset: { focus: `base-${row.id}` } }));
}

function name_cell(row) {
    const n = runs_of(row).length;

    return element("th", { scope: "row" }, select_box(row), row_buttons(row),
        element("a", { href: address({ view: "run", id: row.id, part: "" }),
            title: row.name, dataset: { focus: `open-${row.id}` } },
        row.name || row.id.slice(0, 8)), n > 1 ? ` (${n} runs)` : null);
}

/* One row; base is the row of the baseline, or nothing. */
export function run_row(row, index, columns, base) {
    return element("tr", { "aria-rowindex": index + 2, class:
        [state.baseline === row.id ? "baseline" : "",
            runs_of(row).some((id) => state.runs.includes(id)) ? "selected"
                : ""].join(" ").trim() || null },
    name_cell(row), columns.map((c) => value_cell(c, row.cells[c.index],
        base?.cells[c.index], row)));
}
