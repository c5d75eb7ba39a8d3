// Groups of runs, each with a colour, a dash and a mark of its own, the same ones in every plot.
const EVERYTHING = "every difference but the seed";
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const MARKS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star"];
// Okabe and Ito's colours, in the order of the repository's figures.
const PALETTE = Object.values(DATA.colors);

function isDark() {
  return document.documentElement.classList.contains("dark");
}

// On a dark ground every colour is mixed with white.
function colorOn(hex) {
  if (!isDark()) return hex;
  const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * 0.4)).join(",")})`;
}

function groupName(run, by, keys) {
  if (by !== EVERYTHING) return shown(valueOf(run, by));
  const parts = keys.map((key) => (key === "method" ? shown(valueOf(run, key)) : `${key}=${shown(valueOf(run, key))}`));
  return parts.join(", ") || shown(valueOf(run, "method"));
}

// The keys that tell groups apart where every difference counts.
function differencesButSeed(runs) {
  const several = values(runs, "experiment").length > 1 ? ["experiment"] : [];
  return [...several, ...differing(runs).filter((key) => key !== "seed")];
}

function grouped(runs, by) {
  const keys = differencesButSeed(runs);
  const groups = new Map();
  for (const run of runs) {
    const name = groupName(run, by, keys);
    if (!groups.has(name)) groups.set(name, { name, runs: [], value: valueOf(run, by) });
    groups.get(name).runs.push(run);
  }
  const sorted = [...groups.values()].sort((a, b) => compare(a.value, b.value) || compare(a.name, b.name));
  const own = by === "method" ? DATA.colors : {};
  const free = PALETTE.filter((color) => !sorted.some((group) => own[group.name] === color));
  let next = 0;
  for (const [at, group] of sorted.entries()) {
    group.base = own[group.name] ?? (free.length ? free[next % free.length] : PALETTE[at % PALETTE.length]);
    group.dash = own[group.name] ? "solid" : DASHES[Math.floor(next / Math.max(1, free.length)) % DASHES.length];
    group.mark = MARKS[at % MARKS.length];
    if (!own[group.name]) next += 1;
    group.label = by === "method" ? DATA.labels[group.name] ?? group.name : group.name;
    group.also = differencesButSeed(group.runs);
  }
  return sorted;
}

function swatch(group) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  for (const [name, value] of Object.entries({ width: 34, height: 10, class: "swatch", "aria-hidden": "true" })) picture.setAttribute(name, value);
  const line = document.createElementNS(space, "line");
  const dash = { solid: "none", dash: "8 5", dot: "2 4", dashdot: "8 4 2 4", longdash: "13 5" }[group.dash];
  const drawn = { x1: 0, y1: 5, x2: 34, y2: 5, stroke: colorOn(group.base), "stroke-width": 4, "stroke-dasharray": dash };
  for (const [name, value] of Object.entries(drawn)) line.setAttribute(name, value);
  picture.append(line);
  return picture;
}

function keyOptions(runs) {
  const differ = differing(runs);
  const rest = namesOf(runs, "keys").filter((name) => !differ.includes(name)).sort(compare);
  return { "differ here": differ, "other keys": rest };
}

function metricNames(runs) {
  const names = [...new Set([...namesOf(runs, "curves"), ...namesOf(runs, "metrics")])];
  const rank = (name) => (name.startsWith("test/") ? 0 : name.startsWith("train/") ? 1 : name.includes("/") ? 2 : 3);
  return names.sort((a, b) => rank(a) - rank(b) || compare(a, b));
}

function usualMetric(names) {
  return ["test/accuracy", "test/loss", "test/kl"].find((name) => names.includes(name)) ?? names[0];
}
