// Rows that could not be published: why, and, where it is allowed, once more.

import { Table, h, link, setText } from "./dom.js";
import { time } from "./format.js";
import { fetchJson, post } from "./server.js";

const SHOWN = 20;

export function deadLetters(connector, settings) {
  const status = h("span", { role: "status" });
  const letter = (record) => { try { return JSON.parse(record.value.text); } catch { return {}; } };
  const header = (record, name) => record.headers.find((one) => one.name === name)?.value?.text;
  const again = (record) => h("button", { type: "button", onclick: (event) => replay(event.target, record) }, "Replay");
  const table = new Table([
    { title: "Committed", class: "nowrap optional", text: (record) => time(record.timestampMs) },
    { title: "Reason", text: (record) => header(record, "pillion.dead-letter.reason") ?? letter(record).reason },
    { title: "Table", class: "nowrap optional", text: (record) => header(record, "pillion.dead-letter.table") },
    { title: "Row", class: "mono", node: (record) => link(header(record, "id") ?? "see the message", "topic", record.topic, "message", String(record.partition), String(record.offset)) },
    { title: "", class: "number", node: (record) => (settings.allowWrites ? again(record) : h("span", { class: "soft", title: "ui.allow.writes=true lets this page replay" }, "read-only")) },
  ], { key: (record) => `${record.partition}-${record.offset}`, label: "Dead letters", empty: "" });
  const element = h("div", {}, table.element, h("div", { class: "more" }, status));

  async function replay(button, record) {
    button.disabled = true;
    try {
      const { table } = await post("api/dead-letters/replay", { connector, partition: record.partition, offset: record.offset });
      setText(status, `${header(record, "id") ?? "The row"} was written to ${table} again. If it is still wrong it becomes a dead letter again.`);
    } catch (error) {
      setText(status, error.message);
    }
    button.disabled = false;
  }

  async function update({ deadLetterTopic: topic, health }) {
    if (!health.deadLetters) {
      const unknown = health.clusterError ?? health.error;
      return table.update([], unknown ? `The dead-letter topic cannot be asked: ${unknown}` : [`There are none on ${topic}. Rows get there with `, h("code", {}, "on.error=dead-letter"), " when no record can be made of them."]);
    }
    const { records } = await fetchJson("api/messages", { topic, limit: SHOWN });
    for (const record of records) record.topic = topic;
    table.update(records.reverse(), `${topic} holds only what was deleted or never committed.`);
  }
  return { element, update };
}
