/*
 * spread.js draws what a comparison says of many runs: parallel coordinates, a
 * scatter plot of two axes, a map over two parameters, and the mean of a metric
 * over each value of parameters.
 */
import { element } from "./dom.js";
import { axis_text, colour_of, is_number, place_of } from "./paint.js";
import { count_text, number_text } from "./text.js";

const mark_width = 260, mark_height = 18;

/* Means and intervals with the digits that the shortest interval needs. */
function mean_texts(params) {
    const least = Math.min(...params.flatMap((p) => p.values)
        .map((v) => v.half || Infinity));
    const text = (v) => least < Infinity ? v.toFixed(Math.max(0,
        1 - Math.floor(Math.log10(least)))) : number_text(v);

    return ({ mean, half }) => (is_number(mean) ? text(mean) : "") +
        (is_number(half) ? ` ± ${text(half)}` : "");
}

/* The range of all means of the parameters with their intervals. */
function mean_range(params) {
    const ends = params.flatMap((p) => p.values).filter((v) =>
        is_number(v.mean)).flatMap((v) => [v.mean - (v.half ?? 0),
        v.mean + (v.half ?? 0)]);

    return [Math.min(...ends), Math.max(...ends)];
}

/* A point at the mean, and a line as long as the interval. */
function mean_mark(value, [from, to], is_best) {
    const x = (v) => 6 + (mark_width - 12) * (v - from) / (to - from || 1);
    const { mean } = value, half = value.half ?? 0;
    const y = mark_height / 2;

    if (!is_number(mean))
        return "";
    return element("svg", { viewBox: `0 0 ${mark_width} ${mark_height}`,
        class: is_best ? "mean best" : "mean", "aria-hidden": "true" },
    element("line", { x1: x(mean - half), x2: x(mean + half), y1: y, y2: y }),
    element("circle", { cx: x(mean), cy: y, r: 4 }));
}

function mean_rows(param, range, text) {
    const share = is_number(param.share)
        ? `${Math.round(100 * param.share)} %` : "";

    return param.values.map((v, i) => element("tr", { class: i === 0
        ? "first" : null },
    i ? null : element("th", { scope: "rowgroup",
        rowspan: param.values.length }, param.param,
    element("span", { class: "count" }, ` ${share}`)),
    element("th", { scope: "row" }, v.text),
    element("td", { class: i === param.best ? "number best" : "number" },
        text(v)),
    element("td", {}, mean_mark(v, range, i === param.best)),
    element("td", { class: "number" }, String(v.runs)),
    element("td", { class: v.failed ? "number failed" : "number" },
        v.failed ? String(v.failed) : "")));
}

/* The parameters of one entry of /api/compare's importance. */
export function importance_table({ metric, params }) {
    const range = mean_range(params), text = mean_texts(params);

    return element("table", { class: "importance" },
        element("caption", {}, `Means of ${metric} with their 95 % intervals;` +
            ` beside ${count_text(params.length, "parameter", "parameters")}:` +
            " the part of the variance that it explains"),
        element("thead", {}, element("tr", {}, ["parameter", "value", "mean",
            "with interval", "runs", "failed"].map((h) => element("th",
            { scope: "col" }, h)))),
        params.map((p) => element("tbody", {}, mean_rows(p, range, text))));
}

const width = 960, height = 320;

function axis_lines(axis, x, top, bottom) {
    const y = (v) => bottom - place_of(axis, v) * (bottom - top);

    return element("g", { class: "axis" },
        element("line", { x1: x, x2: x, y1: top, y2: bottom }),
        element("text", { x, y: top - 14, "text-anchor": "middle" },
            axis.title),
        axis.ticks.filter((t) => t.label).map((t) =>
            element("g", {}, element("line", { x1: x - 4, x2: x,
                y1: y(t.at), y2: y(t.at) }),
            element("text", { x: x - 7, y: y(t.at) + 4,
                "text-anchor": "end" }, t.label))));
}

function sentence_of(axes, line, name_of) {
    return `${name_of(line.run)}: ` + axes.map((a, i) =>
        `${a.title} ${line.values[i] === null ? "none"
            : a.ticks.find((t) => t.at === line.values[i])?.label ||
                axis_text(a, line.values[i])}`).join(", ");
}

/* A strip over an axis: a drag along it keeps the lines of that part. */
function brush_strip(axis, x, top, bottom, brush, changed) {
    const part = (e) => {
        const box = strip.getBoundingClientRect();

        return (box.bottom - e.clientY) / box.height;
    };
    const [low, high] = brush.get(axis.title) ?? [0, 0];
    let from = 0;
    const strip = element("rect", { class: "brush", x: x - 12, y: top,
        width: 24, height: bottom - top, onpointerdown: (e) => {
            from = part(e);
            strip.setPointerCapture(e.pointerId);
        }, onpointerup: (e) => {
            const ends = [from, part(e)].sort((a, b) => a - b);

            brush.delete(axis.title);
            if (ends[1] - ends[0] > 0.02)
                brush.set(axis.title, ends);
            changed();
        } });

    return [element("rect", { class: "range", x: x - 5, width: 10,
        y: bottom - high * (bottom - top),
        height: (high - low) * (bottom - top) }), strip];
}

