/*
 * chart.js is one figure on the page: it asks for the figure when it is in
 * sight, and shows the values under the pointer and what its lines stand for.
 *
 * Charts of one view share a link: link.params() is what all figures are asked
 * with, link.is_shown(run) says which curves are drawn, link.zoom(range) and
 * link.point(x) tell all charts of a range and of the pointer, link.near(run)
 * of the run whose curve is nearest to it, and link.open(run) shows a run.
 */
import { ask, begin_anew, frozen, query_of, url_of } from "./api.js";
import { button, copy_button, element, problem } from "./dom.js";
import { colour_of, inner_box, paint_panel, paint_run } from "./paint.js";
import { theme_of, x_pixel, y_pixel, zoomed } from "./paint.js";
import { follow_pointer } from "./pointer.js";
import { line_text, number_text, visible } from "./text.js";
import { map_column, map_value, nearest_value } from "./values.js";
import { paint_pointer, value_table, values_at } from "./values.js";
import { values_range } from "./values.js";

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

function legend_nodes(figure) {
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

/* Buttons over the marks that have a command, such as spikes: each opens a note
 * with the command, which can be copied. */
function open_note(mark, opener) {
    const area = opener.closest(".area");
    const close = () => {
        note.remove();
        opener.focus();
    };
    const note = element("div", { class: "mark-note", role: "dialog",
        "aria-label": "What was in this batch?", onkeydown: (e) => {
            e.stopPropagation();
            if (e.key === "Escape")
                close();
        } }, element("code", {}, mark.command), " ",
    copy_button(() => mark.command, "Copy"),
    button("Close", "Close this note", close));

    area.querySelector(".mark-note")?.remove();
    area.append(note);
    note.style.left = `${Math.max(0, Math.min(opener.offsetLeft,
        area.clientWidth - note.offsetWidth))}px`;
    note.style.top = `${opener.offsetTop + opener.offsetHeight + 4}px`;
    note.querySelector("button").focus();
}

function mark_button(mark, x, y) {
    return button("", mark.command, (e) => open_note(mark, e.currentTarget), {
        class: "mark", "aria-label": `Show the command ${mark.command}`,
        style: { left: `${x}px`, top: `${y}px` } });
}

/* The buttons of a panel in its box; those of values above it are at its upper
 * edge. */
function mark_buttons(panel, box) {
    return (panel.marks ?? []).filter((m) => m.command).flatMap((mark) => {
        const x = x_pixel(box, panel, mark.at_x);
        const y = Math.max(box.y0, y_pixel(box, panel.y, mark.at_y));

        return x >= box.x0 && x <= box.x1 && y <= box.y1
            ? [mark_button(mark, x, y)] : [];
    });
}

/* What the title of an axis says that the heading does not: its unit. */
function axis_words(title, heading) {
    return title.toLowerCase().startsWith((heading || " ").toLowerCase())
        ? title.slice(heading.length).replace(/^ \((.*)\)$/, "$1") : title;
}

export class Chart {
    constructor(spec, link, large) {
        this.spec = spec;
        this.link = link;
        this.large = large;
        this.figure = null;
        this.asked = "";     /* the request of the figure that is shown */
        this.y_range = null; /* as chosen by the reader */
        this.seen = false;
        this.stale = false;  /* a run has changed since */
        this.base = element("canvas");
        this.over = element("canvas", { class: "over", tabindex: "0" });
        this.tip = element("div", { class: "tip", hidden: true });
        this.marks = element("div", { class: "marks" });
        this.area = element("div", { class: "area" }, this.base, this.over,
            this.marks, this.tip);
        this.notes = element("div", { class: "notes" });
        this.lines = element("span", { class: "legend" });
        this.root = element("figure", { class: large ? "chart large"
            : spec.panel?.endsWith("!") ? "chart double" : "chart" },
        this.make_caption(), this.area, this.notes);
        follow_pointer(this);
    }

    make_caption() {
        const { spec, link, large } = this;
        const title = large ? element("h2", {}, spec.title)
            : !link.enlarge ? element("h3", {}, spec.title)
                : button(spec.title, "Enlarge this chart", () =>
                    link.enlarge(spec), { class: "title" });
        const formats = large && !frozen ? ["svg", "pdf", "png"] : [];

        return element("figcaption", {}, title, this.lines,
            element("span", { class: "actions" },
                large || !link.enlarge
                    ? copy_button(() => this.figure?.command, "Copy") : null,
                formats.map((f) => element("a", { href: "#", class: "button",
                    onclick: (e) => this.download(e, f) },
                f.toUpperCase())),
                large && link.pin && (spec.kind || spec.metric) ? button("Pin",
                    "Show this chart first, as one of the panels", () =>
                        link.pin(spec)) : null,
                large ? button("Close", "Show all charts", () =>
                    link.enlarge(null)) : null));
    }

    subject() {
        const { kind, metric, param, hist, panel, run } = this.spec;

        return kind ? { kind } : panel ? { panel } : hist ? { hist,
            runs: [run], filter: "", first: "" } : { metric, param };
    }

    download(e, format) {
        e.currentTarget.href = url_of("/api/download", {
            ...this.params(), format });
    }

    params() {
        const [yfrom, yto] = this.y_range ?? ["", ""];

        return { ...this.link.params(), ...this.subject(), yfrom, yto,
            width: Math.round(this.area.clientWidth),
            height: Math.round(this.area.clientHeight) };
    }

    /* Ask for the figure again if it is in sight and would differ. */
    async load() {
        const params = this.params(), wanted = query_of(params);

        if (!this.seen || !(params.runs?.length || params.first) ||
            !params.width ||
            (wanted === this.asked && !this.stale))
            return;
        this.stale = false;
        this.asked = wanted;
        this.root.setAttribute("aria-busy", "true");
        await begin_anew(this, async (signal) => {
            this.figure = await ask("/api/figure", params, signal);
            this.ranges = JSON.stringify([params.from, params.to,
                this.y_range]);
            this.link.loaded(this.figure);
            this.paint();
            this.root.removeAttribute("aria-busy");
        }, (error) => this.fail(error));
    }

    fail(error) {
        this.asked = "";
        this.root.removeAttribute("aria-busy");
        this.notes.replaceChildren(problem(error));
    }

    /* The panels to draw: without hidden runs, and zoomed as the reader has
     * done since the figure was requested. */
    panels() {
        const { from, to } = this.link.params();
        const is_new = !frozen && this.ranges ===
            JSON.stringify([from, to, this.y_range]);
        const x_range = is_new || from === "" ? null
            : [Number(from), Number(to)];

        return this.figure.panels.map((p) => {
            if (p.heat)
                return p;
            const shown = { ...p, y: { ...p.y, title: axis_words(p.y.title,
                this.figure.panels.length > 1 ? p.title : this.spec.title) },
            curves: p.curves.filter((c) =>
                this.link.is_shown(c.run)) };

            return zoomed(shown, x_range, is_new ? null : this.y_range ??
                (frozen && x_range ? values_range(shown, x_range) : null));
        });
    }

    paint() {
        const width = this.area.clientWidth, height = this.area.clientHeight;

        if (!this.figure || !width)
            return;
        const c = fit_canvas(this.base, width, height);
        const theme = theme_of(this.figure);
        const panels = this.panels(), each = height / panels.length;

        this.shown = panels.map((panel, i) => ({ panel,
            box: inner_box(c, panel, i * each, width, each) }));
        for (const { panel, box } of this.shown) {
            paint_panel(c, panel, box, theme);
            if (panels.length > 1)
                paint_title(c, panel, box, theme);
        }
        this.marks.replaceChildren(...this.shown.flatMap(({ panel, box }) =>
            mark_buttons(panel, box)));
        this.area.dataset.painted = "";
        this.show_words();
        this.paint_over();
    }

    show_words() {
        this.lines.replaceChildren(...legend_nodes(this.figure));
        this.notes.replaceChildren(...(this.figure.notes ?? []).map((n) =>
            element("p", {}, n)));
        this.over.setAttribute("role", "img");
        this.over.setAttribute("aria-label", `${this.spec.title}. ` +
            `${this.figure.caption ?? ""} Use the arrow keys to read values.`);
    }

    /* Show the pointer at x, with a list of values if it is on this chart; y is
     * the pixel where it is, if it is a mouse or a finger. */
    point(x, is_here, y) {
        this.pointed = x;
        this.pointed_y = y ?? null;
        this.is_here = is_here;
        if (is_here)
            this.link.near?.(this.nearest()?.curve.run ?? null);
        this.paint_over();
    }

    /* The value that is nearest to the pointer, or null. */
    nearest() {
        const found = this.pointed === null || this.pointed_y === null ? null
            : this.shown?.find(({ box }) => this.pointed_y <= box.y1 + 32);

        return found ? nearest_value(found.panel, found.box,
            values_at(found.panel, this.pointed), this.pointed_y) : null;
    }

    /* Draw the curves of a run once more, thicker. */
    emphasise(run) {
        if (run === this.emphasised)
            return;
        this.emphasised = run;
        this.paint_over();
    }

    paint_over() {
        if (!this.shown || !this.seen)
            return;
        const c = fit_canvas(this.over, this.area.clientWidth,
            this.area.clientHeight);
        const theme = theme_of(this.figure), x = this.pointed ?? null;
        const list = [];

        const near = this.is_here ? this.nearest() : null;

        this.paint_selection(c, theme);
        for (const { panel, box } of this.shown) {
            const values = x === null ? [] : values_at(panel, x);

            if (panel.heat) {
                list.push(...this.is_here && x !== null
                    ? map_value(panel, box, x, this.pointed_y) : []);
                continue;
            }
            if (this.emphasised)
                paint_run(c, panel, box, this.emphasised);
            if (x !== null)
                paint_pointer(c, panel, box, x, values, theme);
            if (this.is_here && values.length)
                list.push(...value_table(panel, values, x, near));
        }
        this.show_tip(list);
    }

    paint_selection(c, theme) {
        const s = this.selection;

        if (!s)
            return;
        c.globalAlpha = 0.2;
        c.fillStyle = theme.grey;
        c.fillRect(s.x, s.y, s.width, s.height);
        c.globalAlpha = 1;
    }

    show_tip(list) {
        this.tip.hidden = !list.length || Boolean(this.selection);
        if (this.tip.hidden)
            return;
        this.tip.replaceChildren(...list);
        const { panel, box } = this.shown[0];
        const room = innerWidth - this.area.getBoundingClientRect().left - 8;
        const wide = this.tip.offsetWidth;
        const at = Math.min(box.x1, Math.max(box.x0,
            x_pixel(box, panel, panel.heat
                ? map_column(panel.heat, this.pointed) : this.pointed)));
        const left = at + 14 + wide < room ? at + 14 : at - 14 - wide;

        this.tip.style.left = `${Math.max(-8, Math.min(left, room - wide))}px`;
        this.tip.style.top = `${box.y0}px`;
    }

    /* The colour of a run in this chart, or nothing. */
    colour_of_run(run) {
        const curve = this.figure?.panels.flatMap((p) => p.curves)
            .find((c) => c.run === run && !c.faint);

        return curve ? colour_of(curve) : null;
    }
}

/* A canvas of this many CSS pixels, empty. */
export function fit_canvas(canvas, width, height) {
    const dense = window.devicePixelRatio || 1;
    const c = canvas.getContext("2d");

    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    c.scale(dense, dense);
    return c;
}

function paint_title(c, panel, box, theme) {
    c.fillStyle = theme.text;
    c.textAlign = "right";
    c.textBaseline = "bottom";
    c.fillText(visible(panel.title), box.x1, box.y0 - 6);
}
