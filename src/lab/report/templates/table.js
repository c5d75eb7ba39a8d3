// The table of runs: what differs between them and what they reached, sorted as the reader likes.
const MOST_COLUMNS = 10;
const FIRST_ROWS = 200;
const sorting = { key: null, descending: false };
let added = [];
let showsAll = false;
const opened = new Set();

// The usual ones, and of a run that has none of them its own first.
function shownMetrics(runs) {
  const usual = metricNames(runs).filter((name) => /^(test|train)\/(accuracy|loss|kl)$/.test(name)).slice(0, 3);
  const without = runs.filter((run) => !usual.some((name) => name in run.metrics));
  return [...new Set([...usual, ...without.flatMap((run) => metricNames([run]).slice(0, 1))])];
}

function columnsOf(runs) {
  const differ = differing(runs);
  const metrics = shownMetrics(runs);
  const fixed = ["state", ...(values(runs, "experiment").length > 1 ? ["experiment"] : []), "method", "seed"];
  const own = differ.filter((name) => !fixed.includes(name));
  const chosen = [...fixed, ...own.slice(0, MOST_COLUMNS), ...metrics.map((name) => METRIC + name), ...added];
  const more = own.length - MOST_COLUMNS;
  const constant = runs.length > 1 && !own.length ? " The runs differ in nothing but method and seed." : "";
  $("table-note").textContent = `${runs.length} of ${RUNS.length} runs. Columns: the keys in which runs of one experiment differ` +
    (more > 0 ? `, of which ${more} more are under "Add a column".` : ".") + constant;
  return [...new Set(chosen)];
}

function sorted(runs) {
  if (sorting.key === null) return runs;
  const key = sorting.key === "run" ? null : sorting.key;
  const value = (run) => (key === null ? run.folder : valueOf(run, key));
  return [...runs].sort((a, b) => {
    if (value(a) === null || value(b) === null) return compare(value(a), value(b));
    return compare(value(a), value(b)) * (sorting.descending ? -1 : 1);
  });
}

function sortBy(key, descending) {
  sorting.key = key;
  sorting.descending = descending;
  $("sort-key").value = key;
  $("sort-order").value = descending ? "down" : "up";
  showTable(kept());
}

function headerCell(name) {
  const label = name === "run" ? "run" : name.replace(METRIC, "");
  const isSorted = sorting.key === name;
  const arrow = isSorted ? (sorting.descending ? " ↓" : " ↑") : "";
  const button = element("button", { type: "button" }, label + arrow);
  button.addEventListener("click", () => {
    sortBy(name, isSorted && !sorting.descending);
    [...$("runs").querySelectorAll("thead button")].find((other) => other.textContent.startsWith(label))?.focus();
  });
  const sort = isSorted ? (sorting.descending ? "descending" : "ascending") : "none";
  return element("th", { scope: "col", "aria-sort": sort }, button);
}

function cell(run, name) {
  const value = valueOf(run, name);
  const isNumber = typeof value === "number";
  const text = name === "state" ? element("span", { class: `state ${run.state}` }, run.state) : shown(value);
  return element("td", { "data-label": name.replace(METRIC, ""), ...(isNumber ? { class: "number" } : {}) }, text);
}

function rowsOf(run, columns) {
  const isOpen = opened.has(run.folder);
  const button = element("button", { type: "button", class: "open", "aria-expanded": isOpen }, nameOf(run));
  button.addEventListener("click", () => {
    if (!opened.delete(run.folder)) opened.add(run.folder);
    showTable(kept());
    [...$("runs").querySelectorAll("button.open")].find((other) => other.textContent === nameOf(run))?.focus();
  });
  const row = element("tr", {}, element("td", { "data-label": "run" }, button), ...columns.map((name) => cell(run, name)));
  if (!isOpen) return [row];
  return [row, element("tr", { class: "more" }, element("td", { colspan: columns.length + 1 }, details(run)))];
}

function details(run) {
  const list = element("dl");
  const add = (name, ...what) => list.append(element("dt", {}, name), element("dd", {}, ...what));
  add("folder", run.folder);
  add("repeat it with", ...commandOf(run));
  if (run.message) add(run.state === "done" ? "warning" : "message", run.message);
  const own = differing(kept()).map((key) => `${key}=${shown(valueOf(run, key))}`).join("  ");
  add("differs in", own || "nothing");
  add("reached", Object.entries(run.metrics).map(([name, value]) => `${name} ${shown(value)}`).join("  ") || NONE);
  const all = element("details", {}, element("summary", {}, "every key"));
  all.append(element("code", {}, Object.entries(run.keys).map(([key, value]) => `${key}=${shown(value)}`).join("  ")));
  add("config", all);
  if (run.log) add("log ends", element("pre", { tabindex: "0" }, run.log));
  return list;
}

function commandOf(run) {
  if (!run.command) return ["the command that was given: the run ended before it was written down"];
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(run.command);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Select it by hand";
    }
  });
  return [element("code", {}, run.command), " ", copy];
}

function showTable(runs) {
  const columns = columnsOf(runs);
  const table = $("runs");
  table.tHead.replaceChildren(element("tr", {}, ...["run", ...columns].map(headerCell)));
  const order = sorted(runs);
  const some = showsAll ? order : order.slice(0, FIRST_ROWS);
  table.tBodies[0].replaceChildren(...some.flatMap((run) => rowsOf(run, columns)));
  $("table-all").hidden = some.length === order.length;
  $("table-all").textContent = `Show all ${order.length} runs`;
}

function startTable() {
  const metrics = metricNames(RUNS).map((name) => METRIC + name);
  const keys = keyOptions(RUNS);
  fill($("sort-key"), { run: ["run"], ...keys, metrics }, "run");
  fill($("column-add"), { choose: ["choose"], ...keys, metrics }, "choose");
  const resort = () => sortBy($("sort-key").value, $("sort-order").value === "down");
  $("sort-key").addEventListener("change", resort);
  $("sort-order").addEventListener("change", resort);
  $("column-add").addEventListener("change", () => {
    if ($("column-add").value !== "choose") added.push($("column-add").value);
    $("column-add").value = "choose";
    showTable(kept());
  });
  $("columns-reset").addEventListener("click", () => {
    added = [];
    showTable(kept());
  });
  $("table-all").addEventListener("click", () => {
    showsAll = true;
    showTable(kept());
  });
}
