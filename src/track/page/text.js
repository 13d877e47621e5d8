/* text.js writes numbers, times and sizes, and the texts of others. */

/* All digits that matter: what the store has, without rounding errors. */
export function number_text(v) {
    if (v === null || v === undefined)
        return "";
    if (typeof v !== "number" || !Number.isFinite(v))
        return String(v);
    return String(Number(v.toPrecision(7)));
}

/* Is it a cell of a number, even of one that is not finite? */
export function is_numeric(cell) {
    return typeof cell?.value === "number" ? !cell.time
        : /^-?(nan|inf)/.test(cell?.text ?? "");
}

/* The digits of a number after its point, which counts as half of one, or of
 * its exponent; NaN for other texts. */
export function tail_width(text) {
    const [, point, tail] = /^[-+]?(?:nan|inf|\d+)(\.?)(\d*(?:e[-+]?\d+)?)$/
        .exec(text) ?? [];

    return tail?.length + point?.length / 2;
}

export function bytes_text(n) {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;

    while (n >= 1024 && i < units.length - 1) {
        n /= 1024;
        i++;
    }
    return `${i ? n.toFixed(1) : n} ${units[i]}`;
}

export function duration_text(ms) {
    const s = Math.max(0, Math.round(ms / 1000));

    if (s < 90)
        return `${s} s`;
    if (s < 5400)
        return `${Math.round(s / 60)} min`;
    if (s < 172800)
        return `${(s / 3600).toFixed(1)} h`;
    return `${(s / 86400).toFixed(1)} days`;
}

const hiding = new RegExp("[\\u00ad\\u061c\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb" +
    "\\u{e0000}-\\u{e007f}]", "gu");

/* Characters that hide or reorder others are shown as their numbers, as in
 * utf8_visible() (common/utf8.h). */
export function visible(text) {
    return String(text ?? "").replace(hiding, (c) => "<U+" +
        c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");
}

export function count_text(n, one, many) {
    return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/* Items between commas; commas within parentheses do not count. */
export function split_list(text) {
    const items = [];
    let depth = 0, item = "";

    for (const c of text) {
        depth += c === "(" ? 1 : c === ")" ? -1 : 0;
        if (c === "," && depth <= 0) {
            items.push(item);
            item = "";
        } else {
            item += c;
        }
    }
    return [...items, item].map((s) => s.trim()).filter((s) => s);
}

/* Which curve of its run it is: "validation", "rank 1". */
export function line_text(curve) {
    return [curve.line, curve.rank].filter((text) => text).join(", ");
}

/* What names are shown as: if they are long and all begin alike, without that
 * beginning, so that the part that differs has room. */
export function short_names(names) {
    const longest = Math.max(0, ...names.map((n) => n.length));
    let n = longest > 20 && names.length > 1 ? names[0].length : 0;

    for (const name of names)
        while (!name.startsWith(names[0].slice(0, n)))
            n--;
    /* "lr1e-" is no part of "lr1e-4" */
    while (n > 0 && (!"-_/: ,".includes(names[0][n - 1]) ||
        /\de-$/.test(names[0].slice(0, n))))
        n--;
    return n < 5 ? names : names.map((name) => `…${name.slice(n)}`);
}
