/* compare.js is the view that compares the chosen runs. */
import { ask, begin_anew } from "./api.js";
import { Chart } from "./chart.js";
import { changes_set, chosen_runs } from "./chosen.js";
import { button, copy_button, element, empty, number_style } from "./dom.js";
import { picker, plain_table, problem, section, switcher } from "./dom.js";
import { brushed_lines, heat_table, importance_table } from "./spread.js";
import { parallel_lines, scatter_points } from "./spread.js";
import { address, change, state } from "./state.js";
import { count_text, is_numeric, short_names, tail_width } from "./text.js";

/* What differs between two runs: settings, code and data. */
class DiffSection {
    constructor() {
        this.tools = element("p", { class: "tools" });
        this.body = element("div");
        this.root = section("Difference of two runs", this.tools, this.body);
    }

    show(runs) {
        const known = (id) => runs.some((r) => r.id === id);
        const options = runs.map((r) => [r.id, r.name]);

        this.a = known(state.a) ? state.a : runs.at(-2)?.id;
        this.b = known(state.b) ? state.b : runs.at(-1)?.id;
        this.root.hidden = runs.length < 2;
        if (this.root.hidden)
            return;
        this.tools.replaceChildren(
            picker("From", options, "a", this.a),
            picker("To", options, "b", this.b),
            copy_button(() => this.command));
        this.ask();
    }

    load() {
        this.a = state.a || this.a;
        this.b = state.b || this.b;
        this.ask();
    }

    async ask() {
        try {
            const answer = await ask("/api/diff", { store: state.store,
                a: this.a, b: this.b });

            this.command = answer.command;
            this.body.replaceChildren(answer.rows.length > 1
                ? plain_table(answer.rows)
                : empty("These two runs do not differ."));
        } catch (error) {
            this.body.replaceChildren(problem(error));
        }
    }
}

/* The chart of a metric over one parameter, as gplot draws it. */
class SweepChart {
    constructor(param, metric, chosen) {
        this.range = ["", ""];
        this.chosen = chosen;
        this.chart = new Chart({ title: `${metric} by ${param}`, metric,
            param }, this.link(), false);
        this.chart.seen = true;
        this.root = element("div", { class: "sweep" }, this.chart.root);
        this.size = new ResizeObserver(() => this.show());
        this.size.observe(this.chart.area);
    }

    /* It is alone: its zoom and its pointer are no other chart's. */
    link() {
        return {
            params: () => ({ ...this.chosen, from: this.range[0],
                to: this.range[1] }),
            is_shown: () => true,
            loaded: () => {},
            zoom: (range) => {
                this.range = range ?? ["", ""];
                this.show();
            },
            point: (x) => this.chart.point(x, true),
        };
    }

    show() {
        this.chart.paint();
        this.chart.load();
    }

    close() {
        this.size.disconnect();
        this.chart.stop?.abort();
    }
}

const most_named = 12;

function text_of(v) {
    return v?.text ?? "";
}

/* Parameters whose values are a few words have axes, too: these stand there in
 * their order, at 0, 1, 2 ... */
function with_words({ params, parallel: { axes, lines } }) {
    let at = 0;

    for (const { name, values } of params.filter((p) => p.differs)) {
        const words = [...new Set(values.filter((v) => v).map(text_of))].sort();

        if (axes[at]?.title !== name && words.length > 1 &&
            words.length <= most_named) {
            axes.splice(at, 0, { title: name, from: -0.5, to: words.length -
                0.5, ticks: words.map((label, i) => ({ at: i, label })) });
            lines.forEach((l, i) => l.values.splice(at, 0, values[i] &&
                words.indexOf(text_of(values[i]))));
        }
        at += axes[at]?.title === name ? 1 : 0;
    }
    return { axes, lines };
}

export class CompareView {
    constructor() {
        this.body = element("div");
        this.diff = new DiffSection();
        this.brush = new Map(); /* parts of parallel axes, by their names */
        this.root = element("section", { class: "compare-view",
            "aria-label": "Comparison" }, this.body, this.diff.root);
        this.root.hidden = true; /* until all parts have their places */
    }

