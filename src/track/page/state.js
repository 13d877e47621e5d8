/*
 * state.js keeps what the page shows in the address, behind the #, so that a
 * link or the Back button restores it.
 */

const defaults = {
    view: "runs", store: "0", theme: "",
    /* the table */
    filter: "", columns: "", sort: "", group: "", deleted: "",
    /* which runs, and how they are shown */
    runs: [], hidden: [], baseline: "", colour: "run",
    /* charts */
    find: "", x: "step", smooth: "", logx: "", logy: "", outliers: "",
    finished: "", mark: "", panels: "",
    from: "", to: "", mean: "", chart: "", closed: [],
    /* comparison: the diff, the scatter plot and the map */
    a: "", b: "", across: "", down: "", metric: "", all: "",
    /* one run */
    id: "",
};

/* Changes that the Back button undoes. */
const places = new Set(["view", "store", "id", "chart"]);
const watchers = [];

export let state = read_address();

function read_address() {
    const found = new URLSearchParams(location.hash.slice(1));
    const s = { ...defaults };

    for (const [key, value] of found)
        if (Object.hasOwn(defaults, key))
            s[key] = Array.isArray(defaults[key])
                ? value.split(",").filter((v) => v) : value;
    return s;
}

/* The address of the page with some of the state changed. */
export function address(changes = {}) {
    const s = { ...state, ...changes }, query = new URLSearchParams();

    for (const [key, value] of Object.entries(s))
        if (String(value) !== String(defaults[key]))
            query.set(key, String(value));
    return "#" + query.toString().replaceAll("%2F", "/")
        .replaceAll("%2C", ",");
}

function tell(old) {
    const changed = new Set(Object.keys(defaults).filter((key) =>
        String(old[key]) !== String(state[key])));

    if (changed.size)
        watchers.forEach((f) => f(changed));
}

/* change({ x: "time" }) changes the state and tells all that watch it. */
export function change(changes) {
    const old = state;

    state = { ...state, ...changes };
    if (Object.keys(changes).some((key) =>
        places.has(key) && String(old[key]) !== String(state[key])))
        history.pushState(null, "", address());
    else
        history.replaceState(null, "", address());
    tell(old);
}

/* Call f with the set of keys that changed. */
export function watch(f) {
    watchers.push(f);
}

/* Without an item if the list has it, with it if it has not. */
export function toggled(list, item) {
    return list.includes(item) ? list.filter((i) => i !== item)
        : [...list, item];
}

addEventListener("popstate", () => {
    const old = state;

    state = read_address();
    tell(old);
});
