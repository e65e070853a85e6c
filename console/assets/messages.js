// Records of a topic: searched, followed, shown whole, and, where it is allowed, produced.

import { Table, facts, h, link, outside, setText } from "./dom.js";
import { bytes, count, time } from "./format.js";
import { show, short } from "./payload.js";
import { produceDialog } from "./produce.js";
import { fetchJson, refresh } from "./server.js";
import { tabs } from "./topics.js";

const endings = {
  end: "That is all there is.",
  limit: "There may be more.",
  bound: "The search stopped at its bound of time, records or bytes; there may be more.",
};

export function messages(name, query, settings) {
  const fields = form(query);
  const status = h("span", { role: "status" });
  const on = h("button", { type: "button", hidden: true }, "Go on");
  const table = new Table([
    { title: "Time", class: "nowrap optional", text: (record) => time(record.timestampMs) },
    { title: "Part.", class: "number", text: (record) => String(record.partition) },
    { title: "Offset", class: "number", node: (record) => link(String(record.offset), "topic", name, "message", String(record.partition), String(record.offset)) },
    { title: "Key", class: "clip narrow", text: (record) => short(record.key) },
    { title: "Value", class: "clip", text: (record) => short(record.value) },
    { title: "Headers", class: "number optional", text: (record) => (record.headerCount ? String(record.headerCount) : "") },
    { title: "Trace", class: "nowrap optional", node: (record) => trace(record.traceId, settings.traceUrl, 8) },
  ], { key: (record) => `${record.partition}-${record.offset}`, label: "Messages", empty: "" });
  const produce = settings.allowWrites
    ? h("button", { type: "button", class: "push", onclick: () => element.append(produceDialog(name, search)) }, "Produce a message")
    : h("span", { class: "soft push", title: "ui.allow.writes=true lets this page produce" }, "read-only");
  fields.element.append(produce);
  const element = h("div", {}, h("h1", {}, name), tabs(name, "messages"), fields.element, table.element, h("div", { class: "more" }, on, status));
  const view = { title: `${name}: messages`, element, update, every: null };
  let [asked, next] = [0, null];

  async function update() {
    const mine = ++asked;
    const wanted = fields.values();
    setText(status, fields.live.checked ? status.textContent : "Searching…");
    view.every = fields.live.checked ? 2_000 : null;
    if (fields.partition.options.length === 1) fields.offer((await fetchJson("api/topic", { name })).partitionCount);
    const found = await fetchJson("api/messages", { topic: name, ...wanted });
    if (mine !== asked) return;
    const records = wanted.from ? found.records : found.records.reverse();
    const isFiltered = wanted.key || wanted.value || wanted.header;
    table.update(records, isFiltered ? `None of the ${count(found.scanned)} records looked at holds this. ${endings[found.ended]}` : emptiness(wanted, name));
    setText(status, records.length ? `${count(records.length)} shown, ${count(found.scanned)} looked at. ${endings[found.ended]}` : "");
    // One partition can be gone on in; of several each would have its own place.
    next = wanted.partition !== "" && wanted.from && found.ended !== "end" ? found.next[0]?.[1] : null;
    on.hidden = next == null;
  }

  function search() {
    history.replaceState(null, "", `#/topic/${encodeURIComponent(name)}/messages${fields.query()}`);
    refresh();
  }
  fields.element.addEventListener("submit", (event) => { event.preventDefault(); search(); });
  fields.element.addEventListener("change", search);
  on.addEventListener("click", () => { fields.goOn(next); search(); });
  return view;
}

function emptiness(wanted, name) {
  if (wanted.from === "time" || wanted.from === "offset") return "There is no record from there on.";
  return ["The topic has no records that a consumer would see. Produce one: ", h("code", {}, `echo hello | pillion produce ${name}`)];
}