    command() {
        return this.answer?.command;
    }

    name_of(id) {
        return this.runs.find((r) => r.id === id)?.name ?? id.slice(0, 8);
    }

    load() {
        return begin_anew(this, async (signal) => {
            const chosen = await chosen_runs(signal);

            this.runs = chosen.rows;
            this.chosen = { store: state.store, ...chosen.params };
            this.chosen_text = chosen.text;
            if (this.runs.length)
                await this.compare(signal);
            else
                this.body.replaceChildren(empty("There are no runs to " +
                    "compare."));
            this.diff.show(this.runs);
            this.root.hidden = false;
        }, (error) => {
            this.body.replaceChildren(problem(error));
            this.root.hidden = false;
        });
    }

    async compare(signal) {
        this.answer = await ask("/api/compare", this.chosen, signal);
        this.summary = await ask("/api/summary", this.chosen, signal);
        const { axes, lines } = with_words(this.answer);

        this.order = lines.map((l) => l.run);
        this.parallel = { axes, lines: this.places().map((i) => lines[i]) };
        this.draw();
    }

    draw() {
        const { answer } = this;
        const rows = answer.params.filter((p) => state.all || p.differs);

        this.body.replaceChildren(element("p", { class: "chosen" },
            `${this.chosen_text}. `, element("a", { href:
                address({ view: "runs" }) }, "Choose others")),
        ...this.best(),
            section("Parameters", element("p", { class: "actions" },
                switcher("All parameters, not only those that differ", "all"),
                copy_button(() => answer.command)),
            rows.length ? this.table(rows)
                : empty("These runs have the same parameters.")),
            section("Metrics", this.table(answer.metrics)),
            section("Parameters that matter", ...this.importance()),
            section("Parallel coordinates", this.draw_parallel()),
            section("Scatter plot", ...this.scatter()),
            section("Sweep over one parameter", ...this.sweep()),
            section("Map over two parameters", ...this.map()),
            ...this.origin());
    }

    best() {
        const { best } = this.summary;

        return best ? [section("Best run", element("p", {}, best))] : [];
    }

    /* Where the runs come from, and what the best one writes. */
    origin() {
        const { origin, commands, sample } = this.summary;
        const text = (title, s) => s ? [section(title,
            element("pre", { tabindex: "0" }, s))] : [];

        return [section("Origin", plain_table(origin)),
            ...text("Commands", commands), ...text("Sample", sample)];
    }

    /* Where the chosen runs are among those of the answer, which are in another
     * order, and more, on a saved page. */
    places() {
        return this.runs.map((r) => this.order.indexOf(r.id))
            .filter((i) => i >= 0);
    }

    table(rows) {
        const places = this.places();
        const names = places.map((i) => this.name_of(this.order[i]));
        const shown = short_names(names);
        const widest = Math.max(...rows.flatMap((r) => places.map((i) =>
            tail_width(text_of(r.values[i])) || 0)));
        const heads = places.map((i, k) => element("th", { scope: "col" },
            element("a", { href: address({ view: "run",
                id: this.order[i] }), title: names[k] }, shown[k])));

        return element("div", { class: "wide", tabindex: "0" },
            element("table", { class: "side" }, element("thead", {},
                element("tr", {}, element("td"), heads)),
            element("tbody", {}, rows.map((row) => element("tr", {},
                element("th", { scope: "row" }, row.name),
                places.map((i) => this.cell(row, i, widest)))))));
    }

    cell(row, i, widest) {
        const v = row.values[i];

        return element("td", { class: [is_numeric(v) ? "number" : "",
            v?.best ? "best" : "",
            this.order[i] === state.baseline ? "baseline" : ""]
            .join(" ").trim() || null,
        style: number_style(text_of(v), widest) }, text_of(v));
    }

