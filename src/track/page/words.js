/* words.js offers words while a filter is typed. */
import { element } from "./dom.js";

const statuses = ["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED",
    "PREEMPTED", "STOPPED", "STALE"].map((s) => `'${s}'`);
const most_words = 12;

/* The list of words for a field: those that begin like the last one in it, of
 * the names of columns() or, after "status", of the statuses. */
export function word_list(input, columns) {
    const list = element("datalist", { id: `${input.id}-words` });

    input.setAttribute("list", list.id);
    input.addEventListener("input", () => {
        const [, before, word] = /^(.*?)([^\s()=<>!,]*)$/s.exec(input.value);
        const is_status = /\bstatus\s*(!?=|(not\s+)?in\s*\([^)]*)\s*$/i
            .test(before);
        const known = is_status ? statuses
            : word ? [...new Set(columns().flatMap(({ spec }) =>
                [spec.replace(/^(params|metrics)\.(?!`)/, ""), spec]))] : [];

        list.replaceChildren(...known.filter((w) => w !== word &&
            w.toLowerCase().startsWith(word.toLowerCase()))
            .slice(0, most_words).map((w) =>
                element("option", { value: before + w })));
    });
    return list;
}
