/* charts.js is the view of all metrics of the chosen runs. */
import { begin_anew, edit, frozen, is_available, load_server } from "./api.js";
import { server } from "./api.js";
import { changes_set, chosen_runs, fill_run_list, is_alias } from "./chosen.js";
import { known_names, mark_near } from "./chosen.js";
import { announce, button, choice, element, empty, field } from "./dom.js";
import { is_narrow, more_controls, picker, problem, switcher } from "./dom.js";
import { Grid } from "./grid.js";
import { Media } from "./media.js";
import { address, change, state } from "./state.js";
import { split_list } from "./text.js";

const x_axes = [["step", "step"], ["tokens", "tokens"], ["time", "time"],
    ["wall", "wall-clock time"], ["gpuh", "GPU hours"],
    ["flops", "FLOPs"]];

const marks = [["", "usual"], ["resume", "resumes"],
    ["checkpoint", "checkpoints"], ["best", "best values"],
    ["spike", "spikes"], ["eval", "evaluations"]];

/* The slider's places: as the data need, not at all, or a part of the last mean
 * that is kept. */
const betas = ["", "none", "0.5", "0.8", "0.9", "0.95", "0.98", "0.99", "0.995",
    "0.998", "0.999"];

function smoothing() {
    const value = state.smooth.replace(/^ema:/, "");
    const shown = element("output", {}, value || "automatic");
    const slider = element("input", { type: "range", min: "0", "aria-label":
        "Smoothing", max: betas.length - 1, step: "1", oninput: () => {
        const beta = betas[slider.value];

        shown.textContent = beta || "automatic";
        change({ smooth: Number(beta) ? `ema:${beta}` : beta });
    } });

    slider.value = Math.max(0, betas.indexOf(value));
    return element("label", { class: "field" },
        element("span", {}, "Smoothing ", shown), slider);
}

function log_choice(label, key) {
    return choice(label, [["", "automatic"], ["1", "logarithmic"],
        ["0", "linear"]], state[key], (v) => change({ [key]: v, ...key ===
            "logx" ? { from: "", to: "" } : {} }));
}

/* The panels of one's own, by their texts or by the name that they are saved
 * under; as gplot dashboard draws them. */
function panel_controls() {
    const saved = Object.entries(server.stores[state.store]?.panels ?? {});
    const save = async (name) => {
        if (!name)
            return;
        try {
            await edit(state.store, { panels: { name, text: state.panels } });
            await load_server();
            announce(`Saved as ${name}.`);
        } catch (error) {
            announce(error.message);
        }
    };

    return [field("Panels", state.panels, (v) => change({ panels: v }),
        { placeholder: "loss, val/loss+train/loss|train/lr!", title:
            "Figures and metrics to show first; + joins metrics, | gives one " +
            "an axis on the right, ! makes a panel wide; RUN=TEXT calls a " +
            "run TEXT, and RUN#=3 has the third colour" }),
    saved.length ? picker("Saved panels", [["", ""], ...saved.map(([name, s]) =>
        [s, name])], "panels") : null,
    server.edit ? field("Save panels as", "", save, { oninput: null }) : null]
        .filter((node) => node);
}

/* The parameter that forms groups: of the mean, or else of the table. */
function group_param() {
    return state.mean || (split_list(state.group)[0] ?? "");
}

/* The colouring of runs that the server is asked for. */
function wanted_colour() {
    const { colour } = state, group = group_param();

    if (colour === "group")
        return group ? `param:${group}` : "";
    return colour === "run" ? "" : colour;
}

export class ChartsView {
    constructor() {
        this.runs = [];
        this.chosen = null; /* the parameters that name them */
        this.colours = new Map();
        this.names = { params: [], metrics: [] };
        this.grid = new Grid(this);
        this.media = new Media();
        this.bar = element("form", { class: "tools", onsubmit: (e) =>
            e.preventDefault() });
        this.list = element("ul", { class: "run-list" });
        this.count = element("summary");
        this.choose = element("a", {}, "choose runs");
        this.message = element("div");
        this.root = element("section", { class: "charts-view",
            "aria-label": "Charts" }, this.bar, this.message,
        element("div", { class: "beside" },
            element("aside", { "aria-label": "Runs shown" },
                element("details", { open: !is_narrow() }, this.count,
                    this.choose, this.list)),
            element("div", {}, this.grid.first, this.grid.root,
                this.media.root)));
        this.draw_bar();
    }

    /* The parameters of every request for a figure. */
    params() {
        const s = state, ids = this.runs.map((r) => r.id);

        return { store: s.store, ...this.chosen, x: s.x, smooth: s.smooth,
            logx: s.logx, logy: s.logy, outliers: s.outliers,
            finished: s.finished,
            mark: s.mark, from: s.from, to: s.to, group: s.mean,
            colour: wanted_colour(),
            alias: split_list(s.panels).filter(is_alias),
            baseline: ids.includes(s.baseline) ? s.baseline : "" };
    }

