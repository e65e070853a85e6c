// Asks pillion.

// Has the view look again at once.
export const refresh = () => dispatchEvent(new Event("pillion:refresh"));

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function fetchJson(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value != null));
  return answer(await fetch(query.size ? `${path}?${query}` : path));
}

// The header tells pillion that this page asks, and no other: another could not set it.
export async function post(path, body) {
  return answer(await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pillion-console": "1" },
    body: JSON.stringify(body),
  }));
}

async function answer(response) {
  if (response.ok) return response.json();
  const text = await response.text();
  let reason = text.trim();
  try { reason = JSON.parse(text).error ?? reason; } catch { /* plain text says it, too */ }
  throw new Refusal(response.status, reason || `pillion answered ${response.status}`);
}
