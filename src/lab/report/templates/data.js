"use strict";
// What Python wrote, and how its values are shown and compared. Values reach the page as text alone.
const DATA = JSON.parse(document.getElementById("data").textContent);
const RUNS = DATA.runs;
const NONE = "–";
const METRIC = "metric: ";

function $(id) {
  return document.getElementById(id);
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

// A key of the config, or a metric where the name says so.
function valueOf(run, name) {
  const found = name.startsWith(METRIC) ? run.metrics[name.slice(METRIC.length)] : run.keys[name];
  return found === undefined ? null : found;
}

function shown(value) {
  if (value === null || value === undefined) return NONE;
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}

// Numbers before words, each in their order, what is missing last.
function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function unique(values) {
  return [...new Set(values)].sort(compare);
}

function values(runs, name) {
  return unique(runs.map((run) => valueOf(run, name)));
}

function namesOf(runs, part) {
  return [...new Set(runs.flatMap((run) => Object.keys(run[part])))];
}

// What says how a run came out or where it was made, and what only repeats the method's name.
const NOT_A_DIFFERENCE = ["state", "search", "trial", "selection", "stopped", "experiment", "aggregator.name", "device", "threads", "data_dir"];

// The keys in which runs of one experiment differ, of those that have the key.
const differences = new WeakMap();

function differing(runs) {
  if (!differences.has(runs)) differences.set(runs, findDiffering(runs));
  return differences.get(runs);
}

function findDiffering(runs) {
  return namesOf(runs, "keys").filter((name) => {
    if (NOT_A_DIFFERENCE.includes(name) || /^(provenance|logger)\.|_target_$/.test(name)) return false;
    const having = runs.filter((run) => name in run.keys);
    return values(having, "experiment").some((experiment) =>
      values(having.filter((run) => valueOf(run, "experiment") === experiment), name).length > 1);
  });
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The short name of a run: the last two parts of its folder.
function nameOf(run) {
  return run.folder.split("/").slice(-2).join("/");
}

function fill(select, groups, chosen) {
  const before = chosen ?? select.value;
  select.replaceChildren(
    ...Object.entries(groups).filter(([, names]) => names.length).map(([label, names]) =>
      element("optgroup", { label }, ...names.map((name) =>
        element("option", { value: name }, name.replace(METRIC, ""))))),
  );
  const known = [...select.options].some((option) => option.value === before);
  if (known) select.value = before;
  return select.value;
}
