/*
 * legend.js says what the lines of a chart stand for, unless the list of runs
 * beside the charts says so: dashes, groups, and the colours of a parameter.
 */
import { element } from "./dom.js";
import { colour_of } from "./paint.js";
import { line_text, number_text } from "./text.js";

const most_lines = 16; /* of more, only the pointer says which they are */

function entry(text, curve, is_coloured) {
    return element("span", {}, element("i", { class: `line dash${curve.dash}`,
        style: { color: is_coloured ? colour_of(curve) : "" } }), text);
}

/* The first curve of each text, in their order. */
function first_of_each(curves, text_of) {
    return [...Map.groupBy(curves, text_of)].filter(([text]) => text)
        .map(([text, [first]]) => [text, first]);
}

/* The colours that stand for the values of a parameter. */
function ramp_bar(ramp) {
    const stops = ramp.stops.map(colour_of).join(", ");

    return element("span", {}, `${ramp.label} ${number_text(ramp.from)} `,
        element("i", { class: "ramp", style: { background:
            `linear-gradient(to right, ${stops})` } }),
        ` ${number_text(ramp.to)}`);
}

/* The colours of a map, from its lowest to its highest value. */
function map_bar({ cells, label }) {
    const known = cells.filter((c) => c).sort((a, b) => a.value - b.value);
    const [low, high] = [known[0].value, known.at(-1).value];
    const stops = [...Array(9).keys()].map((k) => known.find((c) =>
        c.value >= low + (high - low) * k / 8) ?? known.at(-1));

    return ramp_bar({ label, from: low, to: high, stops });
}

export function legend_nodes(figure) {
    const curves = figure.panels.flatMap((p) => p.curves)
        .filter((c) => !c.faint);
    /* of many runs, some have dashes of their own */
    const plain = [...curves].sort((a, b) => a.dash - b.dash);
    const is_one_run = new Set(curves.map((c) => c.run)).size === 1;
    const lines = first_of_each(plain, is_one_run ? line_text : (c) => c.line);
    const groups = first_of_each(curves, (c) => c.run ? null : c.label);
    const values = first_of_each(curves, (c) => c.value);
    const ramps = figure.panels.map((p) => p.ramp).filter((r) => r);

    return groups.length ? groups.map(([text, c]) => entry(text, c, true))
        : [...lines.length > 1 && lines.length <= most_lines
            ? lines.map(([text, c]) => entry(text, c, is_one_run)) : [],
        ...values.map(([text, c]) => entry(text, { ...c, dash: 0 }, true)),
        ...ramps.map(ramp_bar),
        ...figure.panels.flatMap((p) => p.heat ? [map_bar(p.heat)] : [])];
}