function form(query) {
  const field = (label, input, kind) => h("label", { class: kind }, label, input);
  const option = (value, text) => h("option", { value }, text);
  const text = (name, placeholder) => h("input", { name, type: "text", value: query.get(name) ?? "", placeholder, autocomplete: "off" });
  const partition = h("select", { name: "partition" }, option("", "all"));
  if (query.get("partition")) partition.append(option(query.get("partition"), query.get("partition")));
  const from = h("select", { name: "from" }, option("", "newest"), option("earliest", "oldest"), option("offset", "offset"), option("time", "time"));
  const offset = h("input", { name: "offset", type: "number", min: "0", value: query.get("offset") ?? "0" });
  const at = h("input", { name: "at", type: "datetime-local", step: "1", value: query.get("at") ?? "" });
  const limit = h("select", { name: "limit" }, ["20", "50", "100", "200"].map((value) => option(value, value)));
  const key = text("key", "text in it");
  const value = h("input", { name: "value", type: "search", value: query.get("value") ?? "", placeholder: "text in it  ( / )", autocomplete: "off" });
  const header = text("header", "name or name=text");
  const live = h("input", { name: "live", type: "checkbox" });
  live.checked = query.has("live");
  [partition.value, from.value, limit.value] = [query.get("partition") ?? "", query.get("from") ?? "", query.get("limit") ?? "50"];
  const [offsetField, atField] = [field("Offset", offset), field("Time", at)];
  const element = h("form", { class: "bar" }, field("Partition", partition), field("From", from), offsetField, atField,
    field("Key", key), field("Value", value), field("Header", header), field("Show", limit),
    h("label", { class: "check" }, live, "follow"), h("button", {}, "Search"));
  const arrange = () => {
    offsetField.hidden = from.value !== "offset";
    atField.hidden = from.value !== "time";
    live.disabled = from.value !== "";
    if (live.disabled) live.checked = false;
  };
  arrange();
  from.addEventListener("change", arrange);
  const said = { partition, from, offset, at, limit, key, value, header };
  return {
    element, partition, live,
    offer: (partitions) => {
      const chosen = partition.value;
      partition.replaceChildren(option("", "all"), ...Array.from({ length: Math.min(partitions, 1_000) }, (_, number) => option(String(number), String(number))));
      partition.value = chosen;
    },
    goOn: (at) => { from.value = "offset"; offset.value = String(at); arrange(); },
    values: () => ({
      partition: partition.value, from: from.value, limit: limit.value, key: key.value, value: value.value, header: header.value,
      offset: from.value === "offset" ? offset.value : "",
      time: from.value === "time" ? String(new Date(at.value).getTime() || 0) : "",
    }),
    query: () => {
      const pairs = Object.entries(said).filter(([name, input]) => input.value !== "" && !(name === "limit" && input.value === "50")
        && !(name === "offset" && from.value !== "offset") && !(name === "at" && from.value !== "time"));
      const search = new URLSearchParams(pairs.map(([name, input]) => [name, input.value]));
      if (live.checked) search.set("live", "1");
      return search.size ? `?${search}` : "";
    },
  };
}

function trace(id, url, length) {
  if (!id) return "";
  const text = length ? `${id.slice(0, length)}…` : id;
  return url ? outside(text, url.replace("{traceId}", id)) : h("code", { title: id }, text);
}

export function message(name, partition, offset, settings) {
  const content = h("div");
  const step = (by) => link(by < 0 ? "← offset before" : "offset after →", "topic", name, "message", partition, String(Number(offset) + by));
  const element = h("div", {}, h("h1", {}, link(name, "topic", name, "messages"), h("small", {}, `partition ${partition}, offset ${offset}`)),
    h("div", { class: "bar" }, Number(offset) > 0 && step(-1), step(1)), content);

  async function update() {
    const record = await fetchJson("api/message", { topic: name, partition, offset });
    const headers = record.headers.map((header) => h("tr", {}, h("td", { class: "mono" }, header.name), h("td", { class: "mono" }, short(header.value))));
    content.replaceChildren(h("div", { class: "columns" },
      h("section", {}, h("h2", {}, "Record"), facts([
        ["Time", `${time(record.timestampMs)} (${record.timestampMs})`],
        ["Key", record.key == null ? "none" : `${bytes(record.key.bytes)}`],
        ["Value", record.value == null ? "none: a tombstone on compacted topics" : `${bytes(record.value.bytes)}${record.value.cut ? ", of which the beginning is shown" : ""}`],
        ["Trace", trace(record.traceId, settings.traceUrl)],
      ])),
      h("section", {}, h("h2", {}, "Headers"), headers.length
        ? h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, headers)))
        : h("p", { class: "empty" }, "The record has no headers."))),
    h("h2", {}, "Key"), show(record.key), h("h2", {}, "Value"), show(record.value));
  }
  return { title: `${name} ${partition}:${offset}`, element, update, every: null };
}
