/* files.js lists the artifacts of a run and shows one of them. */
import { ask, frozen, url_of } from "./api.js";
import { button, element, plain_table, problem } from "./dom.js";
import { state } from "./state.js";
import { bytes_text, count_text, visible } from "./text.js";

const most_bytes = 2 << 20, most_table_rows = 1000;

function link_to(id, path) {
    return url_of("/api/artifact", { store: state.store, id, path });
}

/* Rows of comma-separated values; a quoted cell may have commas. */
function csv_rows(text) {
    return text.split(/\r?\n/).filter((l) => l).map((line) =>
        [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) =>
            m[1] === undefined ? m[2] : m[1].replaceAll('""', '"')));
}

function text_nodes(type, text) {
    const rows = type === "csv" ? csv_rows(text)
        : type === "json" ? table_rows(text) : null;

    if (rows)
        return rows.length ? [plain_table(rows.slice(0, most_table_rows))] : [];
    if (type === "json") {
        try {
            text = JSON.stringify(JSON.parse(text), null, 2);
        } catch {
            /* shown as it is */
        }
    }
    return [element("pre", { tabindex: "0" }, text)];
}

/* A table that log_table() wrote, as rows; or null. */
function table_rows(text) {
    try {
        const { columns, data } = JSON.parse(text);

        return [columns, ...data].map((row) => row.map((cell) =>
            typeof cell === "object" ? JSON.stringify(cell) : String(cell)));
    } catch {
        return null; /* some other file */
    }
}

/* What shows a file: a picture, a player, a table or its text. */
export async function file_nodes(id, file) {
    const link = link_to(id, file.path), label = file.caption || file.path;

    if (file.type === "image")
        return [element("img", { src: link, alt: label })];
    if (file.type === "audio" || file.type === "video")
        return [element(file.type, { src: link, controls: true,
            "aria-label": label, preload: "metadata" })];
    if (file.bytes > most_bytes)
        return [element("p", {}, `This file has ${bytes_text(file.bytes)}. ` +
            "Download it to see it.")];
    const response = await fetch(link);

    if (!response.ok)
        throw new Error((await response.json()).error ??
            `The server answered with status ${response.status}.`);
    return text_nodes(file.type, await response.text());
}

function file_row(id, file, show) {
    const can_show = !frozen && !["binary", "link"].includes(file.type);
    const last = file.path.split("/").at(-1);
    const name = can_show ? button(last, "Show this file", () =>
        show(file), { class: "link" }) : last;

    return element("tr", {}, element("td", {}, name),
        element("td", { class: "number" }, file.type === "link"
            ? "link, not followed" : bytes_text(file.bytes)),
        element("td", {}, frozen || file.type === "link" ? ""
            : element("a", { href: link_to(id, file.path), download: "" },
                "download")));
}

/* The files of a folder, and its folders, which are folded. */
function folder_nodes(id, files, show, depth) {
    const is_here = (f) => f.path.split("/").length === depth + 1;
    const folders = Map.groupBy(files.filter((f) => !is_here(f)), (f) =>
        f.path.split("/")[depth]);

    return [...[...folders].map(([name, inside]) =>
        element("details", { class: "folder" }, element("summary", {},
            `${name}/ `, element("span", { class: "count" },
                count_text(inside.length, "file", "files"))),
        folder_nodes(id, inside, show, depth + 1))),
    element("table", {}, element("tbody", {}, files.filter(is_here)
        .map((f) => file_row(id, f, show))))];
}

export function file_section(id, files) {
    const shown = element("div", { class: "file", "aria-live": "polite" });
    const show = async (file) => {
        shown.replaceChildren(element("h3", {}, file.path));
        try {
            shown.append(...await file_nodes(id, file));
        } catch (error) {
            shown.append(problem(error));
        }
    };

    return [element("div", { class: "wide", tabindex: "0" },
        folder_nodes(id, files, show, 0)), shown];
}

/* The last part of the log, and what is added to it. */
export class Log {
    constructor(id) {
        this.id = id;
        this.next = "";
        this.text = element("pre", { class: "log", tabindex: "0" });
        this.root = element("div", {}, this.text);
    }

    async load() {
        if (this.busy)
            return;
        this.busy = true;
        try {
            const from = frozen ? "" : this.next;
            const answer = await ask("/api/log", { store: state.store,
                id: this.id, from });
            const { text } = this;
            const at_end = text.scrollTop + text.clientHeight >
                text.scrollHeight - 30;

            if (frozen)
                text.replaceChildren();
            text.append(visible(answer.text));
            this.next = answer.next;
            if (!text.textContent)
                text.append("This run has no log.");
            if (at_end)
                text.scrollTop = text.scrollHeight;
        } catch (error) {
            this.root.replaceChildren(problem(error));
        }
        this.busy = false;
    }
}