    /* What the parameters have to do with a metric, and the means over their
     * values. */
    importance() {
        const all = this.answer.importance ?? [];
        const chosen = all.find((i) => i.metric === state.metric ||
            i.metric.includes(`(${state.metric})`)) ?? all[0];

        if (!chosen?.params.length)
            return [empty("At least four finished runs with different " +
                "parameters are needed to say which parameters matter.")];
        return [element("p", { class: "sentence" }, chosen.sentence),
            picker("Metric", all.map((i) => i.metric), "metric",
                chosen.metric),
            element("div", { class: "wide", tabindex: "0" },
                importance_table(chosen))];
    }

    draw_parallel() {
        const { parallel } = this;

        if (parallel.axes.length < 2)
            return empty("At least two runs with different parameters are " +
                "needed.");
        const kept = brushed_lines(parallel, this.brush);

        return element("div", {}, element("p", { class: "tools" },
            element("span", { class: "count" }, `Coloured by ${parallel.axes
                .at(-1).title}. Drag along an axis to keep a part.`),
            this.brush.size ? button(`Select ${count_text(kept.length, "run",
                "runs")}`, "Compare only the runs that were kept", () => {
                this.brush.clear();
                change({ runs: kept.map((l) => l.run) });
            }) : null),
        element("div", { class: "wide", tabindex: "0" },
            parallel_lines(parallel, (id) => this.name_of(id),
                state.baseline, this.brush, () => this.draw())));
    }

    scatter() {
        const { axes } = this.parallel;
        const names = axes.map((a) => a.title);
        const place = (name, other) => names.includes(name)
            ? names.indexOf(name) : other;
        const across = place(state.across, 0);
        const down = place(state.down, names.length - 1);

        if (names.length < 2)
            return [empty("At least one parameter must differ.")];
        return [element("p", { class: "tools" },
            picker("Horizontal", names, "across", names[across]),
            picker("Vertical", names, "down", names[down])),
        element("div", { class: "wide", tabindex: "0" },
            scatter_points(this.parallel, across, down, (id) =>
                this.name_of(id)))];
    }

    /* The parameters and metrics of sweeps, and the chosen ones. */
    swept() {
        const params = this.answer.params.filter((p) => p.differs)
            .map((p) => p.name);
        const metrics = this.answer.metrics.map((m) => m.name);

        return { params, metrics, across: params.includes(state.across)
            ? state.across : params[0], metric: metrics.includes(state.metric)
            ? state.metric : metrics.find((m) => m.includes("val")) ??
                metrics[0] };
    }

    sweep() {
        const { params, metrics, across, metric } = this.swept();

        this.sweep_chart?.close();
        this.sweep_chart = null;
        if (!across || !metric)
            return [empty("At least one parameter must differ.")];
        this.sweep_chart = new SweepChart(across, metric, this.chosen);
        return [element("p", { class: "tools" },
            picker("Parameter", params, "across", across),
            picker("Metric", metrics, "metric", metric)),
        this.sweep_chart.root];
    }

    map() {
        const { params, metrics, across, metric } = this.swept();
        const down = params.find((p) => p === state.down && p !== across) ??
            params.find((p) => p !== across);
        const place = element("div");

        if (!across || !down || !metric)
            return [empty("At least two parameters must differ.")];
        this.draw_map(place, `${across},${down}`, metric);
        return [element("p", { class: "tools" },
            picker("Across", params, "across", across),
            picker("Down", params, "down", down),
            picker("Metric", metrics, "metric", metric),
            copy_button(() => this.map_command)), place];
    }

    async draw_map(place, param, metric) {
        try {
            const figure = await ask("/api/figure", { ...this.chosen, metric,
                param });

            this.map_command = figure.command;
            place.replaceChildren(...figure.panels.filter((p) => p.heat)
                .map(heat_table), element("div", { class: "notes" },
                figure.notes.map((n) => element("p", {}, n))));
        } catch (error) {
            place.replaceChildren(problem(error));
        }
    }

    update(changed) {
        if (changes_set(changed))
            this.load();
        else if (this.answer)
            this.draw();
        if (changed.has("a") || changed.has("b"))
            this.diff.load();
    }

    refresh(ids) {
        return !ids.length || this.runs?.some((r) => ids.includes(r.id))
            ? this.load() : null;
    }

    close() {
        this.stop?.abort();
        this.sweep_chart?.close();
    }
}
