/* columns.js lets the reader choose the columns of the table of runs. */
import { button, check, element, field, show_dialog } from "./dom.js";
import { split_list } from "./text.js";
import { change, state } from "./state.js";

/* Columns are named by their specs, which mean one column each. */
function set_columns(specs) {
    change({ columns: specs.join(",") });
}

function specs_of(answer) {
    return answer.columns.map((c) => c.spec);
}

/* Put a column before another one, or n places further. */
export function move_column(answer, spec, before) {
    const specs = specs_of(answer).filter((s) => s !== spec);

    specs.splice(specs.indexOf(before), 0, spec);
    set_columns(specs);
}

export function shift_column(answer, spec, n) {
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
