// Topics: a list, and one of them with its partitions and settings.

import { Table, Tiles, h, link, setText, tag } from "./dom.js";
import { bytes, count, rate, several } from "./format.js";
import { fetchJson, refresh } from "./server.js";

const PAGE = 100;

export function topics(query) {
  let [skip, before] = [0, null];
  const search = h("input", { type: "search", value: query.get("search") ?? "", placeholder: "Topic name  ( / )", "aria-label": "Search topics", autocomplete: "off" });
  const total = h("span", { class: "soft" });
  const table = new Table([
    { title: "Topic", node: (topic) => [link(topic.name, "topic", topic.name), topic.isInternal && tag("internal")] },
    { title: "Partitions", class: "number optional", text: (topic) => count(topic.partitions) },
    { title: "Offsets", class: "number", text: (topic) => count(topic.records) },
    { title: "Size", class: "number nowrap", text: (topic) => bytes(topic.counted?.logBytes) },
    { title: "In / s", class: "number optional", text: (topic) => rate(topic.rate) },
    { title: "Read", class: "number nowrap optional", text: (topic) => bytes(topic.counted?.fetchedBytes) },
    { title: "", class: "number", update: (cell, topic) => {
      const offline = topic.counted?.offlinePartitions ?? 0;
      if (offline && !cell.firstChild) cell.append(tag(`${offline} offline`, "bad"));
    } },
  ], { key: (topic) => topic.name, label: "Topics", empty: "" });
  const more = pager((step) => { skip = Math.max(0, skip + step * PAGE); refresh(); });
  const element = h("div", {}, h("h1", {}, "Topics"), h("div", { class: "bar" }, search, total), table.element, more.element);
  search.addEventListener("input", () => {
    skip = 0;
    history.replaceState(null, "", search.value ? `#/topics?search=${encodeURIComponent(search.value)}` : "#/topics");
    refresh();
  });
  if (query.has("focus")) queueMicrotask(() => search.focus());
  let asked = 0;

  async function update() {
    const mine = ++asked;
    const seen = await fetchJson("api/topics", { search: search.value, skip, limit: PAGE });
    if (mine !== asked) return;
    const now = performance.now();
    const records = new Map(seen.topics.map((topic) => [topic.name, topic.counted?.appendedRecords]));
    for (const topic of seen.topics) {
      const known = before?.records.get(topic.name);
      topic.rate = known == null ? null : Math.max(0, records.get(topic.name) - known) / ((now - before.now) / 1000);
    }
    before = { now, records };
    const none = search.value ? `No topic's name holds “${search.value}”.` : ["There are no topics yet. A producer makes one with its first record, or: ", h("code", {}, "pillion topic create orders --partitions 3")];
    table.update(seen.topics, none);
    setText(total, several(seen.total, "topic"));
    more.update(skip, seen.topics.length, seen.total);
  }
  return { title: "Topics", element, update, every: 3_000 };
}

export function pager(turn) {
  const back = h("button", { type: "button", onclick: () => turn(-1) }, "Back");
  const on = h("button", { type: "button", onclick: () => turn(1) }, "Next");
  const where = h("span");
  const element = h("div", { class: "more" }, back, on, where);
  return {
    element,
    update(skip, shown, total) {
      element.hidden = total <= shown && skip === 0;
      [back.disabled, on.disabled] = [skip === 0, skip + shown >= total];
      setText(where, shown ? `${count(skip + 1)} to ${count(skip + shown)} of ${count(total)}` : `${count(total)} in all`);
    },
  };
}

export function tabs(name, current) {
  const path = `#/topic/${encodeURIComponent(name)}`;
  const tab = (text, href, is) => h("a", { href, "aria-current": is ? "page" : null }, text);
  return h("div", { class: "tabs" }, tab("Partitions and settings", path, current === "topic"), tab("Messages", `${path}/messages`, current === "messages"));
}

export function topic(name) {
  const heading = h("h1", {}, name);
  const tiles = new Tiles(["Partitions", "Offsets", "Size", "Appended", "Bytes in", "Bytes read"]);
  const partitions = new Table([
    { title: "Partition", class: "number", node: ({ partition }) => h("a", { href: `#/topic/${encodeURIComponent(name)}/messages?partition=${partition}` }, String(partition)) },
    { title: "First offset", class: "number", text: (one) => count(one.start) },
    { title: "End offset", class: "number", text: (one) => count(one.end) },
    { title: "Between", class: "number", text: (one) => (one.end == null ? "–" : count(one.end - one.start)) },
    { title: "Leader", class: "number optional", text: (one) => (one.leader == null ? "none" : String(one.leader)) },
    { title: "Replicas", class: "optional", text: (one) => one.replicas.join(", ") },
  ], { key: (one) => one.partition, label: "Partitions", empty: "The topic has no partitions." });
  const settings = new Table([
    { title: "Setting", class: "mono", text: (one) => one.name },
    { title: "Value", class: "mono", text: (one) => (one.isSensitive ? "hidden" : one.value ?? "–") },
    { title: "From", class: "nowrap optional", text: (one) => one.source },
  ], { key: (one) => one.name, label: "Settings", empty: "The settings cannot be read." });
  const element = h("div", {}, heading, tabs(name, "topic"), tiles.element,
    h("div", { class: "columns" },
      h("section", {}, h("h2", {}, "Partitions"), partitions.element),
      h("section", {}, h("h2", {}, "Settings"), settings.element)));

  async function update() {
    const seen = await fetchJson("api/topic", { name });
    if (seen.isInternal && !heading.querySelector(".tag")) heading.append(tag("internal"));
    partitions.update(seen.partitions);
    // What was set for this topic comes first.
    settings.update([...seen.configs].sort((one, other) => (other.source === "topic") - (one.source === "topic")));
    tiles.set("Partitions", count(seen.partitionCount));
    tiles.set("Offsets", count(seen.partitions.reduce((sum, one) => sum + (one.end ?? 0) - (one.start ?? 0), 0)), "records, and markers of transactions");
    tiles.set("Size", bytes(seen.counted?.logBytes), seen.counted ? "" : "known to its own broker only");
    tiles.set("Appended", count(seen.counted?.appendedRecords), "records since the start");
    tiles.set("Bytes in", bytes(seen.counted?.appendedBytes), "since the start");
    tiles.set("Bytes read", bytes(seen.counted?.fetchedBytes), "since the start");
  }
  return { title: name, element, update, every: 5_000 };
}