/* The lines that are within all parts of axes that were chosen. */
export function brushed_lines({ axes, lines }, brush) {
    return lines.filter((l) => axes.every((a, i) => {
        const [low, high] = brush.get(a.title) ?? [-Infinity, Infinity];
        const at = place_of(a, l.values[i] ?? NaN);

        return !brush.has(a.title) || (at >= low && at <= high);
    }));
}

/* One line for each run, across one axis for each parameter and metric; its
 * colour is that of its value of the last one. */
export function parallel_lines(parallel, name_of, baseline, brush, changed) {
    const { axes, lines } = parallel, wide = Math.max(width, 130 * axes.length);
    const step = (wide - 160) / Math.max(1, axes.length - 1);
    const top = 40, bottom = height - 20, x = (i) => 90 + i * step;
    const point = (line, i) => is_number(line.values[i])
        ? `${x(i)},${bottom - place_of(axes[i], line.values[i]) *
            (bottom - top)}` : null;
    const path = (line) => "M" + axes.map((a, i) => point(line, i))
        .filter((p) => p).join("L");
    const kept = new Set(brushed_lines(parallel, brush));

    return element("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img",
        class: "spread", style: { minWidth: `${wide}px`,
            maxWidth: `${1.2 * wide}px` },
        "aria-label": "Parallel coordinates of " +
            `${lines.length} runs over ` +
            axes.map((a) => a.title).join(", ") },
    lines.filter((l) => axes.some((a, i) => point(l, i))).map((line) =>
        element("path", { d: path(line), class: !kept.has(line) ? "line dim"
            : line.run === baseline ? "line baseline" : "line",
        style: { stroke: colour_of(line) } },
        element("title", {}, sentence_of(axes, line, name_of)))),
    axes.map((a, i) => axis_lines(a, x(i), top, bottom)),
    axes.flatMap((a, i) => brush_strip(a, x(i), top, bottom, brush, changed)));
}

/* A point for each run, at its values of two axes. */
export function scatter_points(parallel, across, down, name_of) {
    const ax = parallel.axes[across], ay = parallel.axes[down];
    const left = 90, right = 700, top = 30, bottom = height - 40;
    const x = (v) => left + place_of(ax, v) * (right - left);
    const y = (v) => bottom - place_of(ay, v) * (bottom - top);
    const drawn = parallel.lines.filter((l) =>
        is_number(l.values[across]) && is_number(l.values[down]));

    return element("svg", { viewBox: `0 0 ${right + 60} ${height}`,
        role: "img", class: "spread scatter", "aria-label":
            `${ay.title} against ${ax.title}, ${drawn.length} runs` },
    axis_lines(ay, left, top, bottom),
    element("g", { class: "axis" },
        element("line", { x1: left, x2: right, y1: bottom, y2: bottom }),
        element("text", { x: right, y: bottom + 34, "text-anchor": "end" },
            ax.title),
        ax.ticks.filter((t) => t.label).map((t) => element("g", {},
            element("line", { x1: x(t.at), x2: x(t.at), y1: bottom,
                y2: bottom + 4 }),
            element("text", { x: x(t.at), y: bottom + 17,
                "text-anchor": "middle" }, t.label)))),
    drawn.map((l) => element("circle", { cx: x(l.values[across]),
        cy: y(l.values[down]), r: 4.5 },
    element("title", {}, sentence_of([ax, ay],
        { run: l.run, values: [l.values[across], l.values[down]] },
        name_of)))));
}

/* The figure of a sweep over two parameters, as a table with its colours. */
export function heat_table(panel) {
    const { heat } = panel, n = heat.x.length;
    const cell = (c, i) => c ? element("td", { class: i === heat.best
        ? "number best" : "number", style: { background: c.colour,
        color: c.text_colour } }, c.text) : element("td", {}, "");
    const row = (name, i) => element("tr", {},
        element("th", { scope: "row" }, name),
        heat.cells.slice(i * n, (i + 1) * n).map((c, j) =>
            cell(c, i * n + j)));

    return element("div", { class: "wide", tabindex: "0" },
        element("table", { class: "heat" },
            element("caption", {}, `${heat.label}; down: ${panel.y.title}, ` +
                `across: ${panel.x.title}`),
            element("tbody", {}, heat.y.map(row).reverse(),
                element("tr", {}, element("td"), heat.x.map((name) =>
                    element("th", { scope: "col" }, name))))));
}
