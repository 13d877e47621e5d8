/* diff.js shows what differs between two runs: settings, code and data. */
import { ask } from "./api.js";
import { copy_button } from "./copy.js";
import { element, empty, picker, plain_table, problem } from "./dom.js";
import { section } from "./dom.js";
import { state } from "./state.js";

export class DiffSection {
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
