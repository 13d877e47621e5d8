/* runs.js is the view of all runs of a store: a filter and a table. */
import { ask, begin_anew, frozen } from "./api.js";
import { button, element, empty, field, more_controls } from "./dom.js";
import { problem, switcher } from "./dom.js";
import { address, change, state } from "./state.js";
import { Table, choose_columns } from "./table.js";
import { count_text, split_list } from "./text.js";

const statuses = ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED",
    "PREEMPTED", "STOPPED", "STALE"].map((s) => `'${s}'`);
const most_words = 12;

/* The list of words for a field: those that begin like the last one in it, of
 * the names of columns() or, after "status", of the statuses. */
function word_list(input, columns) {
    const list = element("datalist", { id: `${input.id}-words` });

    input.setAttribute("list", list.id);
    input.addEventListener("input", () => {
        const [, before, word] = /^(.*?)([^\s()=<>!,]*)$/s.exec(input.value);
        const is_status = /\bstatus\s*(!?=|(not\s+)?in\s*\([^)]*)\s*$/i
            .test(before);
        const known = is_status ? statuses
            : word ? [...new Set(columns().flatMap(({ spec }) =>
                [spec.replace(/^(params|metrics)\.(?!`)/, ""), spec]))] : [];

        list.replaceChildren(...known.filter((w) => w !== word &&
            w.toLowerCase().startsWith(word.toLowerCase()))
            .slice(0, most_words).map((w) =>
                element("option", { value: before + w })));
    });
    return list;
}

/* The parameters of /api/runs for the table. */
export function table_params() {
    const { store, filter, columns, sort, group, deleted } = state;

    return frozen ? { store }
        : { store, filter, columns, sort, group, deleted };
}

/* A saved page has one table; the browser sorts it. */
function sort_rows(answer) {
    const name = state.sort.replace(/^-/, "");
    const i = answer.columns.findIndex((c) => c.spec === name);
    const sign = state.sort.startsWith("-") ? -1 : 1;
    const key = (row) => i < 0 ? row.name
        : row.cells[i].value ?? row.cells[i].text;

    if (!frozen || !state.sort)
        return answer;
    return { ...answer, rows: [...answer.rows].sort((a, b) => sign *
        String(key(a)).localeCompare(String(key(b)), "en",
            { numeric: true })) };
}

function choose_frozen_columns(answer) {
    const wanted = state.columns ? split_list(state.columns) : null;

    if (!frozen || !wanted)
        return answer;
    const index = wanted.map((spec) =>
        answer.columns.findIndex((c) => c.spec === spec)).filter((i) => i >= 0);
    const rest = answer.columns.filter((c, i) => !index.includes(i));

    return { ...answer, columns: index.map((i) => answer.columns[i]),
        hidden: [...rest, ...answer.hidden],
        rows: answer.rows.map((r) => ({ ...r,
            cells: index.map((i) => r.cells[i]) })) };
}

export class RunsView {
    constructor() {
        this.table = new Table();
        this.message = element("div");
        this.count = element("span", { class: "count", role: "status" });
        this.selection = element("span", { class: "actions" });
        this.root = element("section", { class: "runs-view",
            "aria-label": "Runs" }, this.tools(), this.message,
        this.table.root);
    }

    tools() {
        const filter = field("Filter", state.filter, (v) =>
            change({ filter: v }), { class: "wide-input", id: "filter",
            placeholder: "metrics.val/loss < 3.2 and params.seed = 1" });
        const group = field("Group by", state.group, (v) =>
            change({ group: v }), { placeholder: "lr,seed" });

        this.inputs = { filter: filter.querySelector("input"),
            group: group.querySelector("input") };
        filter.append(word_list(this.inputs.filter, () => this.answer
            ? [...this.answer.columns, ...this.answer.hidden] : []));
        return element("form", { class: "tools", role: "search",
            onsubmit: (e) => e.preventDefault() },
        frozen ? null : filter,
        more_controls("Groups and columns", frozen ? null : group,
            button("Columns…", "Choose the columns", () => this.answer &&
                choose_columns(this.answer)),
            frozen ? null : switcher("Deleted", "deleted")),
        this.count, this.selection);
    }

    command() {
        return this.answer?.command;
    }

    load() {
        return begin_anew(this, async (signal) => {
            const answer = await ask("/api/runs", table_params(), signal);

            this.answer = sort_rows(choose_frozen_columns(answer));
            this.message.replaceChildren();
            this.draw();
        }, (error) => this.message.replaceChildren(problem(error)));
    }

    draw() {
        const { rows, total } = this.answer, n = state.runs.length;

        this.table.show(this.answer);
        this.count.textContent = rows.length === total || !total
            ? count_text(rows.length, "run", "runs")
            : `${rows.length} of ${count_text(total, "run", "runs")}`;
        if (!rows.length && !this.message.children.length)
            this.message.append(empty(state.filter
                ? "No run matches this filter."
                : "This store has no runs yet. They appear here when they " +
                    "start."));
        this.selection.replaceChildren(...n ? [
            element("a", { class: "button", href: address({ view: "charts" }) },
                `Charts of ${count_text(n, "run", "runs")}`),
            element("a", { class: "button", href:
                address({ view: "compare" }) }, "Compare"),
            button("Clear selection", "Select no runs", () =>
                change({ runs: [] })),
        ] : []);
    }

    update(changed) {
        const asked = ["store", "filter", "columns", "sort", "group",
            "deleted"];

        /* the Back button changes what the fields have */
        for (const [key, input] of Object.entries(this.inputs))
            if (input !== document.activeElement)
                input.value = state[key];
        if (asked.some((key) => changed.has(key)))
            this.load();
        else if (this.answer)
            this.draw();
    }

    refresh() {
        return this.load();
    }

    keys() {
        return { "/": () => document.getElementById("filter")?.focus(),
            j: () => this.table.step(1), k: () => this.table.step(-1) };
    }

    close() {
        this.stop?.abort();
        this.table.size.disconnect();
    }
}
