/* columns.js lets the reader choose the columns of the table of runs. */
import { button, check, element, field } from "./dom.js";
import { split_list } from "./text.js";
import { change, state } from "./state.js";

/* The names of the columns as they are shown now. */
export function shown_columns(answer) {
    return state.columns ? split_list(state.columns)
        : answer.columns.map((c) => c.name);
}

function set_columns(names) {
    change({ columns: names.join(",") });
}

/* Put a column before another one, or n places further. */
export function move_column(answer, name, before) {
    const names = shown_columns(answer).filter((n) => n !== name);

    names.splice(names.indexOf(before), 0, name);
    set_columns(names);
}

export function shift_column(answer, name, n) {
    const names = shown_columns(answer), from = names.indexOf(name);

    if (from < 0 || from + n < 0 || from + n >= names.length)
        return;
    names.splice(from, 1);
    names.splice(from + n, 0, name);
    set_columns(names);
}

function column_boxes(answer, part) {
    const shown = shown_columns(answer);
    const all = [...answer.columns, ...answer.hidden].map((c) => c.name);

    return all.filter((name) => name.includes(part)).map((name) =>
        check(name, shown.includes(name), (on) => {
            const now = shown_columns(answer);

            set_columns(on ? [...now, name] : now.filter((n) => n !== name));
        }));
}

/* Open the list of all columns. */
export function choose_columns(answer) {
    const list = element("div", { class: "column-list" },
        column_boxes(answer, ""));
    const other = field("Other column, such as min(val/loss)", "", (name) => {
        if (name)
            set_columns([...shown_columns(answer), name]);
    }, { oninput: null });
    const dialog = element("dialog", { "aria-label": "Columns",
        onclose: () => dialog.remove() },
    element("h2", {}, "Columns"),
    field("Find", "", (part) =>
        list.replaceChildren(...column_boxes(answer, part))),
    list, other,
    element("p", { class: "actions" },
        button("Usual columns", "Show the columns of gtrack ls", () => {
            change({ columns: "" });
            dialog.close();
        }),
        button("Done", "Close this list", () => dialog.close())));

    document.body.append(dialog);
    dialog.showModal();
}
