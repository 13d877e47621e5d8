/*
 * scale.js turns numbers of an axis into places and back.  Ranges and ticks are
 * those of the figure.
 */
import { number_text } from "./text.js";

/* The part of an axis at v: 0 at its beginning, 1 at its end. */
export function place_of(axis, v) {
    return axis.log ? Math.log(v / axis.from) / Math.log(axis.to / axis.from)
        : (v - axis.from) / (axis.to - axis.from);
}

export function number_at(axis, part) {
    return axis.log ? axis.from * (axis.to / axis.from) ** part
        : axis.from + part * (axis.to - axis.from);
}

/* A saved page has the ticks of several levels, each as AT, LABEL, ... */
function tick_levels(axis) {
    return [axis.ticks, ...(axis.finer ?? []).map((level) =>
        level.filter((v, i) => i % 2 === 0).map((at, i) =>
            ({ at, label: level[2 * i + 1] })))];
}

/* A part of an axis, with the first of its sets of ticks that has enough of
 * them. */
export function axis_part(axis, from, to) {
    const levels = tick_levels(axis).map((ticks) =>
        ticks.filter((t) => t.at >= from && t.at <= to));
    const ticks = levels.find((l) => l.filter((t) => t.label).length > 2) ??
        levels.at(-1);

    return { ...axis, from, to, ticks };
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

export function is_number(v) {
    return typeof v === "number" && Number.isFinite(v);
}
