/*
 * grid.js is a grid of charts, one for each metric of some runs, in groups by
 * the beginning of the metrics' names.
 */
import { ask } from "./api.js";
import { Chart } from "./chart.js";
import { element, problem } from "./dom.js";
import { change, state, toggled } from "./state.js";

function chart_name(spec) {
    return spec.kind ? `kind:${spec.kind}` : spec.metric;
}

export class Grid {
    /* owner.params() is what every figure is asked with; owner.loaded(figure)
     * hears of each new figure. */
    constructor(owner) {
        this.owner = owner;
        this.charts = [];
        this.root = element("div", { class: "groups" });
        this.made = "";
        this.in_sight = new IntersectionObserver((entries) => {
            for (const e of entries)
                this.saw(e);
        }, { rootMargin: "200px" });
        this.sizes = new ResizeObserver((entries) => {
            for (const e of entries)
                this.resized(e.target);
        });
    }

    chart_of(area) {
        return this.charts.find((c) => c.area === area);
    }

    saw(entry) {
        const chart = this.chart_of(entry.target);

        if (!chart)
            return;
        chart.seen = entry.isIntersecting;
        chart.load();
    }

    resized(area) {
        const chart = this.chart_of(area);

        chart?.paint();
        chart?.load();
    }

    /* The functions that charts call of the view that they are in. */
    link() {
        return {
            params: () => this.owner.params(),
            is_shown: (run) => !run || !state.hidden.includes(run),
            loaded: (figure) => this.owner.loaded(figure),
            enlarge: (spec) => change({ chart: spec ? chart_name(spec)
                : "" }),
            zoom: (range) => change(range ? { from: String(range[0]),
                to: String(range[1]) } : { from: "", to: "" }),
            point: (x, here, y) => this.charts.forEach((c) =>
                c.point(x, c === here, c === here ? y : null)),
            near: (run) => {
                this.charts.forEach((c) => c.emphasise(run));
                this.owner.near?.(run);
            },
            open: (run) => change({ view: "run", id: run }),
        };
    }

    /* Get the list of charts of the runs that these parameters name, and add
     * the new ones to the page. */
    async load(chosen, signal) {
        try {
            const answer = await ask("/api/kinds", { store: state.store,
                ...chosen }, signal);

            this.groups = answer.groups;
            this.make();
        } catch (error) {
            if (error.name !== "AbortError")
                this.root.replaceChildren(problem(error));
        }
    }

    found(spec) {
        const part = state.find.toLowerCase();

        if (state.chart)
            return chart_name(spec) === state.chart;
        return [spec.title, ...spec.metrics ?? []].some((s) =>
            s.toLowerCase().includes(part));
    }

    /* A chart stays as it is while it is shown, also when others appear. */
    make() {
        const groups = (this.groups ?? []).map((g) => ({ ...g,
            charts: g.charts.filter((spec) => this.found(spec)) }))
            .filter((g) => g.charts.length);
        const wanted = JSON.stringify([groups, state.chart]);

        if (wanted === this.made)
            return this.reload();
        this.made = wanted;
        this.in_sight.disconnect();
        this.sizes.disconnect();
        this.old_charts = this.charts;
        this.charts = [];
        this.root.replaceChildren(...groups.length
            ? groups.map((g) => this.make_group(g))
            : [element("p", { class: "empty" }, state.find
                ? "No chart has this name."
                : "These runs have no metrics yet.")]);
        for (const chart of this.charts) {
            this.in_sight.observe(chart.area);
            this.sizes.observe(chart.area);
        }
        return undefined;
    }

    make_group(group) {
        const link = this.link(), large = Boolean(state.chart);
        const charts = group.charts.map((spec) => this.old_charts.find((c) =>
            chart_name(c.spec) === chart_name(spec) && c.large === large) ??
            new Chart(spec, link, large));
        const cells = element("div", { class: large ? "" : "grid" },
            charts.map((c) => c.root));

        this.charts.push(...charts);
        if (large)
            return cells;
        const name = group.prefix || "other";
        const details = element("details", { class: "group",
            open: !state.closed.includes(name),
            ontoggle: () => {
                if (details.open === state.closed.includes(name))
                    change({ closed: toggled(state.closed, name) });
            } },
        element("summary", {}, element("h2", {}, name),
            ` ${charts.length}`), cells);

        return details;
    }

    /* Ask again for what is in sight, where the request has changed. */
    reload() {
        for (const chart of this.charts) {
            chart.paint();
            chart.load();
        }
    }

    /* Update the charts with these runs, whose points have changed. */
    async refresh(shown, ids) {
        if (ids.length && !ids.some((id) => shown.includes(id)))
            return;
        await Promise.all(this.charts.map((chart) => {
            chart.stale = true;
            return chart.load();
        }));
    }

    close() {
        this.in_sight.disconnect();
        this.sizes.disconnect();
    }
}
