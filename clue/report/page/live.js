"use strict";
// Changed figures are sent to the server, which ranks the options again; its response replaces parts of the page.
const form = document.querySelector("#live");
const state = form.querySelector(".state");
const faults = form.querySelector("#faults");
const fields = [...form.querySelectorAll("input, select")];
const positions = () => new Map([...document.querySelectorAll("table[data-name=ranking] tr[data-key]")]
  .map((row) => [row.dataset.key, Number(row.cells[0].dataset.value)]));
const stated = positions();  // the ranking of the file
const isCut = document.querySelector("table[data-name=ranking][data-more]") !== null;  // more options than are listed
const isSampled = () => [...document.querySelectorAll("table[data-name=ranking] th")].some((head) => head.textContent === "best");
const statedSampled = isSampled();

const markMoves = () => {
  for (const row of document.querySelectorAll("table[data-name=ranking] tr[data-key]")) {
    const before = stated.get(row.dataset.key);
    if (before === undefined && isCut) continue;  // its place in the file's ranking is not known
    const by = before === undefined ? null : before - Number(row.cells[0].dataset.value);
    if (by === 0) continue;
    const mark = document.createElement("span");
    mark.className = `moved ${by === null || by > 0 ? "up" : "down"}`;
    mark.textContent = by === null ? "new" : by > 0 ? `▲ ${by}` : `▼ ${-by}`;
    mark.title = by === null ? "not ranked with the file's figures" : "places, beside the file's figures";
    row.cells[1].append(mark);
  }
};
const showFaults = (figures, others) => {
  for (const field of fields) {
    const told = document.getElementById(`${field.id}-fault`);
    const texts = figures[field.name] ?? [];
    field.removeAttribute("aria-invalid");
    if (texts.length) { field.setAttribute("aria-invalid", "true"); field.closest("details").open = true; }
    told.textContent = texts.join(" ");
    told.hidden = !texts.length;
  }
  faults.replaceChildren(...others.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  faults.hidden = !others.length;
};
const changesNow = () => {
  const changes = {};
  for (const field of fields) {
    const changed = field.value.trim() !== field.dataset.stated;
    field.classList.toggle("changed", changed);
    if (changed) changes[field.name] = field.value;
  }
  return changes;
};
let known = {};  // by piece of the page, the digest of its content
const giveUp = (said) => {  // nothing more is being computed
  document.querySelector("[data-piece=awaited]")?.remove();
  delete known.awaited;
  state.textContent = said;
};
const put = (pieces, awaited) => {
  const page = document.querySelector("#ranking-page");
  const before = new Map([...page.children].map((each) => [each.dataset.piece, each]));
  known = {};
  let last = null;
  for (const [name, digest, html] of pieces) {
    let element = before.get(name);
    if (html !== null) {
      const made = document.createElement("template");
      made.innerHTML = html;  // made by the server; scripts in it would not run
      const fresh = made.content.firstElementChild;
      if (element) element.replaceWith(fresh);
      element = fresh;
    }
    before.delete(name);
    const next = last ? last.nextElementSibling : page.firstElementChild;
    if (next !== element) page.insertBefore(element, next);
    last = element;
    known[name] = digest;
  }
  for (const each of before.values()) each.remove();
  for (const mark of document.querySelectorAll(".moved")) mark.remove();
  sortAgain();
  if (!awaited || isSampled() === statedSampled) markMoves();  // options that samples cannot tell apart share a position
};
const ask = async (what, changes) => {
  const body = JSON.stringify({ changes, known });
  try {
    const response = await fetch(what, { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (response.headers.get("Content-Type")?.startsWith("application/json")) return await response.json();
    asked = null;
    return { figures: {}, others: [await response.text()] };  // why it refuses, for example the token of an earlier server
  } catch {
    asked = null;  // the same figures may be sent again
    return { figures: {}, others: ["The server does not answer: has it been ended?"] };
  }
};
let asked = JSON.stringify({});
let turn = 0;
const rank = async () => {
  const changes = changesNow();
  const body = JSON.stringify(changes);
  if (body === asked) return;
  asked = body;
  const mine = ++turn;
  state.textContent = "Ranking…";
  let answer = await ask("ranking", changes);
  if (mine !== turn) return;  // another figure has changed meanwhile
  showFaults(answer.figures ?? {}, answer.others ?? []);
  if (answer.pieces === undefined) { giveUp("The ranking below is the last one without errors."); return; }
  put(answer.pieces, answer.awaited);
  const number = Object.keys(changes).length;
  const what = number ? `${number} changed figure${number > 1 ? "s" : ""}` : "The figures are those of the file";
  const simulated = answer.simulations
    ? `${answer.simulations} new simulation${answer.simulations > 1 ? "s" : ""}`
    : "nothing was simulated";
  const said = `${what}: ranked in ${answer.milliseconds.toFixed(0)} ms; ${simulated}`;
  state.textContent = answer.awaited ? `${said}. What takes longer is being computed.` : `${said}.`;
  if (!answer.awaited) return;
  do {
    answer = await ask("full", changes);
    if (mine !== turn) return;
    if (answer.superseded) await new Promise((go) => setTimeout(go, 300));  // by a change on another page
  } while (answer.superseded && mine === turn);
  if (mine !== turn) return;
  showFaults(answer.figures ?? {}, answer.others ?? []);
  if (answer.pieces === undefined) { giveUp(`${said}. The rest cannot be computed.`); return; }
  put(answer.pieces, answer.awaited);
  state.textContent = `${said}; all of it in ${answer.milliseconds.toFixed(0)} ms.`;
};
const scaled = (text, factor, whole) => text.replace(/([0-9][0-9,_]*(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?/, (found) => {
  const before = Number(found.replaceAll(/[,_]/g, ""));
  const number = before * factor;
  if (!whole) return String(Number(number.toPrecision(4)));
  const nearest = Math.round(number);
  return String(factor > 1 ? Math.max(nearest, Math.floor(before) + 1) : Math.max(1, Math.min(nearest, Math.ceil(before) - 1)));
});
form.addEventListener("change", rank);
form.addEventListener("submit", (event) => { event.preventDefault(); rank(); });
form.addEventListener("keydown", (event) => {
  const factor = { ArrowUp: 1.05, ArrowDown: 1 / 1.05 }[event.key];
  if (factor === undefined || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  if (!event.target.value) event.target.value = event.target.placeholder;
  if (!/[0-9]/.test(event.target.value)) { event.target.value = ""; return; }  // "no limit" has no number to change
  event.target.value = scaled(event.target.value, factor, event.target.dataset.whole !== undefined);
  rank();
});
form.querySelector("#back").addEventListener("click", () => {
  for (const field of fields) field.value = field.dataset.stated;
  rank();
});
