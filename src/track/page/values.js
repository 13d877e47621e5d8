/* values.js finds the values of a panel's curves at an x, and lists them. */
import { alias_of } from "./chosen.js";
import { element, number_style } from "./dom.js";
import { axis_of, axis_text, colour_of, is_number, nearest } from "./paint.js";
import { paint_dot, paint_line, place_of, x_pixel, y_pixel } from "./paint.js";
import { count_text, line_text, tail_width } from "./text.js";

const most_rows = 14, best_rows = 5;

function is_near(panel, curve, x) {
    const at = place_of(panel.x, x), n = curve.x.length;

    return n > 0 && at >= place_of(panel.x, curve.x[0]) - 0.02 &&
        at <= place_of(panel.x, curve.x[n - 1]) + 0.02;
}

function raw_value(panel, curve, x) {
    const raw = panel.curves.find((c) => c.faint && c.run === curve.run &&
        c.dash === curve.dash && c.colour === curve.colour);
    const i = raw ? nearest(raw.x, x) : 0;

    return raw && raw.x[i] === x ? raw.y[i] : null;
}

/* The points nearest to x, one of each curve, the highest first. */
export function values_at(panel, x) {
    const found = [];

    for (const curve of panel.curves) {
        if (curve.faint || !is_near(panel, curve, x))
            continue;
        const i = nearest(curve.x, x);

        if (curve.y[i] !== null)
            found.push({ curve, x: curve.x[i], y: curve.y[i],
                low: curve.y_low?.[i], high: curve.y_high?.[i],
                raw: raw_value(panel, curve, curve.x[i]) });
    }
    return found.sort((a, b) => b.y - a.y);
}

/* The value whose point is nearest to a pixel, with its distance, or null. */
export function nearest_value(panel, box, values, y) {
    return values.map((v) => ({ ...v,
        off: Math.abs(y_pixel(box, axis_of(panel, v.curve), v.y) - y) }))
        .reduce((a, b) => a && a.off <= b.off ? a : b, null);
}

/* Of many values, the one that is pointed to and the best few. */
function worth_showing(panel, values, near) {
    if (values.length <= most_rows)
        return values;
    const best = panel.high_is_good ? values : [...values].reverse();
    const few = best.filter((v) => v.curve !== near?.curve)
        .slice(0, near ? best_rows : most_rows);

    return near ? [near, ...few] : few;
}

/* The least and the greatest value on the left axis from one x to another, with
 * a margin; null if there is none. */
export function values_range(panel, [from, to]) {
    const all = panel.curves.filter((c) => !c.faint && !c.right).flatMap((c) =>
        c.y.filter((y, i) => y !== null && c.x[i] >= from && c.x[i] <= to));
    const low = all.reduce((a, b) => Math.min(a, b), Infinity);
    const high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    const margin = panel.y.log ? (high / low) ** 0.05 : (high - low) * 0.05;

    return !(high > low) ? null : panel.y.log ? [low / margin, high * margin]
        : [low - margin, high + margin];
}

/* The column of a map, whose names are steps, that is nearest to a step. */
export function map_column(heat, step) {
    return nearest(heat.x.map(Number), step);
}

/* What the cell of a map says at a step and a pixel; without one, the highest
 * cell of the column. */
export function map_value(panel, box, step, y) {
    const { heat } = panel, i = map_column(heat, step), n = heat.x.length;
    const rows = heat.y.map((name, j) => ({ name, ...heat.cells[j * n + i] }));
    const row = y === null
        ? rows.reduce((a, b) => b.value > a.value ? b : a)
        : rows[Math.floor((box.y1 - y) / (box.y1 - box.y0) * rows.length)];

    return row ? [element("div", {}, `${panel.x.title} ${heat.x[i]}, at ` +
        `${row.name}: ${row.text} ${heat.label}`)] : [];
}

/* The x of the point that is nearest to x. */
export function nearest_x(panel, x) {
    let best = null;

    if (panel.heat)
        return Number(panel.heat.x[Math.max(0, Math.min(Math.round(x),
            panel.heat.x.length - 1))]);
    for (const v of values_at(panel, x))
        if (best === null || Math.abs(v.x - x) < Math.abs(best - x))
            best = v.x;
    return best;
}

/* The x of the point n points after the one at x. */
export function next_x(panel, x, n) {
    const curves = panel.heat ? [{ x: panel.heat.x.map(Number) }]
        : panel.curves.filter((c) => !c.faint && c.x.length);
    const longest = curves.reduce((a, b) => a && a.x.length >= b.x.length
        ? a : b, null);

    if (!longest)
        return x;
    const i = x === null ? longest.x.length - 1 - n : nearest(longest.x, x);
    const last = longest.x.length - 1;

    return longest.x[Math.max(0, Math.min(last, i + n))];
}

function name_of(curve) {
    return [alias_of(curve.name) || curve.label, line_text(curve)]
        .filter((text) => text).join(", ");
}

function value_row(panel, v, shown_x, near, widest) {
    const text = (y) => axis_text(axis_of(panel, v.curve), y);

    return element("tr", { class: v.curve === near?.curve ? "nearest" : null },
        element("td", {}, element("span", { class: "swatch",
            style: { background: colour_of(v.curve) } }), name_of(v.curve)),
        element("td", { class: "number", style: number_style(text(v.y),
            widest) }, text(v.y)),
        element("td", {}, v.raw !== null ? `raw ${text(v.raw)}`
            : is_number(v.low) ? `${text(v.low)} to ${text(v.high)}` : "",
        v.x === shown_x ? "" : ` at ${axis_text(panel.x, v.x)}`));
}

/* A table of the values; near is the one that is pointed to, or null. */
export function value_table(panel, values, x, near) {
    const shown = worth_showing(panel, values, near);
    const left_out = values.length - shown.length;
    const widest = Math.max(...shown.map((v) =>
        tail_width(axis_text(axis_of(panel, v.curve), v.y))));
    const rows = shown.map((v) => value_row(panel, v, x, near, widest));

    return [element("div", { class: "tip-title" },
        `${panel.x.title} ${axis_text(panel.x, x)}`),
    element("table", {}, element("tbody", {}, rows)),
    left_out > 0 ? element("div", {},
        `and ${count_text(left_out, "other", "others")}`) : null]
        .filter((node) => node);
}

/* A line at x and a dot on each curve. */
export function paint_pointer(c, panel, box, x, values, theme) {
    const at = x_pixel(box, panel, x);

    if (at < box.x0 || at > box.x1)
        return;
    c.strokeStyle = theme.grey;
    paint_line(c, at, box.y0, at, box.y1);
    for (const v of values) {
        const y = y_pixel(box, axis_of(panel, v.curve), v.y);

        c.fillStyle = colour_of(v.curve);
        if (y >= box.y0 && y <= box.y1)
            paint_dot(c, x_pixel(box, panel, v.x), y, 3);
    }
}
