/* run.js is the view of one run. */
import { ask, begin_anew, edit, server } from "./api.js";
import { announce, button, copy_button, element, field } from "./dom.js";
import { plain_table, problem, section } from "./dom.js";
import { Log, file_section } from "./files.js";
import { Grid } from "./grid.js";
import { markdown_nodes } from "./markdown.js";
import { Media } from "./media.js";
import { change, state } from "./state.js";

/* Tags that begin so are for the programs themselves. */
function pairs_of(tags) {
    return Object.entries(tags).filter(
        ([key]) => !/^(mlflow|gtrack)\./.test(key),
    );
}

export class RunView {
    constructor() {
        this.head = element("header", { class: "run-head" });
        this.facts = element("div");
        this.rest = element("div");
        this.parts = new Map();
        this.first = ["loss", "lr", "grad-norm", "throughput"];
        this.folded = ["perf", "gpu", "system", "exec"];
        this.grid = new Grid(this);
        this.media = new Media();
        this.log = new Log(state.id);
        this.health = element("div");
        this.log_part = element("div");
        this.root = element("section", { class: "run-view",
            "aria-label": "Run" }, this.head, this.health, this.grid.first,
        this.log_part, this.facts, section("Charts", this.grid.root),
        this.media.root, this.rest);
        this.root.hidden = true; /* until all parts have their places */
    }

    params() {
        const { store, x, smooth, from, to, outliers } = state;

        return { store, runs: [state.id], x, smooth, from, to, outliers };
    }

    loaded() {
        /* one run needs no list of colours */
    }

    command() {
        return this.run?.command;
    }

    load() {
        const id = state.id;

        return begin_anew(this, async (signal) => {
            [this.run] = await Promise.all([ask("/api/run",
                { store: state.store, id }, signal),
            this.grid.load({ runs: [id] }, signal)]);
            await this.media.load({ runs: [id] }, [this.run], signal);
            if (id !== this.log.id)
                this.log = new Log(id);
            await this.log.load();
            this.draw();
            this.draw_rest();
            this.root.hidden = false;
        }, (error) => {
            this.facts.replaceChildren(problem(error));
            this.root.hidden = false;
        });
    }

    draw() {
        const { run } = this, chosen = state.runs.includes(state.id);
        const status = run.status.toLowerCase();

        this.head.replaceChildren(element("h1", {}, run.name),
            element("span", { class: `status ${status}` }, status,
                run.deleted ? ", deleted" : ""),
            copy_button(() => run.command),
            button(chosen ? "Do not show in charts" : "Show in charts",
                "Select this run for charts and comparison", () => change({
                    runs: chosen ? state.runs.filter((i) => i !== state.id)
                        : [...state.runs, state.id] })),
            copy_button(() => run.again,
                "Copy the command that runs it again"));
        this.draw_health();
        this.draw_note();
    }

    draw_health() {
        const { text, command } = this.run.health ?? {};

        this.health.replaceChildren(...text ? [element("p", { class: "health" },
            text, command ? [" ", copy_button(() => command,
                "Copy the command that shows its documents")] : null)] : []);
    }

    /* Text that is being typed stays while the run changes. */
    draw_note() {
        const { note, tags, deleted } = this.run;
        const text = JSON.stringify([state.id, server.edit, note, tags,
            deleted]);

        if (this.is_editing || this.note_text === text)
            return;
        this.note_text = text;
        this.facts.replaceChildren(...note || server.edit ||
            pairs_of(tags).length
            ? [section("Note", ...this.note(), this.tags())] : []);
    }

    note() {
        const text = this.run.note ?? "";
        const shown = text ? markdown_nodes(text) : [];

        return server.edit ? [...shown, button("Edit note",
            "Change the note of this run", () => this.edit_note())] : shown;
    }

    edit_note() {
        const area = element("textarea", { rows: "8", "aria-label": "Note" });

        area.value = this.run.note ?? "";
        this.is_editing = true;
        this.facts.replaceChildren(section("Note", area,
            element("p", { class: "actions" },
                button("Save", "Save the note", () =>
                    this.save({ note: area.value })),
                button("Cancel", "Keep the note as it was", () =>
                    this.end_edit()))));
        area.focus();
    }

    end_edit() {
        this.is_editing = false;
        this.note_text = "";
        this.draw_note();
    }

    tags() {
        const tags = pairs_of(this.run.tags);
        const list = element("ul", { class: "tags" }, tags.map(([k, v]) =>
            element("li", {}, `${k} = ${v}`)));

        return server.edit ? element("div", {}, list,
            field("Add a tag, as name=value", "", (v) => {
                const [key, ...value] = v.split("=");

                if (key && value.length)
                    this.save({ tags: { [key.trim()]: value.join("=")
                        .trim() } });
            }, { oninput: null }),
            this.run.deleted
                ? button("Restore", "Move this run back from the deleted ones",
                    () => this.save({ archive: false }))
                : button("Archive", "Move this run to the deleted ones",
                    () => this.save({ archive: true }))) : list;
    }

    async save(body) {
        try {
            await edit(state.store, { id: state.id, ...body });
            announce("Saved.");
            await this.load();
            this.end_edit();
        } catch (error) {
            announce(error.message);
        }
    }

    /* Parts that have not changed keep their elements, and with them the
     * place to which the reader has scrolled. */
    draw_rest() {
        const { run, log } = this;

        this.show_part("Log", [state.id], () =>
            [log.root], this.log_part);
        for (const [title, rows] of Object.entries(run.tables))
            this.show_part(title, rows.slice(1), () => [plain_table(rows)]);
        this.show_part("Artifacts", run.artifacts, (files) =>
            file_section(state.id, files));
        this.show_part("Again", run.again ? [run.again] : [], ([line]) =>
            [element("pre", { tabindex: "0" }, line)]);
    }

    show_part(title, data, make, place = this.rest) {
        const text = JSON.stringify([state.id, data]);

        if (!this.parts.has(title)) {
            this.parts.set(title, { root: element("div"), text: "" });
            place.append(this.parts.get(title).root);
        }
        const known = this.parts.get(title);

        if (known.text === text)
            return;
        known.text = text;
        known.root.replaceChildren(...data?.length
            ? [section(title, ...make(data))] : []);
    }

    update(changed) {
        if (changed.has("id") || changed.has("store")) {
            this.is_editing = false;
            this.load();
        } else if (this.run) {
            this.draw();
        }
        if (changed.has("chart") || changed.has("find"))
            this.grid.make();
        else
            this.grid.reload();
    }

    async refresh(ids) {
        if (ids.length && !ids.includes(state.id))
            return;
        await this.load();
        await this.grid.refresh([state.id], ids);
    }

    close() {
        this.stop?.abort();
        this.grid.close();
    }
}