    panels() {
        return frozen ? [] : split_list(state.panels).filter((s) =>
            !is_alias(s));
    }

    pin(spec) {
        const own = spec.kind ?? spec.metric.replaceAll(",", "+");

        change({ panels: [...split_list(state.panels), own].join(","),
            chart: "" });
    }

    draw_bar() {
        const { params, metrics } = this.names;
        const means = [["", "no"], ...params];
        const groups = group_param() || state.colour === "group"
            ? [["group", "group"]] : [];
        const colours = [["run", "run"], ...groups,
            ...params.map((p) => [`param:${p}`, p])];
        const axes = [...x_axes.filter(([x]) => x === "step" ||
        is_available("/api/figure", "x", x)), ...metrics];
        const find = field("Find charts", state.find, (v) =>
            change({ find: v }), { id: "find" });
        const x = choice("Horizontal axis", axes, state.x, (v) =>
            change({ x: v, from: "", to: "" }));

        this.zoom = button("Reset zoom", "Show the whole range", () =>
            change({ from: "", to: "" }), { hidden: !state.from });
        const usual = [x, ...frozen ? [] : [smoothing()]];
        const more = more_controls("Scales, means and colours",
            ...is_narrow() ? usual : [],
            picker("Marks", marks, "mark"),
            log_choice("x scale", "logx"), log_choice("y scale", "logy"),
            picker("Mean and band by", means, "mean"),
            picker("Colour by", colours, "colour"),
            ...panel_controls(), switcher("Finished runs only", "finished"),
            switcher("Show outliers", "outliers"));

        this.bar.replaceChildren(find, ...is_narrow() && !frozen ? []
            : usual, ...frozen ? [] : [more], this.zoom);
    }

    draw_list() {
        fill_run_list(this.list, this.runs, (run) =>
            state.mean ? null : this.colours.get(run.id));
        this.count.replaceChildren(this.chosen_text);
        this.choose.href = address({ view: "runs" });
    }

    /* A figure says which colours the runs have. */
    loaded(figure) {
        let is_new = false;

        for (const curve of figure.panels.flatMap((p) => p.curves)) {
            if (!curve.run || curve.faint)
                continue;
            const colour = this.grid.charts.map((c) =>
                c.colour_of_run(curve.run)).find((c) => c);

            is_new ||= colour !== this.colours.get(curve.run);
            this.colours.set(curve.run, colour);
        }
        if (is_new)
            this.draw_list();
    }

    /* The run whose curve is nearest to the pointer, or null. */
    near(run) {
        mark_near(this.list, run);
    }

    command() {
        const large = this.grid.charts.find((c) => c.large) ??
            this.grid.charts.find((c) => c.seen && c.figure);

        return large?.figure?.command;
    }

    load() {
        return begin_anew(this, async (signal) => {
            const chosen = await chosen_runs(signal);

            this.runs = chosen.rows;
            this.chosen = chosen.params;
            this.chosen_text = chosen.text;
            this.message.replaceChildren(...this.runs.length ? []
                : [empty("There are no runs to draw.")]);
            this.draw_list();
            await this.grid.load(this.chosen, signal);
            await this.media.load(this.chosen, this.runs, signal);
            if (!frozen && !this.names.metrics.length) {
                this.names = await known_names(signal);
                this.draw_bar();
            }
        }, (error) => this.message.replaceChildren(problem(error)));
    }

    update(changed) {
        if (changes_set(changed)) {
            this.load();
            return;
        }
        if (["find", "chart", "panels"].some((k) => changed.has(k)))
            this.grid.make();
        else
            this.grid.reload();
        if (["find", "panels", "edit", "x", "smooth", "logx", "logy", "mean",
            "colour", "mark", "outliers", "finished"].some((k) =>
            changed.has(k)) && !this.bar.contains(document.activeElement))
            this.draw_bar(); /* the Back button was pressed */
        this.zoom.hidden = !state.from;
        if (changed.has("theme"))
            this.grid.charts.forEach((c) => c.figure && this.loaded(c.figure));
        if (["hidden", "baseline", "theme"].some((k) => changed.has(k)))
            this.draw_list();
    }

    async refresh(ids) {
        const shown = this.runs.map((r) => r.id);

        if (!state.runs.length || this.runs.some((r) =>
            r.status === "RUNNING" && ids.includes(r.id)))
            await this.load();
        await this.grid.refresh(shown, ids);
    }

    keys() {
        return { "/": () => document.getElementById("find")?.focus() };
    }

    close() {
        this.stop?.abort();
        this.grid.close();
    }
}
