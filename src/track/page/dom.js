/* dom.js makes elements, and puts commands on the clipboard.  Texts stay texts:
 * nothing here reads markup. */
import { change, state } from "./state.js";
import { tail_width, visible } from "./text.js";

const svg_tags = new Set(["svg", "g", "path", "line", "circle", "text", "rect",
    "title"]);
const svg_space = "http://www.w3.org/2000/svg";

function set_property(node, key, value) {
    if (key === "style")
        Object.assign(node.style, value);
    else if (key === "dataset")
        Object.assign(node.dataset, value);
    else if (typeof value === "function")
        node[key] = value;
    else if (value === true)
        node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
        node.setAttribute(key, key === "title" ? visible(value) : value);
}

/* element("a", { href: "#x", onclick: f }, "text", other) */
export function element(tag, properties = {}, ...children) {
    const node = svg_tags.has(tag) ? document.createElementNS(svg_space, tag)
        : document.createElement(tag);

    for (const [key, value] of Object.entries(properties))
        set_property(node, key, value);
    node.append(...children.flat().filter((c) =>
        c !== null && c !== undefined).map((c) =>
        c instanceof Node ? c : visible(c)));
    return node;
}

export function button(label, title, onclick, properties = {}) {
    return element("button", { type: "button", title, onclick, ...properties },
        label);
}

/* A labelled <select>; options are [value, text] pairs, or values.  A value
 * that is none of them, but comes from the address, is an option, too. */
export function choice(label, list, value, onchange) {
    const known = list.map((o) => Array.isArray(o) ? o : [o, o]);
    const options = known.some(([v]) => v === value) ? known
        : [...known, [value, value]];
    const select = element("select",
        { onchange: () => onchange(select.value) },
        options.map(([v, text]) => element("option", { value: v }, text)));

    select.value = value;
    return element("label", { class: "field" }, element("span", {}, label),
        select);
}

/* A choice of what the address keeps under this key. */
export function picker(label, list, key, value = state[key]) {
    return choice(label, list, value, (v) => change({ [key]: v }));
}

/* The same of "1" and nothing. */
export function switcher(label, key) {
    return check(label, state[key] === "1", (on) =>
        change({ [key]: on ? "1" : "" }));
}

/* A labelled checkbox. */
export function check(label, checked, onchange, properties = {}) {
    const box = element("input", { type: "checkbox",
        onchange: () => onchange(box.checked), ...properties });

    box.checked = checked;
    return element("label", { class: "check" }, box, label);
}

/* A labelled text field, which reports its text when typing pauses. */
export function field(label, value, onchange, properties = {}) {
    let timer = 0;
    const tell = () => {
        clearTimeout(timer);
        onchange(input.value);
    };
    const input = element("input", { type: "text", spellcheck: "false",
        autocomplete: "off", onchange: tell, oninput: () => {
            clearTimeout(timer);
            timer = setTimeout(tell, 300);
        }, ...properties });

    input.value = value;
    return element("label", { class: "field" }, element("span", {}, label),
        input);
}

export function is_narrow() {
    return innerWidth <= 700;
}

/* Controls that a narrow screen hides until they are asked for. */
export function more_controls(title, ...nodes) {
    return element("details", { class: "more", open: !is_narrow() },
        element("summary", {}, title),
        element("div", { class: "tools" }, ...nodes));
}

/* A part of a view, below its heading. */
export function section(title, ...nodes) {
    return element("section", { "aria-label": title, id:
        `part-${title.toLowerCase().replaceAll(" ", "-")}` },
    element("h2", {}, title), ...nodes);
}

export function show_dialog(title, ...nodes) {
    const dialog = element("dialog", { "aria-label": title, onclose: () =>
        dialog.remove() }, element("h2", {}, title), ...nodes);

    document.body.append(dialog);
    dialog.showModal();
    return dialog;
}

/* Draw anew what is within a node, but keep the focus. */
export function keep_focus(root, draw) {
    const key = root.contains(document.activeElement)
        ? document.activeElement.dataset.focus : null;

    draw();
    if (key)
        root.querySelector(`[data-focus="${CSS.escape(key)}"]`)
            ?.focus({ preventScroll: true });
}

/* A sentence that says that there is nothing. */
export function empty(text) {
    return element("p", { class: "empty" }, text);
}

/* A sentence about something that went wrong. */
export function problem(error) {
    return element("p", { class: "problem", role: "alert" },
        typeof error === "string" ? error : error.message);
}

/* Of a cell in a column of numbers, so that their points are in one place. */
export function number_style(text, widest) {
    return { paddingRight: `calc(.6rem + ${widest - tail_width(text)}ch)` };
}

/* A table of texts; the cells of the first row are headings. */
export function plain_table([head, ...body], properties = {}) {
    const widest = head.map((_, i) => Math.max(...body.map((r) =>
        r[i] ? tail_width(r[i]) : 0)));
    const line = (cells, tag) => element("tr", {}, cells.map((c, i) =>
        element(tag, { scope: tag === "th" ? "col" : null, class:
            widest[i] >= 0 ? "number" : null,
        style: number_style(c, widest[i]) }, c)));

    return element("div", { class: "wide", tabindex: "0" },
        element("table", properties,
            element("thead", {}, line(head, "th")),
            element("tbody", {}, body.map((r) => line(r, "td")))));
}

/* Pages that are files may not use the clipboard, but may copy a selection. */
function copy_selection(text) {
    const area = element("textarea", { class: "offscreen" });

    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");

    area.remove();
    return done;
}

async function copy_text(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copy_selection(text);
    }
}

/* Show a sentence at the edge of the page for a while; it is also spoken. */
export function announce(text) {
    const place = document.getElementById("announcement");

    place.textContent = text;
    place.classList.add("visible");
    clearTimeout(announce.timer);
    announce.timer = setTimeout(() => place.classList.remove("visible"), 4000);
}

/* Copy the command, and say which one it was. */
export async function copy_command(command) {
    if (!command)
        announce("There is no command for this view.");
    else if (await copy_text(command))
        announce(`Copied: ${command}`);
    else
        announce(`The browser refused to copy. The command is: ${command}`);
}

/* A button that copies the command that command() returns. */
export function copy_button(command, label = "Copy command") {
    return button(label, "Copy the command that shows the same", () =>
        copy_command(command()), { class: "copy" });
}
