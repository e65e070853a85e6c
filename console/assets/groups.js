// Consumer groups: a list, and one of them with lag over time, partitions and members.

import { Chart } from "./chart.js";
import { Table, Tiles, h, link, setText, tag } from "./dom.js";
import { count, several } from "./format.js";
import { fetchJson, refresh } from "./server.js";
import { pager } from "./topics.js";

const PAGE = 100;
const kinds = { Stable: "good", Empty: "", Dead: "bad" };

const state = { title: "State", update: (cell, group) => {
  if (cell.textContent !== group.state) cell.replaceChildren(tag(group.state, kinds[group.state] ?? "warn"));
} };

export function groups(query) {
  let [skip, asked] = [0, 0];
  const search = h("input", { type: "search", value: query.get("search") ?? "", placeholder: "Group name  ( / )", "aria-label": "Search groups", autocomplete: "off" });
  const total = h("span", { class: "soft" });
  const table = new Table([
    { title: "Group", node: (group) => link(group.name, "group", group.name) },
    state,
    { title: "Members", class: "number", text: (group) => count(group.members) },
    { title: "Topics", class: "number optional", text: (group) => count(group.topics) },
    { title: "Behind", class: "number", text: (group) => count(group.lag) },
  ], { key: (group) => group.name, label: "Consumer groups", empty: "" });
  const more = pager((step) => { skip = Math.max(0, skip + step * PAGE); refresh(); });
  search.addEventListener("input", () => {
    skip = 0;
    history.replaceState(null, "", search.value ? `#/groups?search=${encodeURIComponent(search.value)}` : "#/groups");
    refresh();
  });

  async function update() {
    const mine = ++asked;
    const seen = await fetchJson("api/groups", { search: search.value, skip, limit: PAGE });
    if (mine !== asked) return;
    const none = search.value ? `No group's name holds “${search.value}”.` : ["There are no consumer groups yet. A consumer makes one by joining: ", h("code", {}, "pillion consume TOPIC --group shop")];
    table.update(seen.groups, none);
    setText(total, several(seen.total, "group"));
    more.update(skip, seen.groups.length, seen.total);
  }
  return { title: "Groups", element: h("div", {}, h("h1", {}, "Consumer groups"), h("div", { class: "bar" }, search, total), table.element, more.element), update, every: 3_000 };
}

export function group(name) {
  const tiles = new Tiles(["State", "Members", "Topics", "Behind"]);
  const chart = new Chart("Behind, in records", ["behind"], count);
  const partitions = new Table([
    { title: "Topic", node: (one) => link(one.topic, "topic", one.topic) },
    { title: "Partition", class: "number", text: (one) => String(one.partition) },
    { title: "Committed", class: "number optional", text: (one) => count(one.committed) },
    { title: "End", class: "number optional", text: (one) => count(one.end) },
    { title: "Behind", class: "number", text: (one) => count(one.lag) },
    { title: "Read by", class: "optional", text: (one) => one.reader ?? "nobody" },
  ], { key: (one) => `${one.topic}-${one.partition}`, label: "Committed offsets", empty: "The group has committed nothing." });
  const members = new Table([
    { title: "Client", text: (member) => member.clientId },
    { title: "Host", text: (member) => member.host },
    { title: "Partitions", class: "number", text: (member) => count(member.assigned.length) },
    { title: "Member id", class: "mono optional", text: (member) => member.instanceId ?? member.id },
  ], { key: (member) => member.id, label: "Members", empty: "The group has no members at the moment." });
  const element = h("div", {}, h("h1", {}, name), tiles.element, h("div", { class: "charts" }, chart.element),
    h("h2", {}, "Offsets"), partitions.element, h("h2", {}, "Members"), members.element);
  const own = [];

  async function update() {
    const [seen, samples] = await Promise.all([fetchJson("api/group", { name }), fetchJson("api/history")]);
    const reader = new Map(seen.members.flatMap((member) => member.assigned.map((partition) => [partition, member.clientId])));
    const rows = seen.topics.flatMap((topic) => topic.partitions.map((one) =>
      ({ ...one, topic: topic.name, reader: reader.get(`${topic.name}-${one.partition}`) })));
    const lag = rows.reduce((sum, one) => sum + (one.lag ?? 0), 0);
    own.push([Date.now(), lag]);
    if (own.length > 1_000) own.shift();
    // A broker of its own remembers the last hour; of another cluster this page knows what it saw itself.
    const kept = samples.filter((sample) => name in sample.groupLag).map((sample) => [sample.atMs, sample.groupLag[name]]);
    chart.update(kept.length ? [...kept, own.at(-1)] : own);
    partitions.update(rows);
    members.update(seen.members);
    tiles.set("State", seen.state, seen.protocol, kinds[seen.state] ?? "");
    tiles.set("Members", count(seen.memberCount));
    tiles.set("Topics", count(seen.topics.length));
    tiles.set("Behind", count(lag), "records, all partitions");
  }
  return { title: name, element, update, every: 3_000 };
}
