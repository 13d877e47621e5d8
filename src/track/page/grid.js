/*
 * grid.js is a grid of charts, one for each metric of some runs, in groups by
 * the beginning of the metrics' names.
 */
import { ask } from "./api.js";
import { Chart } from "./chart.js";
import { element, empty, problem } from "./dom.js";
import { change, state, toggled } from "./state.js";

function chart_name(spec) {
    return spec.panel ? `panel:${spec.panel}`
        : spec.kind ? `kind:${spec.kind}`
        : spec.hist ? `hist:${spec.hist}:${spec.run}` : spec.metric;
}

export class Grid {
    /* owner.params() is what every figure is asked with; owner.loaded(figure)
     * hears of each new figure.  The kinds of owner.first, if any, are shown in
     * grid.first, and the groups of owner.folded are closed until the reader
     * opens them. */
    constructor(owner) {
        this.owner = owner;
        this.charts = [];
        this.root = element("div", { class: "groups" });
        this.first = element("div", { class: "grid" }); /* of owner.first */
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
            pin: this.owner.pin,
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
        const all = (this.groups ?? []).map((g) => ({ ...g,
            charts: g.charts.filter((spec) => this.found(spec)) }));
        const { first = [] } = state.chart ? {} : this.owner;
        const is_first = (spec) => first.includes(spec.kind);
        const pinned = (this.owner.panels?.() ?? []).map((panel) =>
            ({ panel, title: panel.replace(/!$/, "") }))
            .filter((spec) => this.found(spec));
        const firsts = [...pinned, ...all.flatMap((g) =>
            g.charts.filter(is_first)).sort((a, b) =>
            first.indexOf(a.kind) - first.indexOf(b.kind))];
        const groups = all.map((g) => ({ ...g, charts: g.charts.filter((c) =>
            !is_first(c)) })).filter((g) => g.charts.length);
        const wanted = JSON.stringify([firsts, groups, state.chart]);

        if (wanted === this.made)
            return this.reload();
        this.made = wanted;
        this.in_sight.disconnect();
        this.sizes.disconnect();
        this.old_charts = this.charts;
        this.charts = [];
        this.first.replaceChildren(...this.make_charts(firsts));
        this.root.replaceChildren(...groups.length || firsts.length
            ? groups.map((g) => this.make_group(g))
            : [empty(state.find ? "No chart has this name."
                : "These runs have no metrics yet.")]);
        for (const chart of this.charts) {
            this.in_sight.observe(chart.area);
            this.sizes.observe(chart.area);
        }
        return undefined;
    }

    make_charts(specs) {
        const link = this.link(), large = Boolean(state.chart);
        const charts = specs.map((spec) => this.old_charts.find((c) =>
            chart_name(c.spec) === chart_name(spec) && c.large === large) ??
            new Chart(spec, link, large));

        this.charts.push(...charts);
        return charts.map((c) => c.root);
    }

    /* state.closed has the groups that are not as they were at first. */
    make_group(group) {
        const large = Boolean(state.chart), name = group.prefix || "other";
        const cells = element("div", { class: large ? "" : "grid" },
            this.make_charts(group.charts));
        const is_folded = !state.find && Boolean(this.owner.folded
            ?.includes(name));
        const is_open = () => is_folded === state.closed.includes(name);

        if (large)
            return cells;
        const details = element("details", { class: "group", open: is_open(),
            ontoggle: () => {
                if (details.open !== is_open())
                    change({ closed: toggled(state.closed, name) });
            } },
        element("summary", {}, element("h2", {}, name),
            ` ${group.charts.length}`), cells);

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
