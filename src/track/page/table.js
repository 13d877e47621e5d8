/*
 * table.js is the table of runs, and the list of its columns to choose from.
 * Only the rows in sight are elements of the page, so that ten thousand runs
 * scroll as smoothly as ten.
 */
import { most } from "./chosen.js";
import { button, check, element, field, is_narrow, keep_focus } from "./dom.js";
import { show_dialog } from "./dom.js";
import { group_row, mean_of, numbers_of, run_row, select_box } from "./rows.js";
import { change, state } from "./state.js";
import { is_numeric, split_list, tail_width } from "./text.js";

/* Columns are named by their specs, which mean one column each. */
function set_columns(specs) {
    change({ columns: specs.join(",") });
}

function specs_of(answer) {
    return answer.columns.map((c) => c.spec);
}

/* Put a column before another one, or n places further. */
function move_column(answer, spec, before) {
    const specs = specs_of(answer).filter((s) => s !== spec);

    specs.splice(specs.indexOf(before), 0, spec);
    set_columns(specs);
}

function shift_column(answer, spec, n) {
    const specs = specs_of(answer), from = specs.indexOf(spec);

    if (from < 0 || from + n < 0 || from + n >= specs.length)
        return;
    specs.splice(from, 1);
    specs.splice(from + n, 0, spec);
    set_columns(specs);
}

/* The columns that are shown now: those asked for last. */
function wanted_columns(answer) {
    return state.columns ? split_list(state.columns) : specs_of(answer);
}

function column_boxes(answer, part) {
    const shown = specs_of(answer);

    return [...answer.columns, ...answer.hidden].filter((c) =>
        c.name !== "name" && c.name.includes(part)).map((c) =>
        check(c.name, shown.includes(c.spec), (on) => {
            const now = wanted_columns(answer);

            set_columns(on ? [...now, c.spec]
                : now.filter((s) => s !== c.spec && s !== c.name));
        }));
}

/* Open the list of all columns. */
export function choose_columns(answer) {
    const list = element("div", { class: "column-list" },
        column_boxes(answer, ""));
    const other = field("Other column, such as min(val/loss)", "", (name) => {
        if (name)
            set_columns([...wanted_columns(answer), name]);
    }, { oninput: null });
    const dialog = show_dialog("Columns", field("Find", "", (part) =>
        list.replaceChildren(...column_boxes(answer, part))), list, other,
    element("p", { class: "actions" },
        button("Usual columns", "Show the columns of gtrack ls", () => {
            change({ columns: "" });
            dialog.close();
        }),
        button("Done", "Close this list", () => dialog.close())));
}

const spare = 12; /* rows kept above and below those in sight */

/* Columns as they are drawn: the name comes first, in a cell of its own, which
 * on a narrow screen also has the value of the main column: the metric that
 * the table is sorted by, or the first one that has a best value. */
function drawn_columns(answer) {
    const metrics = answer.columns.filter((c) => c.kind === "metric");
    const main = metrics.find((c) => state.sort.replace(/^-/, "") === c.spec) ??
        metrics.find((c) => c.best);

    return answer.columns.map((c, index) => ({ ...c, index,
        is_main: c === main, tail: answer.rows.reduce((a, r) => Math.max(a,
            tail_width(r.cells[index].text) || 0), 0) }))
        .filter((c) => c.name !== "name");
}

/* In characters, from the longest text. */
function column_width(column, rows) {
    let n = column.name.length + 2;

    for (const row of rows)
        n = Math.max(n, (row.cells[column.index].text ?? "").length);
    if (column.kind === "metric" && (state.baseline || state.group))
        n += 9;
    return Math.min(n, 40) + 3;
}

/* In characters; runs that have not finished say so beside their name. */
function name_width(rows) {
    if (is_narrow())
        return 26;
    const room = rows.some((r) => r.status === "RUNNING") ? 36
        : rows.some((r) => r.status && r.status !== "FINISHED") ? 10 : 0;

    return Math.min(32, Math.max(8, ...rows.map((r) => r.name.length))) + 13 +
        room;
}

/* Rows of the same group after each other, below one for the group, in the
 * order of the means of the sorted column. */
function with_groups(rows, columns) {
    const sign = state.sort.startsWith("-") ? -1 : 1;
    const sorted = columns.find((c) => c.kind === "metric" &&
        c.spec === state.sort.replace(/^-/, ""));
    const place = (g) => sign * mean_of(numbers_of(g, sorted));
    const list = [...Map.groupBy(rows, (r) => r.group).values()];

    if (sorted) /* groups without a mean come last */
        list.sort((a, b) => Number.isNaN(place(a)) - Number.isNaN(place(b)) ||
            place(a) - place(b));
    return list.flatMap((g) => [{ rows: g },
        ...state.closed.includes(`group ${g[0].group}`) ? [] : g]);
}

