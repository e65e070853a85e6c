// Elements, and tables that change without being made anew. Text reaches the page as text only: payloads are hostile.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const link = (text, ...path) => h("a", { href: "#/" + path.map(encodeURIComponent).join("/") }, text);

export const tag = (text, kind = "") => h("span", { class: `tag ${kind}` }, text);

// A page elsewhere. Nothing but http: the address comes from a setting, the id from a record.
export function outside(text, url) {
  return /^https?:\/\//.test(url) ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text) : document.createTextNode(text);
}

export function facts(pairs) {
  const list = h("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value != null && value !== "") list.append(h("dt", {}, name), h("dd", {}, value));
  }
  return list;
}

// Columns: { title, text(row), node(row), class }. A node is made with its row; a text is set whenever it changes.
export class Table {
  constructor(columns, { key, empty, label }) {
    Object.assign(this, { columns, key, rows: new Map() });
    this.body = h("tbody");
    const head = h("tr", {}, columns.map((column) => h("th", { class: column.class, scope: "col" }, column.title)));
    this.frame = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, h("thead", {}, head), this.body));
    this.empty = h("p", { class: "empty" }, empty);
    this.element = h("div", {}, this.frame, this.empty);
    this.frame.hidden = this.empty.hidden = true;
  }

  update(rows, empty) {
    this.frame.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    if (empty) this.empty.replaceChildren(...[empty].flat());
    const kept = new Map();
    let place = this.body.firstChild;
    for (const row of rows) {
      const key = this.key(row);
      const known = this.rows.get(key) ?? this.make(row);
      kept.set(key, known);
      known.cells.forEach((cell, index) => {
        const { text, update } = this.columns[index];
        if (text) setText(cell, text(row) ?? "–");
        if (update) update(cell, row);
      });
      if (known.element === place) place = place.nextSibling;
      else this.body.insertBefore(known.element, place);
    }
    for (const [key, { element }] of this.rows) if (kept.get(key)?.element !== element) element.remove();
    this.rows = kept;
  }

  make(row) {
    const cells = this.columns.map((column) => h("td", { class: column.class }, column.node ? column.node(row) : null));
    return { element: h("tr", {}, cells), cells };
  }
}

export class Tiles {
  constructor(titles) {
    this.tiles = new Map(titles.map((title) => [title, { value: h("b", {}, "–"), note: h("i") }]));
    this.element = h("div", { class: "tiles" }, titles.map((title) =>
      h("div", { class: "tile" }, h("span", {}, title), this.tiles.get(title).value, this.tiles.get(title).note)));
  }

  set(title, value, note = "", kind = "") {
    const tile = this.tiles.get(title);
    setText(tile.value, value);
    setText(tile.note, note);
    tile.value.className = kind;
  }
}
