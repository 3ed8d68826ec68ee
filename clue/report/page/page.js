"use strict";
// Tables can be sorted by column, and charts describe their marks; all by pointer and by keyboard.
const worth = (cell) => cell.dataset.value === undefined ? null : Number(cell.dataset.value);
const byText = (one, other) => one.textContent.localeCompare(other.textContent, undefined, { numeric: true });
const compare = (one, other, sign) => {
  const [a, b] = [worth(one), worth(other)];
  if (a === null && b === null) return sign * byText(one, other);
  return a === null ? 1 : b === null ? -1 : sign * (a - b);  // missing figures come last
};
const sorted = new Map();  // by table: the heading of its column, and whether in descending order
const sort = (table, column, down) => {
  const heads = table.tHead.rows[0].cells;
  for (const each of heads) each.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((one, other) => compare(one.cells[column], other.cells[column], down ? -1 : 1));
  body.append(...rows);
  sorted.set(table.dataset.name, [heads[column].textContent, down]);
};
const sortAgain = () => {
  for (const table of document.querySelectorAll("table")) {
    const [heading, down] = sorted.get(table.dataset.name) ?? [];
    const column = [...table.tHead.rows[0].cells].findIndex((each) => each.textContent === heading);
    if (column >= 0) sort(table, column, down);
  }
};
document.addEventListener("click", ({ target }) => {
  const head = target.closest("th");
  if (head && target.closest("button")) sort(head.closest("table"), head.cellIndex, head.getAttribute("aria-sort") === "ascending");
});

const tip = document.querySelector(".tip");
const say = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(4, Math.min(x + scrollX + 12, most + scrollX))}px`;
  tip.style.top = `${y + scrollY + 14}px`;
};
const hush = () => { tip.hidden = true; for (const each of document.querySelectorAll(".chosen")) each.classList.remove("chosen"); };
document.addEventListener("pointermove", (event) => {
  const mark = event.target.closest?.(".mark");
  if (mark) say(mark.dataset.told, event.clientX, event.clientY);
  else if (!event.target.closest?.("canvas") && !document.querySelector(".chosen")) hush();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hush();
  const chart = event.target.closest?.("svg.chart");
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!chart || (step === undefined && event.key !== "Home" && event.key !== "End")) return;
  event.preventDefault();
  const marks = [...chart.querySelectorAll(".mark")];
  if (!marks.length) return;
  const now = marks.findIndex((each) => each.classList.contains("chosen"));
  const next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1
    : now < 0 ? (step > 0 ? 0 : marks.length - 1) : (now + step + marks.length) % marks.length;
  hush();
  marks[next].classList.add("chosen");
  const box = marks[next].getBoundingClientRect();
  say(marks[next].dataset.told, box.left + box.width / 2, box.bottom - 8);
});
document.addEventListener("focusout", ({ target }) => { if (target.closest?.("svg.chart")) hush(); });
