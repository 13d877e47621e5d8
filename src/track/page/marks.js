/* marks.js lays buttons over the marks of a chart that have a command, such as
 * spikes; a button opens a note with the command, which can be copied. */
import { copy_button } from "./copy.js";
import { button, element } from "./dom.js";
import { x_pixel, y_pixel } from "./paint.js";

function open_note(mark, opener) {
    const area = opener.closest(".area");
    const close = () => {
        note.remove();
        opener.focus();
    };
    const note = element("div", { class: "mark-note", role: "dialog",
        "aria-label": "What was in this batch?", onkeydown: (e) => {
            e.stopPropagation();
            if (e.key === "Escape")
                close();
        } }, element("code", {}, mark.command), " ",
    copy_button(() => mark.command, "Copy"),
    button("Close", "Close this note", close));

    area.querySelector(".mark-note")?.remove();
    area.append(note);
    note.style.left = `${Math.max(0, Math.min(opener.offsetLeft,
        area.clientWidth - note.offsetWidth))}px`;
    note.style.top = `${opener.offsetTop + opener.offsetHeight + 4}px`;
    note.querySelector("button").focus();
}

function mark_button(mark, x, y) {
    return button("", mark.command, (e) => open_note(mark, e.currentTarget), {
        class: "mark", "aria-label": `Show the command ${mark.command}`,
        style: { left: `${x}px`, top: `${y}px` } });
}

/* The buttons of a panel in its box; those of values above it are at its upper
 * edge. */
export function mark_buttons(panel, box) {
    return (panel.marks ?? []).filter((m) => m.command).flatMap((mark) => {
        const x = x_pixel(box, panel, mark.at_x);
        const y = Math.max(box.y0, y_pixel(box, panel.y, mark.at_y));

        return x >= box.x0 && x <= box.x1 && y <= box.y1
            ? [mark_button(mark, x, y)] : [];
    });
}
