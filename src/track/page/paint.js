/*
 * paint.js turns numbers of an axis into places and back, and paints a panel of
 * a figure on a canvas: axes, bands, curves, marks.  The server decided what
 * the figure shows, with which ranges and ticks, and where.
 */
import { number_text, visible } from "./text.js";

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
function axis_part(axis, from, to) {
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

const dashes = [[], [7, 3], [2, 3], [7, 3, 2, 3], [12, 3, 3, 3]];
const font = "11px system-ui, sans-serif";
const path_points = 32, crowded = 8;

export function is_dark() {
    const theme = document.documentElement.dataset.theme;

    return theme ? theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colour_of(thing) {
    return is_dark() && thing.colour_dark || thing.colour;
}

/* The colours of text and grid. */
export function theme_of(figure) {
    return figure.theme[is_dark() ? "dark" : "light"];
}

/* The panel with the ranges that the reader chose; null keeps the panel's. */
export function zoomed(panel, x_range, y_range) {
    return { ...panel,
        x: x_range ? axis_part(panel.x, ...x_range) : panel.x,
        y: y_range ? axis_part(panel.y, ...y_range) : panel.y };
}

function widest(c, axis) {
    return Math.max(12, ...axis.ticks.map((t) => c.measureText(t.label).width));
}

/* The rectangle between the axes, in pixels of a panel of this size. */
export function inner_box(c, panel, top, width, height) {
    c.font = font;
    const x0 = Math.ceil(widest(c, panel.y)) + 12;
    const right = panel.y2 ? Math.ceil(widest(c, panel.y2)) + 14 : 14;

    return { x0, x1: width - right, y0: top + 20, y1: top + height - 32 };
}

export function x_pixel(box, panel, v) {
    return box.x0 + place_of(panel.x, v) * (box.x1 - box.x0);
}

export function y_pixel(box, axis, v) {
    return box.y1 - place_of(axis, v) * (box.y1 - box.y0);
}

export function paint_line(c, x0, y0, x1, y1) {
    c.beginPath();
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.stroke();
}

function paint_x_axis(c, panel, box, theme) {
    let end = -Infinity;

    c.textAlign = "center";
    c.textBaseline = "top";
    for (const tick of panel.x.ticks) {
        const x = Math.round(x_pixel(box, panel, tick.at)) + 0.5;
        const half = c.measureText(tick.label).width / 2;

        if (x < box.x0 - 1 || x > box.x1 + 1)
            continue;
        if (tick.label) {
            c.strokeStyle = theme.grid;
            paint_line(c, x, box.y0, x, box.y1);
        }
        c.strokeStyle = theme.text;
        paint_line(c, x, box.y1, x, box.y1 + (tick.label ? 4 : 2));
        if (x - half < end + 4)
            continue;
        c.fillText(visible(tick.label), x, box.y1 + 6);
        end = tick.label ? x + half : end;
    }
    c.textAlign = "right";
    c.fillText(visible(panel.x.title), box.x1, box.y1 + 19);
}

function paint_y_axis(c, axis, box, theme, right) {
    const x = right ? box.x1 : box.x0, out = right ? 4 : -4;

    c.textAlign = right ? "left" : "right";
    c.textBaseline = "middle";
    for (const tick of axis.ticks) {
        const y = Math.round(y_pixel(box, axis, tick.at)) + 0.5;

        if (y < box.y0 - 1 || y > box.y1 + 1)
            continue;
        if (tick.label && !right) {
            c.strokeStyle = theme.grid;
            paint_line(c, box.x0, y, box.x1, y);
        }
        c.strokeStyle = theme.text;
        paint_line(c, x, y, x + (tick.label ? out : out / 2), y);
        c.fillText(visible(tick.label), x + 1.5 * out, y);
    }
    c.textAlign = right ? "right" : "left";
    c.textBaseline = "bottom";
    c.fillText(visible(axis.title), right ? box.x1 + 10 : 4, box.y0 - 6);
}

function paint_axes(c, panel, box, theme) {
    c.font = font;
    c.fillStyle = theme.text;
    c.lineWidth = 1;
    c.setLineDash([]);
    paint_x_axis(c, panel, box, theme);
    paint_y_axis(c, panel.y, box, theme, false);
    if (panel.y2)
        paint_y_axis(c, panel.y2, box, theme, true);
    c.strokeStyle = theme.text;
    paint_line(c, box.x0 + 0.5, box.y0, box.x0 + 0.5, box.y1 + 0.5);
    paint_line(c, box.x0, box.y1 + 0.5, box.x1, box.y1 + 0.5);
}

export function axis_of(panel, curve) {
    return curve.right && panel.y2 ? panel.y2 : panel.y;
}

function paint_band(c, panel, box, curve) {
    const axis = axis_of(panel, curve), n = curve.x.length;
    const point = (i, list) =>
        [x_pixel(box, panel, curve.x[i]), y_pixel(box, axis, list[i])];

    c.globalAlpha = 0.18;
    c.fillStyle = colour_of(curve);
    for (let from = 0; from < n;) {
        let to = from;

        while (to < n && curve.y_low[to] !== null)
            to++;
        c.beginPath();
        for (let i = from; i < to; i++)
            c.lineTo(...point(i, curve.y_low));
        for (let i = to - 1; i >= from; i--)
            c.lineTo(...point(i, curve.y_high));
        c.fill();
        from = to + 1;
    }
    c.globalAlpha = 1;
}

function paint_bars(c, panel, box, curve) {
    const axis = axis_of(panel, curve);

    c.strokeStyle = colour_of(curve);
    curve.x.forEach((v, i) => {
        const x = x_pixel(box, panel, v);

        if (curve.y_low[i] !== null)
            paint_line(c, x, y_pixel(box, axis, curve.y_low[i]), x,
                y_pixel(box, axis, curve.y_high[i]));
    });
}

/* The distance from each point to the next; 0 across a gap. */
function lengths_of(x, y) {
    const length = (i) => Math.hypot(x[i] - x[i - 1], y[i] - y[i - 1]);

    return x.map((v, i) => Number.isFinite(length(i)) ? length(i) : 0);
}

/* Draw a line in short paths: the time that one path takes grows faster than
 * its number of points. */
function paint_line_of(c, x, y, lengths) {
    let begun = 0, drawn = 0;

    c.beginPath();
    for (let i = 0; i < x.length; i++) {
        drawn += lengths[i];
        if (!Number.isFinite(y[i]))
            continue;
        if (Number.isFinite(y[i - 1]))
            c.lineTo(x[i], y[i]);
        else
            c.moveTo(x[i], y[i]);
        if (i - begun < path_points)
            continue;
        c.stroke();
        c.beginPath();
        c.lineDashOffset = drawn;
        c.moveTo(x[i], y[i]);
        begun = i;
    }
    c.stroke();
    c.lineDashOffset = 0;
}

/* A line that goes up and down all the time is a hairline: a wider one takes
 * many times longer, and fills the space between its points. */
function line_width(box, curve, lengths) {
    const length = lengths.reduce((a, b) => a + b, 0);

    return length > crowded * (box.x1 - box.x0)
        ? 1 / (window.devicePixelRatio || 1)
        : curve.best ? 2.6 : curve.thin || curve.faint ? 1 : 1.6;
}

function paint_curve(c, panel, box, curve) {
    const axis = axis_of(panel, curve);
    const x = curve.x.map((v) => x_pixel(box, panel, v));
    const y = curve.y.map((v, i) => v === null || !Number.isFinite(x[i]) ? NaN
        : y_pixel(box, axis, v));
    const lengths = lengths_of(x, y);

    c.globalAlpha = curve.faint ? 0.3 : 1;
    c.strokeStyle = c.fillStyle = colour_of(curve);
    c.lineWidth = line_width(box, curve, lengths);
    c.lineJoin = "round";
    c.setLineDash(dashes[(curve.dash || 0) % dashes.length]);
    if (curve.style !== "points")
        paint_line_of(c, x, y, lengths);
    c.setLineDash([]);
    if (curve.style !== "line" || curve.x.length === 1)
        paint_points(c, panel, box, curve, axis);
    c.globalAlpha = 1;
}

export function paint_dot(c, x, y, radius) {
    c.beginPath();
    c.arc(x, y, radius, 0, 7);
    c.fill();
}

function paint_points(c, panel, box, curve, axis) {
    for (let i = 0; i < curve.x.length; i += curve.every ?? 1)
        if (curve.y[i] !== null)
            paint_dot(c, x_pixel(box, panel, curve.x[i]),
                y_pixel(box, axis, curve.y[i]), 2.2);
}

function paint_cross(c, x, y) {
    paint_line(c, x - 3, y - 3, x + 3, y + 3);
    paint_line(c, x - 3, y + 3, x + 3, y - 3);
}

/* Values go on beyond the panel here. */
function paint_arrow(c, x, y, high) {
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x - 4, y + high);
    c.lineTo(x + 4, y + high);
    c.fill();
}

function paint_mark(c, panel, box, mark, theme) {
    const x = mark.at_x === null ? 0 : x_pixel(box, panel, mark.at_x);
    const y = mark.at_y === null ? 0 : y_pixel(box, panel.y, mark.at_y);

    c.strokeStyle = c.fillStyle = colour_of(mark) ?? theme.grey;
    c.lineWidth = 1.2;
    c.setLineDash(mark.small ? [] : mark.kind === "at-y" ? [7, 4] : [2, 3]);
    if (mark.kind === "at-x")
        paint_line(c, x, box.y0, x, mark.small ? box.y0 + 6 : box.y1);
    else if (mark.kind === "at-y")
        paint_line(c, box.x0, y, box.x1, y);
    c.setLineDash([]);
    if (mark.kind === "nan")
        paint_cross(c, x, box.y1 - 6);
    if (mark.kind === "above")
        paint_arrow(c, x, box.y0 + 3, 7);
    if (mark.kind === "below")
        paint_arrow(c, x, box.y1 - 3, -7);
    if (mark.kind === "at-xy") {
        c.beginPath();
        c.arc(x, y, 4, 0, 7);
        c.stroke();
    }
    if (mark.label)
        paint_mark_label(c, box, mark, x, y);
}

function paint_mark_label(c, box, mark, x, y) {
    const vertical = mark.kind !== "at-y" && mark.kind !== "beyond";
    const late = x > (box.x0 + box.x1) / 2;

    c.textBaseline = "bottom";
    c.textAlign = !vertical || late ? "right" : "left";
    c.fillText(visible(mark.label),
        vertical ? x + (late ? -5 : 5) : box.x1 - 4,
        mark.kind === "at-xy" ? y - 5
            : vertical ? (mark.kind === "nan" ? box.y1 - 10 : box.y0 + 14)
                : y - 3);
}

/* Until restore(), only what is inside of the axes is painted. */
function begin_inside(c, box) {
    c.save();
    c.beginPath();
    c.rect(box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0 + 1);
    c.clip();
}

/* The curves of a run by themselves, thicker than others. */
export function paint_run(c, panel, box, run) {
    begin_inside(c, box);
    for (const curve of panel.curves)
        if (curve.run === run && !curve.faint)
            paint_curve(c, panel, box, { ...curve, best: true });
    c.restore();
}

/* The cells of a map, row by row, the lowest first. */
function paint_cells(c, panel, box) {
    const { heat } = panel, n = heat.x.length, rows = heat.y.length;
    const x = (i) => Math.round(box.x0 + i * (box.x1 - box.x0) / n);
    const y = (j) => Math.round(box.y1 - j * (box.y1 - box.y0) / rows);

    heat.cells.forEach((cell, k) => {
        const i = k % n, j = Math.floor(k / n);

        c.fillStyle = cell?.colour ?? "transparent";
        c.fillRect(x(i), y(j + 1), x(i + 1) - x(i), y(j) - y(j + 1));
    });
}

function level_of(curve) {
    return curve.faint ? 0 : curve.best ? 2 : 1;
}

/* Paint the panel into the box that inner_box() gave for it. */
export function paint_panel(c, panel, box, theme) {
    paint_axes(c, panel, box, theme);
    begin_inside(c, box);
    if (panel.heat)
        paint_cells(c, panel, box);
    for (const curve of panel.curves)
        if (curve.y_low && !curve.bars)
            paint_band(c, panel, box, curve);
        else if (curve.y_low)
            paint_bars(c, panel, box, curve);
    for (let level = 0; level < 3; level++)
        for (const curve of panel.curves)
            if (level_of(curve) === level)
                paint_curve(c, panel, box, curve);
    c.font = font;
    for (const mark of panel.marks ?? [])
        paint_mark(c, panel, box, mark, theme);
    c.restore();
}
