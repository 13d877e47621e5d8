/*
 * pointer.js lets mouse, finger and keyboard read values of a chart and zoom:
 * drag along x to zoom all charts, along y to zoom one; double-click to see the
 * whole range again.
 */
import { number_at, place_of } from "./paint.js";
import { nearest_x, next_x } from "./values.js";

function place_in(chart, event) {
    const area = chart.over.getBoundingClientRect();

    return { x: event.clientX - area.left, y: event.clientY - area.top };
}

function part_of_x(box, x) {
    return Math.min(1, Math.max(0, (x - box.x0) / (box.x1 - box.x0)));
}

function part_of_y(box, y) {
    return Math.min(1, Math.max(0, (box.y1 - y) / (box.y1 - box.y0)));
}

/* The panel below the pointer, with its box. */
function panel_at(chart, y) {
    return chart.shown?.find(({ box }) => y <= box.y1 + 32) ??
        chart.shown?.at(-1);
}

function select_area(chart, from, to) {
    const { box } = panel_at(chart, from.y);
    const is_wide = Math.abs(to.x - from.x) >= Math.abs(to.y - from.y);

    chart.selection = is_wide
        ? { x: Math.min(from.x, to.x), width: Math.abs(to.x - from.x),
            y: box.y0, height: box.y1 - box.y0 }
        : { x: box.x0, width: box.x1 - box.x0, y: Math.min(from.y, to.y),
            height: Math.abs(to.y - from.y) };
    chart.paint_over();
}

function zoom_to_selection(chart, from, to) {
    const { panel, box } = panel_at(chart, from.y);
    const wide = Math.abs(to.x - from.x), high = Math.abs(to.y - from.y);

    if (panel.heat) {
        chart.paint_over();
    } else if (wide >= high && wide > 6) {
        chart.link.zoom([from.x, to.x].sort((a, b) => a - b)
            .map((x) => number_at(panel.x, part_of_x(box, x))));
    } else if (high > wide && high > 6) {
        chart.y_range = [from.y, to.y].sort((a, b) => b - a)
            .map((y) => number_at(panel.y, part_of_y(box, y)));
        chart.paint();
        chart.load();
    }
}

function point_at(chart, place) {
    const found = panel_at(chart, place.y);

    if (!found)
        return;
    const x = number_at(found.panel.x, part_of_x(found.box, place.x));

    chart.link.point(nearest_x(found.panel, x), chart, place.y);
}

/* A click on a curve shows its run. */
function open_nearest(chart, place) {
    point_at(chart, place);
    const found = chart.nearest(), close = 12;

    if (found?.curve.run && found.off < close)
        chart.link.open?.(found.curve.run);
}

function reset(chart) {
    chart.y_range = null;
    chart.link.zoom(null);
    chart.paint();
    chart.load();
}

function zoom_by(chart, factor) {
    const { panel } = chart.shown[0], centre = chart.pointed ?? null;
    const middle = centre === null ? 0.5 : place_of(panel.x, centre);
    const from = middle - factor / 2, to = middle + factor / 2;

    chart.link.zoom([number_at(panel.x, from), number_at(panel.x, to)]);
}

function press_key(chart, event) {
    const step = event.shiftKey ? 10 : 1;
    const panel = chart.shown?.[0]?.panel;
    const move = (n) => chart.link.point(next_x(panel, chart.pointed ?? null,
        n), chart);
    const keys = {
        ArrowLeft: () => move(-step),
        ArrowRight: () => move(step),
        "+": () => zoom_by(chart, 0.5),
        "-": () => zoom_by(chart, 2),
        0: () => reset(chart),
        Escape: () => chart.link.point(null, chart),
        Enter: () => chart.link.enlarge?.(chart.large ? null : chart.spec),
    };

    if (!panel || !Object.hasOwn(keys, event.key) || event.ctrlKey ||
        event.metaKey)
        return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
}

export function follow_pointer(chart) {
    let start = null;

    chart.over.addEventListener("pointerdown", (e) => {
        if (e.button !== 0 || !chart.shown)
            return;
        start = place_in(chart, e);
        chart.over.setPointerCapture(e.pointerId);
    });
    chart.over.addEventListener("pointermove", (e) => {
        if (start)
            select_area(chart, start, place_in(chart, e));
        else
            point_at(chart, place_in(chart, e));
    });
    chart.over.addEventListener("pointerup", (e) => {
        const end = place_in(chart, e);
        const is_click = start && e.pointerType !== "touch" &&
            Math.hypot(end.x - start.x, end.y - start.y) < 3;

        if (start)
            zoom_to_selection(chart, start, end);
        start = chart.selection = null;
        if (is_click)
            open_nearest(chart, end);
        else
            point_at(chart, end);
    });
    chart.over.addEventListener("pointercancel", () => {
        start = chart.selection = null;
        chart.paint_over();
    });
    chart.over.addEventListener("pointerleave", (e) => {
        /* a finger that is lifted leaves the values that it pointed to */
        if (!start && e.pointerType !== "touch")
            chart.link.point(null, chart);
    });
    chart.over.addEventListener("dblclick", () => reset(chart));
    chart.over.addEventListener("blur", () => chart.link.point(null, chart));
    chart.over.addEventListener("keydown", (e) => press_key(chart, e));
}
