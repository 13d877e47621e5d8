/* importance.js shows the mean of a metric over each value of parameters. */
import { element } from "./dom.js";
import { is_number } from "./scale.js";
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
