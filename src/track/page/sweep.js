/* sweep.js is the chart of a metric over one parameter, as gplot draws it. */
import { Chart } from "./chart.js";
import { element } from "./dom.js";

export class SweepChart {
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
