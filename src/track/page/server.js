/* server.js keeps what the server says of itself: stores, version, --edit. */
import { ask } from "./api.js";

export const server = { stores: [], version: "", edit: false };

export async function load_server() {
    Object.assign(server, await ask("/api/stores", {}));
}
