/*
 * markdown.js turns the Markdown of a note into elements: headings, paragraphs,
 * lists, tables, quotes, code, emphasis and links to web pages.  Markup stays
 * text.
 */
import { element, plain_table } from "./dom.js";

function web_link(href, text) {
    return element("a", { href, rel: "noopener noreferrer", target: "_blank" },
        text);
}

const inline = [
    [/^`([^`]+)`/, (m) => element("code", {}, m[1])],
    [/^\*\*([^*]+)\*\*/, (m) => element("strong", {}, ...inline_nodes(m[1]))],
    [/^\*([^*\s][^*]*)\*/, (m) => element("em", {}, ...inline_nodes(m[1]))],
    [/^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/, (m) => web_link(m[2], m[1])],
    [/^https?:\/\/[^\s<>()|]*[^\s<>()|.,;:!?'"*]/, (m) =>
        web_link(m[0], m[0])],
];

function inline_nodes(text) {
    const nodes = [];
    let plain = "";

    while (text) {
        const rule = inline.find(([pattern]) => pattern.test(text));
        const match = rule ? text.match(rule[0]) : [text[0]];

        if (rule) {
            nodes.push(plain, rule[1](match));
            plain = "";
        } else {
            plain += text[0];
        }
        text = text.slice(match[0].length);
    }
    return [...nodes, plain].filter((n) => n !== "");
}

/* The block that a line begins: a heading, a list, a part of a table or of a
 * quote, or none. */
function block_of(line) {
    const heading = line.match(/^(#{1,6})\s+(.*)/);
    const item = line.match(/^\s*([-*+]|\d+[.)])\s+(.*)/);

    if (heading)
        return { tag: `h${Math.min(6, heading[1].length + 2)}`,
            text: heading[2], alone: true };
    if (item)
        return { tag: /\d/.test(item[1]) ? "ol" : "ul", text: item[2],
            item: true };
    if (/^\s*>/.test(line))
        return { tag: "blockquote", text: line.replace(/^\s*(> ?)+/, "") };
    return { tag: /^\s*\|.*\|\s*$/.test(line) ? "table" : "p", text: line };
}

function add_block(nodes, line) {
    const { tag, text, alone, item } = block_of(line);
    const last = nodes.at(-1);
    const node = last && !alone && last.open && last.tag === tag ? last
        : { tag, lines: [], open: true, item };

    if (node !== last)
        nodes.push(node);
    node.lines.push(text);
    node.open = !alone;
}

function table_cells(line) {
    return line.trim().slice(1, -1).split(/(?<!\\)\|/).map((cell) =>
        inline_nodes(cell.trim().replaceAll("\\|", "|")));
}

/* The second line of a table has dashes alone. */
function is_table({ tag, lines }) {
    return tag === "table" && /^[\s|:-]{3,}$/.test(lines[1] ?? "") &&
        lines[1].includes("-");
}

function block_node({ tag, lines, item }) {
    if (is_table({ tag, lines }))
        return plain_table([lines[0], ...lines.slice(2)].map(table_cells));
    if (tag === "blockquote")
        return element(tag, {}, markdown_nodes(lines.join("\n")));
    if (tag === "pre")
        return element("pre", { tabindex: "0" }, lines.join("\n"));
    if (item)
        return element(tag, {}, lines.map((l) =>
            element("li", {}, ...inline_nodes(l))));
    return element(tag === "table" ? "p" : tag, {},
        ...inline_nodes(lines.join("\n")));
}

export function markdown_nodes(text) {
    const nodes = [];
    let code = null;

    for (const line of text.split(/\r?\n/)) {
        if (/^\s*```/.test(line)) {
            if (!code)
                nodes.push({ tag: "pre", lines: [] });
            code = code ? null : nodes.at(-1);
        } else if (code) {
            code.lines.push(line);
        } else if (!line.trim()) {
            if (nodes.length)
                nodes.at(-1).open = false;
        } else {
            add_block(nodes, line);
        }
    }
    return nodes.map(block_node);
}
