/*
 * scale.js turns numbers of an axis into places and back.  Ranges and ticks are
 * those of the figure; a saved page, which cannot ask for others when it zooms,
 * makes the ticks of a part itself.
 */
import { frozen } from "./api.js";
import { number_text } from "./text.js";

/* The part of an axis at v: 0 at its beginning, 1 at its end. */
export function place_of(axis, v) {
    return axis.log ? Math.log(v / axis.from) / Math.log(axis.to / axis.from)
        : (v - axis.from) / (axis.to - axis.from);
}

/* The number at a part of an axis. */
export function number_at(axis, part) {
    return axis.log ? axis.from * (axis.to / axis.from) ** part
        : axis.from + part * (axis.to - axis.from);
}

function round_ticks(axis) {
    const unit = axis.factor || 1, span = (axis.to - axis.from) / unit;
    const rough = 10 ** Math.floor(Math.log10(span / 4));
    const step = [1, 2, 5, 10].find((m) => m * rough >= span / 6) * rough;
    const ticks = [];

    for (let i = Math.ceil(axis.from / unit / step); i * step * unit <= axis.to;
        i++)
        ticks.push({ at: i * step * unit, label: number_text(i * step) });
    return ticks;
}

/* The same axis from one number to another. */
export function axis_part(axis, from, to) {
    const part = { ...axis, from, to };

    part.ticks = axis.ticks.filter((t) => t.at >= from && t.at <= to);
    if (frozen && part.ticks.filter((t) => t.label).length < 3)
        part.ticks = round_ticks(part);
    return part;
}

/* A number as the axis writes it, with all its digits. */
export function axis_text(axis, v) {
    return number_text(v / (axis.factor || 1));
}

/* The index of the x that is nearest to v, among ascending ones. */
export function nearest(x, v) {
    let low = 0, high = x.length - 1;

    while (low < high) {
        const middle = low + high >> 1;

        if (x[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && v - x[low - 1] < x[low] - v ? low - 1 : low;
}
