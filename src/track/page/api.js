/*
 * api.js asks the server for data.  A page that was saved as one file has the
 * answers within itself.
 */

const embedded = document.getElementById("frozen");

export const frozen = embedded ? JSON.parse(embedded.textContent) : null;
/* What the server says of itself: stores, version, --edit. */
export const server = { stores: [], version: "", edit: false };

/* Parameters that only decide how much detail an answer has. */
const detail = new Set(["width", "height", "from", "to", "yfrom", "yto"]);
/* Parameters that name the subject of an answer; the others may differ. */
const subjects = ["kind", "metric", "param", "hist", "panel", "id", "path",
    "a", "b"];

export function query_of(params) {
    const query = new URLSearchParams();

    for (const key of Object.keys(params).sort())
        if (params[key] !== "" && params[key] !== null &&
            params[key] !== undefined && String(params[key]) !== "")
            query.set(key, String(params[key]));
    return query.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
}

/* The page does not know below which path it is. */
export function url_of(path, params) {
    return `.${path}?${query_of(params)}`;
}

function frozen_key(path, params) {
    const kept = Object.entries(params).filter(([key]) => !detail.has(key));

    return path + "?" + query_of(Object.fromEntries(kept));
}

/* The number of equal parameters of an embedded request; -1: its subject is
 * another. */
function likeness(key, path, params) {
    const [its_path, its_query] = key.split("?");
    const its = new URLSearchParams(its_query);
    let n = 0;

    if (its_path !== path || subjects.some((s) =>
        (its.get(s) ?? "") !== String(params[s] ?? "")))
        return -1;
    for (const [name, value] of its)
        n += String(params[name] ?? "") === value ? 1 : 0;
    return n;
}

function frozen_answer(path, params) {
    const requests = frozen.requests, key = frozen_key(path, params);
    let best = null, most = -1;

    if (Object.hasOwn(requests, key))
        return requests[key];
    for (const k of Object.keys(requests)) {
        const n = likeness(k, path, params);

        if (n > most) {
            most = n;
            best = k;
        }
    }
    if (best === null)
        throw new Error("This saved page does not have these data. Open the " +
            "store with gtrack serve to see them.");
    return requests[best];
}

/* Whether a saved page has an answer with this parameter. */
export function is_available(path, name, value) {
    return !frozen || Object.keys(frozen.requests).some((key) =>
        key.startsWith(path + "?") &&
        new URLSearchParams(key.split("?")[1]).get(name) === value);
}

/* The last answers by their URLs: of each its text and the server's mark. */
const had = new Map(), most_had = 60;

/* The text of an answer, of which only what has changed was sent; see
 * src/track/serve/answer.h. */
function whole_text(delta, old) {
    const pieces = old.split(/(?=[{[])/);

    return delta.map((part) => typeof part === "string" ? part
        : pieces.slice(part[0], part[0] + part[1]).join("")).join("");
}

async function answer_of(response, url) {
    const mark = response.headers.get("ETag")?.match(/[0-9a-f]{16}/);
    const old = had.get(url);
    let text = await response.text(), answer = JSON.parse(text);

    if (old && answer.delta) {
        text = whole_text(answer.delta, old.text);
        answer = JSON.parse(text);
    }
    had.delete(url);
    if (response.ok && mark)
        had.set(url, { mark: mark[0], text });
    if (had.size > most_had)
        had.delete(had.keys().next().value);
    return answer;
}

async function read_answer(response, url) {
    let answer = null;

    try {
        answer = await answer_of(response, url);
    } catch {
        /* not JSON: the status says enough */
    }
    if (response.status === 403 && !answer?.error)
        throw new Error("The server does not know this browser. Open the " +
            "address that gtrack serve printed, with its token.");
    if (!response.ok || !answer)
        throw new Error(answer?.error ??
            `The server answered with status ${response.status}.`);
    return answer;
}

async function request(url, options) {
    let response;

    try {
        const old = had.get(url);

        response = await fetch(old ? `${url}&have=${old.mark}` : url, options);
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw new Error("The server does not answer. Start gtrack serve " +
            "again, and open the address that it prints.");
    }
    return read_answer(response, url);
}

/* ask("/api/runs", { store: 0 }) resolves to the answer; failures are errors
 * whose message is a sentence. */
export async function ask(path, params, signal) {
    return frozen ? frozen_answer(path, params)
        : request(url_of(path, params), { signal });
}

export async function load_server() {
    Object.assign(server, await ask("/api/stores", {}));
}

/* Let an owner work with a signal that ends what it has begun before; a failure
 * is passed on, unless the work was ended in this way. */
export async function begin_anew(owner, work, fail) {
    owner.stop?.abort();
    owner.stop = new AbortController();
    try {
        await work(owner.stop.signal);
    } catch (error) {
        if (error.name !== "AbortError")
            fail(error);
    }
}

export async function edit(store, body) {
    return request(url_of("/api/edit", { store }), { method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body) });
}

/* Call changed(ids) when runs change, and connected(true or false).  A browser
 * opens few connections to a server, so of its pages one listens and tells the
 * others. */
export function listen(store, changed, connected) {
    const name = url_of("/api/events", { store }), stop = new AbortController();
    let source = null, timer = 0, is_there = false, was_told = false;

    if (frozen)
        return () => {};
    const channel = new BroadcastChannel(name);
    const hear = (news) => {
        if (news.runs)
            changed(news.runs);
        else
            connected(is_there = news.is_there);
    };
    const tell = (news) => {
        hear(news);
        channel.postMessage(news);
    };
    const open = () => {
        let is_first = !was_told; /* which only tells the version */

        source = new EventSource(name);
        source.onopen = () => tell({ is_there: true });
        source.addEventListener("runs", (e) => {
            if (!is_first)
                tell({ runs: JSON.parse(e.data).runs ?? [] });
            is_first = false;
        });
        source.onerror = () => {
            tell({ is_there: false });
            if (source.readyState === EventSource.CLOSED)
                timer = setTimeout(open, 3000);
        };
    };

    channel.onmessage = ({ data }) => {
        was_told ||= !data.asks;
        if (!data.asks)
            hear(data);
        else if (source)
            channel.postMessage({ is_there });
    };
    channel.postMessage({ asks: true });
    if (navigator.locks) /* which only pages of a safe address have */
        navigator.locks.request(name, { signal: stop.signal }, () => {
            open();
            return new Promise((done) =>
                stop.signal.addEventListener("abort", done));
        }).catch(() => {});
    else
        open();
    return () => {
        stop.abort();
        clearTimeout(timer);
        source?.close();
        channel.close();
    };
}
