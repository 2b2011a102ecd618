"use strict";
// Tables sort by a click on a heading and filter by what is typed; the button switches between dark and light.
document.documentElement.classList.add("js");

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v ?? cell.textContent;
}

function sort(table, heading) {
  const column = heading.cellIndex;
  const down = heading.getAttribute("aria-sort") === "ascending";
  const number = heading.dataset.n !== undefined;
  const rows = Array.from(table.tBodies[0].rows);
  const compare = number
    ? (a, b) => Number(value(a, column)) - Number(value(b, column))
    : (a, b) => value(a, column).localeCompare(value(b, column), "en", { numeric: true });
  rows.sort((a, b) => (down ? -compare(a, b) : compare(a, b)));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table")) {
  for (const heading of table.tHead.rows[0].cells) {
    heading.querySelector("button").addEventListener("click", () => sort(table, heading));
  }
}

for (const field of document.querySelectorAll("input[type=search]")) {
  const rows = Array.from(document.getElementById(field.dataset.table).tBodies[0].rows);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = Array.from(row.cells, (cell) => cell.textContent.toLowerCase()).join("\t");
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    field.nextElementSibling.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
