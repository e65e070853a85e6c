// A key or a value: as JSON with colours, as text, or as bytes.

import { h } from "./dom.js";

const LINE = 16;

// One line of it.
export function short(payload) {
  if (payload == null) return "null";
  if (payload.text != null) return payload.text.replaceAll(/\s+/g, " ").slice(0, 300);
  return `0x${payload.hex.slice(0, 96)}`;
}

// All of it that is here, with a choice of how.
export function show(payload) {
  if (payload == null) return h("p", { class: "empty" }, "null");
  if (payload.bytes === 0) return h("p", { class: "empty" }, "Empty: no bytes.");
  const json = payload.text == null ? undefined : parsed(payload.text);
  const ways = [
    ...(json === undefined ? [] : [["JSON", () => coloured(JSON.stringify(json, null, 2))]]),
    ...(payload.text == null ? [] : [["Text", () => [payload.text]]]),
    ["Bytes", () => [dump(payload)]],
  ];
  const block = h("pre", { tabindex: "0" });
  const buttons = ways.map(([name, content]) => h("button", { type: "button", onclick: (event) => choose(event.target, content) }, name));
  const copy = h("button", { type: "button", class: "quiet", onclick: () => navigator.clipboard?.writeText(block.textContent) }, "Copy");
  function choose(button, content) {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    block.replaceChildren(...content());
  }
  choose(buttons[0], ways[0][1]);
  return h("div", {}, h("div", { class: "tabs" }, buttons, navigator.clipboard && copy), block);
}

function parsed(text) {
  if (!/^\s*[[{"\d-]|^\s*(true|false|null)\s*$/.test(text)) return undefined;
  try { return JSON.parse(text); } catch { return undefined; }
}

// Pieces of JSON text, each a node of its own; a long one stays plain, for the page's sake.
function coloured(text) {
  if (text.length > 100_000) return [text];
  const pieces = text.split(/("(?:[^"\\]|\\.)*"(?:\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/);
  return pieces.map((piece, place) => {
    if (place % 2 === 0) return piece;
    const kind = piece.endsWith(":") ? "k" : piece.startsWith('"') ? "s" : "n";
    return h("span", { class: kind }, piece);
  });
}

function dump(payload) {
  const all = payload.hex == null ? new TextEncoder().encode(payload.text) : Uint8Array.from(payload.hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const lines = [];
  for (let at = 0; at < Math.min(all.length, 64 * 1024); at += LINE) {
    const line = [...all.subarray(at, at + LINE)];
    const digits = line.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(LINE * 3);
    const text = line.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits} ${text}`);
  }
  return lines.join("\n");
}
