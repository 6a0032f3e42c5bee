// What the model did, in place: the page of a look, and below it what changes of the model do.

import { changing } from "./changing.js";
import { made, path, post } from "./made.js";

/** A button that opens an answer up. */
export function inside(run, value) {
  const button = made("button", { type: "button", textContent: "look inside" }), box = made("div");
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", async () => {
    if (box.childElementCount) {
      box.hidden = !box.hidden;
      button.setAttribute("aria-expanded", String(!box.hidden));
      return;
    }
    button.disabled = true;
    box.replaceChildren();
    try {
      const frame = made("iframe", { title: "what the model did" }), changed = made("section", { className: "changes" });
      changed.setAttribute("aria-label", "change and see");
      const found = await look(run, value, [], frame);
      box.append(frame, made("p", {}, made("a", { href: found.page, target: "_blank", rel: "noopener", textContent: "open what the model did in a window of its own" })), changed);
      button.setAttribute("aria-expanded", "true");
      changing(run, value, changed, (some) => look(run, value, some, frame));
    } catch (error) {
      box.append(made("pre", { className: "error", textContent: error.message }));
    }
    button.disabled = false;
  });
  return made("div", {}, made("p", { className: "row" }, button), box);
}

async function look(run, value, changes, frame) {
  const found = await (await post(path("look", run), { input: value, ...(changes.length ? { changes } : {}) })).json();
  frame.src = found.page;
  return found;
}
