/* rows.js makes the rows of the table of runs. */
import { baseline_button } from "./chosen.js";
import { button, element, number_style } from "./dom.js";
import { address, change, state, toggled } from "./state.js";
import { count_text, duration_text, is_numeric, number_text } from "./text.js";

/* The status of a run that has not finished, and its progress or reason. */
function status_parts(row) {
    const status = (row.status ?? "").toLowerCase();
    const parts = [` ${status}`];

    if (status === "finished" || !status)
        return [];
    if (row.progress !== null && row.progress !== undefined) {
        parts.push(" ", element("progress", { max: "1", value: row.progress,
            "aria-label": `progress of ${row.name}` }),
        ` ${Math.round(100 * row.progress)} %`);
        if (row.eta_ms)
            parts.push(`, ${duration_text(row.eta_ms)} left`);
    }
    return [element("span", { class: `status ${status}` }, parts)];
}

/* A number with as many digits as the texts of its column. */
function column_text(v, { tail }, text) {
    return tail && !/e/.test(text) ? v.toFixed(tail)
        : number_text(Number(v.toPrecision(4)));
}

/* The difference between a metric and its value in the baseline. */
function difference(column, cell, base) {
    if (!base || base === cell || typeof base.value !== "number" ||
        typeof cell.value !== "number")
        return "";
    const d = cell.value - base.value;

    return (d < 0 ? "−" : "+") + column_text(Math.abs(d), column, cell.text);
}

function value_cell(column, cell, base) {
    const classes = [is_numeric(cell) ? "number" : "",
        cell.best ? "best" : ""].filter((c) => c).join(" ");

    return element("td", { class: classes || null, title: cell.best
        ? `${cell.text} (best)` : cell.text,
    style: number_style(cell.text, column.tail) }, cell.text,
    column.kind === "metric" && (state.baseline || state.group)
        ? element("span", { class: "difference" },
            difference(column, cell, base)) : null);
}

let last_box = ""; /* the run whose box was clicked last */

/* The runs of the table from the last box to this one. */
function range_to(id, all) {
    const places = [last_box, id].map((one) =>
        all.findIndex((r) => r.id === one)).sort((a, b) => a - b);

    return places[0] < 0 ? [id]
        : all.slice(places[0], places[1] + 1).map((r) => r.id);
}

/* A box that selects some rows; with Shift, all rows of the table from the box
 * before to this one. */
export function select_box(rows, name, all) {
    const runs = rows.map((r) => r.id);
    const box = element("input", { type: "checkbox",
        "aria-label": `select ${name}`, dataset: { focus:
            `select-${all ? runs[0] : name}` },
        onclick: (e) => {
            const ids = all && e.shiftKey ? range_to(runs[0], all) : runs;

            last_box = runs[0];
            change({ runs: box.checked
                ? [...new Set([...state.runs, ...ids])]
                : state.runs.filter((id) => !ids.includes(id)) });
        } });

    box.checked = runs.every((id) => state.runs.includes(id));
    return box;
}

function row_buttons(row) {
    const is_hidden = state.hidden.includes(row.id);

    return element("span", { class: "row-buttons" },
        button(is_hidden ? "○" : "●", is_hidden ? "Show in charts"
            : "Hide in charts", () =>
            change({ hidden: toggled(state.hidden, row.id) }),
        { "aria-label": `hide ${row.name}`, "aria-pressed": `${is_hidden}`,
            dataset: { focus: `hide-${row.id}` } }), baseline_button(row));
}

/* The name, the status, and for a narrow screen the value of a column. */
function name_cell(row, all, column) {
    const value = column ? row.cells[column.index].text : "";

    return element("th", { scope: "row" }, select_box([row], row.name, all),
        row_buttons(row), element("span", { class: "who" }, element("a", {
            href: address({ view: "run", id: row.id }), title: row.name,
            dataset: { focus: `open-${row.id}` } },
        row.name || row.id.slice(0, 8)),
        element("span", { class: "main-value" }, value), status_parts(row)));
}

/* One row; base is the row of the baseline, or nothing, and all are the rows of
 * the table. */
export function run_row(row, index, columns, base, all) {
    return element("tr", { "aria-rowindex": index + 2, class:
        [state.baseline === row.id ? "baseline" : "",
            state.runs.includes(row.id) ? "selected" : ""].join(" ").trim() ||
        null },
    name_cell(row, all, columns.find((c) => c.is_main)),
    columns.map((c) => value_cell(c, row.cells[c.index],
        base?.cells[c.index])));
}

export function numbers_of(rows, column) {
    return rows.map((r) => r.cells[column.index].value)
        .filter((v) => typeof v === "number");
}

export function mean_of(values) {
    return values.reduce((a, b) => a + b, 0) / values.length;
}

/* The mean of a column's numbers and their standard deviation. */
function spread_nodes(values, column, text) {
    const n = values.length, mean = mean_of(values);
    const square = values.reduce((a, v) => a + (v - mean) ** 2, 0);

    return [column_text(mean, column, text), element("span",
        { class: "difference" }, n < 2 ? "" : ` ± ${column_text(Math.sqrt(
            square / (n - 1)), column, text)}`)];
}

/* The row above the rows of a group, which folds them: how many, and the means
 * of metrics. */
export function group_row(rows, index, columns) {
    const { group } = rows[0], key = `group ${group}`;
    const is_folded = state.closed.includes(key);
    const mean = (c) => {
        const values = numbers_of(rows, c);

        return c.kind === "metric" && values.length
            ? spread_nodes(values, c, rows[0].cells[c.index].text) : "";
    };

    return element("tr", { class: "group-row", "aria-rowindex": index + 2 },
        element("th", { scope: "row" }, select_box(rows, key),
            button(is_folded ? "▸" : "▾", "Fold or open this group", () =>
                change({ closed: toggled(state.closed, key) }), {
                "aria-label": `fold ${key}`, class: "small", "aria-expanded":
                    String(!is_folded), dataset: { focus: `fold-${key}` } }),
            ` ${group} `,
        element("span", { class: "count" }, count_text(rows.length, "run",
            "runs"))),
        columns.map((c) => element("td", { class: "number" }, mean(c))));
}
