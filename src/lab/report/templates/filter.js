// Which runs are looked at: words anywhere, and values of keys.
const filters = new Map();

function passes(run) {
  const words = $("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [run.folder, run.command, run.message, ...Object.entries(run.keys).map(([key, value]) => `${key}=${shown(value)}`)].join(" ").toLowerCase();
  return words.every((word) => text.includes(word)) &&
    [...filters].every(([key, wanted]) => wanted.has(shown(valueOf(run, key))));
}

let passing = RUNS;

function kept() {
  return passing;
}

function showValues() {
  const key = $("filter-key").value;
  const select = $("filter-value");
  select.replaceChildren(...values(RUNS, key).map((value) => {
    const n = RUNS.filter((run) => shown(valueOf(run, key)) === shown(value)).length;
    return element("option", { value: shown(value) }, `${shown(value)} (${n})`);
  }));
}

function showFilters() {
  const chips = [...filters].flatMap(([key, wanted]) => [...wanted].map((value) => {
    const chip = element("button", { type: "button", "aria-label": `Remove the filter ${key}=${value}` }, `${key}=${value} ✕`);
    chip.addEventListener("click", () => {
      wanted.delete(value);
      if (!wanted.size) filters.delete(key);
      update();
      $("filter-key").focus();
    });
    return element("li", {}, chip);
  }));
  $("filters").replaceChildren(...chips);
}

function startFilter() {
  fill($("filter-key"), keyOptions(RUNS), values(RUNS, "state").length > 1 ? "state" : "method");
  showValues();
  $("filter-key").addEventListener("change", showValues);
  $("filter-text").addEventListener("input", update);
  $("filter-add").addEventListener("click", () => {
    const key = $("filter-key").value;
    if (!filters.has(key)) filters.set(key, new Set());
    filters.get(key).add($("filter-value").value);
    update();
  });
}
