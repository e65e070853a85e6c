// A message by hand: only where ui.allow.writes says so.

import { h, setText } from "./dom.js";
import { post } from "./server.js";

export function produceDialog(topic, done) {
  const said = h("p", { role: "status" });
  const partition = h("input", { type: "number", min: "0", placeholder: "by key" });
  const key = h("input", { type: "text", placeholder: "none", autocomplete: "off" });
  const value = h("textarea", { rows: "8", spellcheck: "false" });
  const headers = h("textarea", { rows: "2", placeholder: "name: value, one a line", spellcheck: "false" });
  const field = (label, input) => h("label", {}, label, input);
  const send = h("button", { class: "main" }, "Produce");
  const dialog = h("dialog", { "aria-labelledby": "produce-title" },
    h("h2", { id: "produce-title" }, `Produce to ${topic}`),
    h("form", { class: "fields" }, field("Partition", partition), field("Key", key), field("Value", value), field("Headers", headers), said,
      h("div", { class: "row" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close"), send)));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    try {
      const sent = await post("api/messages", {
        topic,
        partition: partition.value === "" ? null : Number(partition.value),
        key: key.value === "" ? null : { text: key.value },
        value: { text: value.value },
        headers: parse(headers.value),
      });
      setText(said, `Partition ${sent.partition}, offset ${sent.offset}.`);
      said.className = "good";
      done();
    } catch (error) {
      setText(said, error.message);
      said.className = "bad";
    }
    send.disabled = false;
  });
  // It can be shown once it is in the page.
  queueMicrotask(() => dialog.showModal());
  return dialog;
}

function parse(text) {
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const [name, ...rest] = line.split(":");
    return [name.trim(), { text: rest.join(":").trim() }];
  });
}
