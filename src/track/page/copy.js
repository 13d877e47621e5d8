/* copy.js puts a command on the clipboard. */
import { button, element } from "./dom.js";

/* Pages that are files may not use the clipboard, but may copy a selection. */
function copy_selection(text) {
    const area = element("textarea", { class: "offscreen" });

    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");

    area.remove();
    return done;
}

async function copy_text(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copy_selection(text);
    }
}

/* Show a sentence at the edge of the page for a while; it is also spoken. */
export function announce(text) {
    const place = document.getElementById("announcement");

    place.textContent = text;
    place.classList.add("visible");
    clearTimeout(announce.timer);
    announce.timer = setTimeout(() => place.classList.remove("visible"), 4000);
}

/* Copy the command, and say which one it was. */
export async function copy_command(command) {
    if (!command)
        announce("There is no command for this view.");
    else if (await copy_text(command))
        announce(`Copied: ${command}`);
    else
        announce(`The browser refused to copy. The command is: ${command}`);
}

/* A button that copies the command that command() returns. */
export function copy_button(command, label = "Copy command") {
    return button(label, "Copy the command that shows the same", () =>
        copy_command(command()), { class: "copy" });
}
