/*
 * media.js shows the pictures, sounds, films, tables and samples of text that
 * runs kept by step, side by side, with a slider for the step.
 */
import { ask, frozen } from "./api.js";
import { element, problem } from "./dom.js";
import { file_nodes } from "./files.js";
import { address, state } from "./state.js";
import { count_text } from "./text.js";

const most_runs = 24; /* that are shown side by side */

/* The files of one key, which are of one kind. */
class Strip {
    constructor(files) {
        this.at = null; /* the step that the reader chose; null: the last */
        this.slider = element("input", { type: "range", min: "0", step: "1",
            oninput: () => {
                const { max, value } = this.slider;

                this.at = value === max ? null : this.steps[value];
                this.show();
            } });
        this.said = element("output");
        this.shown = element("div", { class: "strip" });
        this.more = element("p", { class: "empty" });
        const { key, kind } = files[0];

        this.slider.setAttribute("aria-label", `Step of ${key}`);
        this.root = element("section", { "aria-label": key },
            element("h3", {}, key, element("span", { class: "count" },
                ` (${kind})`)),
            element("p", { class: "tools" }, element("label",
                { class: "field" }, this.said, this.slider)),
            this.shown, this.more);
    }

    /* Show files of these runs, which are some of those before and others. */
    fill(files, runs) {
        const steps = [...new Set(files.map((f) => f.step))]
            .sort((a, b) => a - b);

        this.files = files.sort((a, b) => a.step - b.step ||
            a.number - b.number);
        this.runs = runs.filter((r) => files.some((f) => f.run === r.id));
        this.steps = steps;
        this.slider.max = steps.length - 1;
        this.slider.value = this.at === null ? steps.length - 1
            : steps.indexOf(this.at);
        this.slider.parentNode.hidden = steps.length < 2;
        this.show();
    }

    /* Each run shows the last files that it had at this step. */
    show() {
        const step = this.at ?? this.steps.at(-1);
        const few = this.runs.slice(0, most_runs);

        this.said.textContent = `step ${step}`;
        this.shown.replaceChildren(...few.map((run) => {
            const past = this.files.filter((f) => f.run === run.id &&
                f.step <= step);
            const last = past.at(-1)?.step;

            return this.figure(run, past.filter((f) => f.step === last), last);
        }));
        this.more.textContent = few.length < this.runs.length
            ? `${count_text(this.runs.length - few.length, "other run has",
                "other runs have")} files of this name, too.` : "";
    }

    figure(run, files, step) {
        const parts = files.map((file) => {
            const place = element("div");

            if (file.type === "text")
                return element("pre", { tabindex: "0" }, file.caption);
            file_nodes(run.id, file).then((nodes) =>
                place.replaceChildren(...nodes, ...file.caption
                    ? [element("p", {}, file.caption)] : []), (error) =>
                place.replaceChildren(problem(error)));
            return place;
        });

        return element("figure", {}, element("figcaption", {},
            state.view === "run" ? null : element("a", {
                href: address({ view: "run", id: run.id }) }, run.name), " ",
            element("span", { class: "count" }, step === undefined
                ? "nothing yet" : `step ${step}`)), parts);
    }
}

export class Media {
    constructor() {
        this.strips = new Map();
        this.root = element("details", { class: "group media", open: true },
            element("summary", {}, element("h2", {}, "Media")));
        this.root.hidden = true;
    }

    /* Show the media of these runs, which the parameters name; a saved page has
     * texts alone. */
    async load(params, runs, signal) {
        const { media, whole } = await ask("/api/media",
            { store: state.store, ...params }, signal);
        const keys = Map.groupBy(media.filter((f) => runs.some((r) =>
            r.id === f.run) && (f.kind === "samples" || !frozen &&
            f.type !== "text")), (f) => `${f.kind} ${f.key}`);

        for (const [key, files] of keys) {
            if (!this.strips.has(key))
                this.strips.set(key, new Strip(files));
            const text = JSON.stringify(files), strip = this.strips.get(key);

            if (strip.text !== text)
                strip.fill(files, runs);
            strip.text = text;
        }
        this.root.replaceChildren(this.root.firstChild,
            ...[...keys.keys()].sort().map((key) => this.strips.get(key).root),
            whole ? "" : "There are more files than can be listed here.");
        this.root.hidden = !keys.size;
    }
}
