/*
 * markdown.js turns the Markdown of a note into elements: headings, paragraphs,
 * lists, code, emphasis and links to web pages.  Markup stays text.
 */
import { element } from "./dom.js";

const inline = [
    [/^`([^`]+)`/, (m) => element("code", {}, m[1])],
    [/^\*\*([^*]+)\*\*/, (m) => element("strong", {}, ...inline_nodes(m[1]))],
    [/^\*([^*\s][^*]*)\*/, (m) => element("em", {}, ...inline_nodes(m[1]))],
    [/^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/, (m) => element("a", { href: m[2],
        rel: "noopener noreferrer", target: "_blank" }, m[1])],
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

/* The block that a line begins: a heading, a list or none. */
function block_of(line) {
    const heading = line.match(/^(#{1,6})\s+(.*)/);
    const item = line.match(/^\s*([-*+]|\d+[.)])\s+(.*)/);

    if (heading)
        return { tag: `h${Math.min(6, heading[1].length + 2)}`,
            text: heading[2], alone: true };
    if (item)
        return { tag: /\d/.test(item[1]) ? "ol" : "ul", text: item[2],
            item: true };
    return { tag: "p", text: line };
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

function block_node({ tag, lines, item }) {
    if (tag === "pre")
        return element("pre", { tabindex: "0" }, lines.join("\n"));
    if (item)
        return element(tag, {}, lines.map((l) =>
            element("li", {}, ...inline_nodes(l))));
    return element(tag, {}, ...inline_nodes(lines.join("\n")));
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
