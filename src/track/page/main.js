/* main.js shows the view that the address names, and keeps it up to date. */
import { frozen, listen, load_server, server } from "./api.js";
import { ChartsView } from "./charts.js";
import { CompareView } from "./compare.js";
import { button, choice, copy_button, copy_command, element } from "./dom.js";
import { problem, show_dialog } from "./dom.js";
import { is_dark } from "./paint.js";
import { RunView } from "./run.js";
import { RunsView } from "./runs.js";
import { address, change, state, watch } from "./state.js";

const views = { runs: RunsView, charts: ChartsView, compare: CompareView,
    run: RunView };
const names = [["runs", "Runs"], ["charts", "Charts"],
    ["compare", "Compare"]];
const help = [["1, 2, 3", "Runs, Charts, Compare"],
    ["/", "Go to the filter"], ["j, k", "Next and previous run"],
    ["c", "Copy the command that shows the same"],
    ["d", "Dark or light"], ["z", "Reset the zoom of charts"],
    ["← →", "In a chart: read values point by point; with Shift, by tens"],
    ["+ − 0", "In a chart: zoom in, zoom out, whole range"],
    ["Enter", "In a chart: enlarge"], ["?", "This list"]];

/* Elements that take keys themselves. */
const typed_into = "input:not([type=checkbox]), select, textarea";
const main = document.getElementById("main");
let view = null;

function toggle_theme() {
    change({ theme: is_dark() ? "light" : "dark" });
}

function show_theme() {
    document.documentElement.dataset.theme = state.theme;
}

function show_help() {
    const dialog = show_dialog("Keys", element("table", {}, element("tbody", {},
        help.map(([key, what]) => element("tr", {}, element("th",
            { scope: "row" }, key), element("td", {}, what))))),
    element("p", {}, `gtrack ${server.version}. Select runs in the table, ` +
        "then open Charts or Compare. In charts, drag along an axis to zoom, " +
        "and double-click to see the whole range again."),
    button("Close", "Close this list", () => dialog.close()));
}

function view_title() {
    return names.find(([id]) => id === state.view)?.[1] ?? "Run";
}

function draw_header() {
    const path = (s) => [String(s.id), s.path];
    const is_run = state.view === "run";
    const links = names.map(([id, text]) => element("a", {
        href: address({ view: id, chart: "" }),
        "aria-current": state.view === id ? "page" : null }, text));

    if (is_run)
        links.push(element("a", { href: address(), "aria-current": "page" },
            "Run"));
    document.getElementById("views").replaceChildren(...links);
    document.getElementById("store").replaceChildren(
        server.stores.length > 1 ? choice("Store", server.stores.map(path),
            state.store, (v) => change({ store: v, runs: [], hidden: [],
                baseline: "", view: "runs" }))
            : element("span", { class: "path" },
                server.stores[0]?.path ?? ""));
    document.title = `${view_title()} – gtrack`;
}

function make_actions() {
    document.getElementById("actions").replaceChildren(
        copy_button(() => view?.command()),
        button("◐", "Dark or light", toggle_theme,
            { "aria-label": "Dark or light" }),
        button("?", "Keys", show_help, { "aria-label": "Keys" }));
}

/* One run has a heading of its own: its name. */
function open_view() {
    view?.close();
    view = new (views[state.view] ?? RunsView)();
    main.replaceChildren(...state.view === "run" ? []
        : [element("h1", { class: "offscreen" }, view_title())], view.root);
    view.load();
}

function show_connection(is_there) {
    const place = document.getElementById("connection");

    place.textContent = frozen ? "saved page" : is_there ? "live"
        : "not connected";
    place.className = is_there ? "live" : "lost";
}

let waiting = null; /* runs that have changed since they were asked for */
let is_refreshing = false;

/* Bring the view up to date, one request after the other, and only while the
 * page is in sight.  No ids means that everything may have changed. */
async function refresh(ids) {
    waiting = waiting === null ? ids
        : waiting.length && ids.length ? [...new Set([...waiting, ...ids])]
            : [];
    if (is_refreshing)
        return;
    is_refreshing = true;
    while (waiting && !document.hidden) {
        const now = waiting;

        waiting = null;
        await view.refresh(now);
    }
    is_refreshing = false;
}

let stop_listening = () => {};

function listen_to_store() {
    let was_lost = false;

    stop_listening();
    stop_listening = listen(state.store, refresh, (ok) => {
        show_connection(ok);
        if (ok && was_lost)
            refresh([]);
        was_lost = !ok;
    });
}

function press_page_key(e) {
    const open = (id) => () => change({ view: id, chart: "" });
    const keys = { 1: open("runs"), 2: open("charts"), 3: open("compare"),
        c: () => copy_command(view.command()), d: toggle_theme,
        z: () => change({ from: "", to: "" }), "?": show_help,
        ...view.keys?.() };

    if (e.ctrlKey || e.metaKey || e.altKey ||
        document.querySelector("dialog") || e.target.matches(typed_into) ||
        !Object.hasOwn(keys, e.key))
        return;
    e.preventDefault();
    keys[e.key]();
}

async function start() {
    show_theme();
    make_actions();
    draw_header();
    open_view();
    document.addEventListener("keydown", press_page_key);
    document.getElementById("skip").addEventListener("click", (e) => {
        e.preventDefault();
        main.focus();
    });
    document.addEventListener("visibilitychange", () =>
        waiting && refresh(waiting));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
        view.update(new Set(["theme"])));
    show_connection(Boolean(frozen));
    listen_to_store();
    try {
        await load_server();
        view.update(new Set(["edit"]));
    } catch (error) {
        main.prepend(problem(error));
    }
    draw_header();
}

watch((changed) => {
    show_theme();
    draw_header();
    if (changed.has("store"))
        listen_to_store();
    if (changed.has("view"))
        open_view();
    else
        view.update(changed);
});
start();
