// Everything at a glance: rates of now, the last hour, groups and connectors that are behind.

import { Chart, rates } from "./chart.js";
import { Table, Tiles, h, link, tag } from "./dom.js";
import { between, bytes, count, duration, quantile, rate, several, states } from "./format.js";
import { fetchJson } from "./server.js";

const titles = ["Records in / s", "Bytes in / s", "Bytes out / s", "Produce p99", "Sync p99", "Connections", "Topics", "Logs", "Disk free", "Memory", "CPU", "Up for"];

export function overview() {
  const tiles = new Tiles(titles);
  const notices = h("div");
  const records = new Chart("Records in", ["records/s"], rate);
  const traffic = new Chart("Traffic", ["in", "out"], (value) => (value == null ? "–" : `${bytes(value)}/s`));
  const behind = new Chart("Groups behind", ["records"], count);
  const wal = new Chart("WAL kept for slots", ["retained"], bytes);
  const groups = new Table([
    { title: "Group", node: (group) => link(group.name, "group", group.name) },
    { title: "Members", class: "number", text: (group) => count(group.members) },
    { title: "Behind", class: "number", text: (group) => count(group.lag) },
  ], { key: (group) => group.name, label: "Groups furthest behind", empty: "No consumer group has committed anything yet." });
  const connectors = connectorTable();
  const walHeading = h("div", {}, wal.element);
  const element = h("div", {}, h("h1", { hidden: true }, "Overview"), notices, tiles.element,
    h("div", { class: "charts" }, records.element, traffic.element, behind.element, walHeading),
    h("div", { class: "columns" },
      h("section", {}, h("h2", {}, "Groups furthest behind"), groups.element),
      h("section", {}, h("h2", {}, "Outbox connectors"), connectors.element)));
  let [before, samples, sampled] = [null, [], 0];
  const own = [];

  async function update() {
    const seen = await fetchJson("api/overview");
    if (Date.now() - sampled > 10_000) {
      samples = await fetchJson("api/history");
      sampled = Date.now();
    }
    notices.replaceChildren(...seen.readiness.reasons.map((reason) =>
      h("p", { class: "notice bad" }, `Not ready: ${reason.part}: ${reason.reason}`)), ...offline(seen.broker));
    show(tiles, seen, before ?? earlier(seen, samples));
    before = seen;
    // The last hour in steps of ten seconds, then what this page saw itself.
    own.push(sampleOf(seen));
    if (own.length > 1_800) own.shift();
    const live = [...samples.filter((sample) => sample.atMs < own[0].atMs), ...own];
    records.update(rates(live, (sample) => sample.appendedRecords));
    traffic.update(rates(live, (sample) => sample.appendedBytes, (sample) => sample.fetchedBytes));
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    behind.update(live.map((sample) => [sample.atMs, sum(Object.values(sample.groupLag))]));
    walHeading.hidden = seen.connectors.length === 0;
    wal.update(live.map((sample) => [sample.atMs, sum(Object.values(sample.connectors).map((one) => one.retainedBytes))]));
    groups.update([...(seen.broker?.groups ?? [])].sort((one, other) => other.lag - one.lag).slice(0, 8));
    connectors.update(seen.connectors);
  }
  return { title: "Overview", element, update, every: 2_000 };
}

export function connectorTable() {
  return new Table([
    { title: "Connector", node: (one) => link(one.name, "connector", one.name) },
    { title: "State", update: (cell, one) => {
      const [text, kind] = states[one.state] ?? [one.state, ""];
      if (cell.textContent !== text) cell.replaceChildren(tag(text, kind));
    } },
    { title: "Published", class: "number", text: (one) => count(one.published) },
    { title: "Behind", class: "number nowrap", text: (one) => (one.lagMs > 0 ? duration(one.lagMs / 1000) : bytes(one.lagBytes)) },
    { title: "WAL kept", class: "number nowrap optional", text: (one) => bytes(one.retainedBytes) },
    { title: "Dead letters", class: "number optional", text: (one) => count(one.deadLetters) },
  ], { key: (one) => one.name, label: "Outbox connectors", empty: ["No outbox connector runs in this process. ", h("code", {}, "pillion run --postgres URL --auto-init"), " starts one; ", h("code", {}, "pillion outbox init --help"), " says what a database needs."] });
}