function next_sort(spec) {
    return state.sort === spec ? `-${spec}`
        : state.sort === `-${spec}` ? "" : spec;
}

function sort_mark(spec) {
    return state.sort === spec ? " ↑" : state.sort === `-${spec}` ? " ↓" : "";
}

function heading(answer, column) {
    const { name, spec } = column, mark = sort_mark(spec);
    const head = element("button", { type: "button", draggable: "true",
        title: `Sort by ${name}; drag or use Alt and the arrow keys to move ` +
            "the column", dataset: { focus: `head-${spec}` },
        onclick: () => change({ sort: next_sort(spec) }),
        onkeydown: (e) => {
            const n = { ArrowLeft: -1, ArrowRight: 1 }[e.key];

            if (n && e.altKey) {
                e.preventDefault();
                shift_column(answer, spec, n);
            }
        },
        ondragstart: (e) => e.dataTransfer.setData("text/plain", spec),
    }, name + mark);

    const first = answer.rows.slice(0, most);
    const box = column.spec !== "name" || !first.length ? null
        : select_box(first, first.length < answer.rows.length
            ? `the first ${most} runs` : "all runs of the table");

    return element("th", { scope: "col", class: answer.rows.some(({ cells }) =>
        is_numeric(cells[column.index])) ? "number" : null, "aria-sort": mark === " ↑"
        ? "ascending" : mark ? "descending" : null,
    ondragover: (e) => e.preventDefault(),
    ondrop: (e) => {
        const moved = e.dataTransfer.getData("text/plain");

        e.preventDefault();
        if (moved && moved !== spec)
            move_column(answer, moved, spec);
    } }, box, head);
}

export class Table {
    constructor() {
        this.columns = element("colgroup");
        this.head = element("tr", { "aria-rowindex": "1" });
        this.body = element("tbody");
        this.table = element("table", { class: "runs" }, this.columns,
            element("thead", {}, this.head), this.body);
        this.root = element("div", { class: "scroll", tabindex: "0",
            role: "region", "aria-label": "Table of runs",
            onscroll: () => this.draw(false) }, this.table);
        this.range = "";
        this.size = new ResizeObserver(() => this.draw(false));
        this.size.observe(this.root);
    }

    /* Show this answer of /api/runs; the place to which the reader has
     * scrolled stays, and so does the focus. */
    show(answer) {
        const columns = drawn_columns(answer);
        const rows = answer.rows;
        const pinned = rows.filter((r) => r.id === state.baseline);

        this.answer = answer;
        this.drawn = columns;
        this.rows = state.group && rows.some((r) => r.group !== undefined)
            ? with_groups(rows, columns)
            : [...pinned, ...rows.filter((r) => !pinned.includes(r))];
        this.shown = this.rows.filter((r) => r.id);
        this.base = pinned[0] ?? null;
        this.draw_head(columns);
        this.draw(true);
    }

    draw_head(columns) {
        const { rows } = this.answer;
        const widths = [name_width(rows), ...columns.map((c) =>
            column_width(c, rows))];
        const sum = widths.reduce((a, b) => a + b, 0);

        this.columns.replaceChildren(...widths.map((w) => element("col",
            { style: { width: `${w}ch` } })));
        this.table.style.width = `${sum}ch`;
        this.table.setAttribute("aria-rowcount", this.rows.length + 1);
        keep_focus(this.root, () => this.head.replaceChildren(
            heading(this.answer, { name: "name", spec: "name" }),
            ...columns.map((c) => heading(this.answer, c))));
    }

    /* Draw the rows in sight, if others are in sight now or all changed. */
    draw(all) {
        if (!this.rows)
            return;
        const high = parseFloat(getComputedStyle(this.root)
            .getPropertyValue("--row"));
        const first = Math.max(0, Math.floor(this.root.scrollTop / high) -
            spare);
        const end = Math.min(this.rows.length, first + 2 * spare +
            Math.ceil(this.root.clientHeight / high));
        const range = `${first} ${end}`;

        if (!all && range === this.range)
            return;
        this.range = range;
        keep_focus(this.root, () => this.body.replaceChildren(
            this.gap(first * high),
            ...this.rows.slice(first, end).map((row, i) => row.rows
                ? group_row(row.rows, first + i, this.drawn)
                : run_row(row, first + i, this.drawn, this.base,
                    this.shown)),
            this.gap((this.rows.length - end) * high)));
    }

    gap(height) {
        return element("tr", { class: "gap", "aria-hidden": "true",
            style: { height: `${height}px` } });
    }

    /* Move the focus among the rows, n further. */
    step(n) {
        const links = [...this.body.querySelectorAll("th a")];
        const now = links.indexOf(document.activeElement);

        links[Math.max(0, Math.min(links.length - 1, now + n))]?.focus();
    }
}