function offline(broker) {
  if (!broker?.offlinePartitions) return [];
  return [h("p", { class: "notice bad" }, `${count(broker.offlinePartitions)} of ${count(broker.partitions)} partitions are offline: look at the disk and the log, then restart the broker.`)];
}

function sampleOf({ nowMs, broker, connectors, process }) {
  return {
    atMs: nowMs,
    appendedRecords: broker?.appendedRecords ?? 0,
    appendedBytes: broker?.appendedBytes ?? 0,
    fetchedBytes: broker?.fetchedBytes ?? 0,
    residentBytes: process?.residentBytes ?? 0,
    groupLag: Object.fromEntries((broker?.groups ?? []).map((group) => [group.name, group.lag])),
    connectors: Object.fromEntries(connectors.map((one) => [one.name, one])),
  };
}

// The newest sample stands in for a look before the page was opened.
function earlier(seen, samples) {
  const last = samples.at(-1);
  if (!last || !seen.broker) return null;
  return { nowMs: last.atMs, broker: { ...seen.broker, ...last, apis: [], syncs: null }, process: { cpuSeconds: last.cpuSeconds } };
}

function show(tiles, seen, before) {
  const { broker, process } = seen;
  const seconds = before ? (seen.nowMs - before.nowMs) / 1000 : 0;
  const perSecond = (name) => (seconds > 0 && broker && before.broker ? Math.max(0, broker[name] - before.broker[name]) / seconds : null);
  if (broker) {
    tiles.set("Records in / s", rate(perSecond("appendedRecords")), `${count(broker.appendedRecords)} since the start`);
    tiles.set("Bytes in / s", bytes(perSecond("appendedBytes")), `${bytes(broker.appendedBytes)} since the start`);
    tiles.set("Bytes out / s", bytes(perSecond("fetchedBytes")), `${bytes(broker.fetchedBytes)} since the start`);
    const api = (broker, name) => broker?.apis.find((api) => api.name === name);
    latency(tiles, "Produce p99", api(broker, "Produce"), api(before?.broker, "Produce"));
    latency(tiles, "Sync p99", broker.syncs, before?.broker?.syncs);
    tiles.set("Connections", count(broker.connections), broker.connectionsRefused ? `${count(broker.connectionsRefused)} refused` : "");
    tiles.set("Topics", count(broker.topics), several(broker.partitions, "partition"));
    tiles.set("Logs", bytes(broker.logBytes), `${bytes(broker.unsyncedBytes)} not synced yet`);
    const { disk } = broker;
    if (disk) tiles.set("Disk free", bytes(disk.freeBytes), `of ${bytes(disk.totalBytes)}`, disk.freeBytes < disk.freeBytesMin * 2 ? "warn" : "");
  }
  if (process) {
    tiles.set("Memory", bytes(process.residentBytes), `${several(process.openFiles, "file")} open`);
    const cpu = seconds > 0 && before.process ? (process.cpuSeconds - before.process.cpuSeconds) / seconds : null;
    tiles.set("CPU", cpu == null ? "–" : `${(cpu * 100).toFixed(cpu < 0.1 ? 1 : 0)} %`, "of one core");
    tiles.set("Up for", duration((seen.nowMs - process.startedMs) / 1000), `pillion ${seen.version}`);
  }
}

// Of what was answered since the last look; of everything where nothing was.
function latency(tiles, title, now, before) {
  if (!now || now.count === 0) return tiles.set(title, "–", "none so far");
  const recent = between(before?.buckets, now.buckets);
  const p99 = quantile(recent, 0.99);
  const [value, note] = p99 != null && before ? [p99, "of the last seconds"] : [quantile(now.buckets, 0.99), "since the start"];
  tiles.set(title, duration(value), note);
}

