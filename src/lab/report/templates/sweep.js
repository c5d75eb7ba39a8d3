// A sweep: a metric against the value that was swept.
function places(runs, key) {
  const found = values(runs, key).filter((value) => value !== null);
  const isNumeric = found.every((value) => typeof value === "number");
  const isWide = isNumeric && found.length > 2 && found[0] > 0 && found.at(-1) / found[0] >= 50;
  return { found, isNumeric, type: isNumeric ? (isWide ? "log" : "linear") : "category" };
}

function sweepTraces(group, key, metric, where) {
  const runs = group.runs.filter((run) => run.metrics[metric] !== undefined && valueOf(run, key) !== null);
  const at = (value) => (where.isNumeric ? value : plain(shown(value)));
  const color = colorOn(group.base);
  const marks = {
    type: "scatter", mode: "markers", x: runs.map((run) => at(valueOf(run, key))), y: runs.map((run) => run.metrics[metric]),
    marker: { color, symbol: group.mark, size: 9, opacity: 0.75, line: { color: css("--back"), width: 1 } }, hoverinfo: "text",
    text: runs.map((run) => `${plain(nameOf(run))}<br>${plain(key)}=${plain(shown(valueOf(run, key)))}: ${shown(run.metrics[metric])}`),
  };
  const middles = where.found.map((value) => [value, runs.filter((run) => valueOf(run, key) === value).map((run) => run.metrics[metric])]).filter(([, some]) => some.length);
  const line = {
    type: "scatter", mode: "lines", x: middles.map(([value]) => at(value)), y: middles.map(([, some]) => median(some)),
    line: { color, width: 2.5, dash: group.dash }, hoverinfo: "skip",
  };
  return [line, marks];
}

function showSweep(passing) {
  const runs = ofOneExperiment(passing, "sweep-experiment");
  const [metric, key, by] = ["sweep-metric", "sweep-key", "sweep-group"].map((id) => $(id).value);
  const where = places(runs, key);
  const groups = grouped(runs, by);
  const has = runs.some((run) => run.metrics[metric] !== undefined && valueOf(run, key) !== null);
  const traces = has ? groups.flatMap((group) => sweepTraces(group, key, metric, where)) : [];
  draw($("sweep"), traces, { xaxis: axis(key, ticks(where)), yaxis: axis(metric) },
    has ? `${metric} against ${key}, in ${groups.length} groups. The table below has the numbers.` : "No run of this experiment that passes the filter has both.");
  const rows = groups.flatMap((group) => where.found.map((value) => rowOfSweep(group, key, value, metric))).filter((row) => row !== null);
  tabulate($("sweep-table"), [by, key, "runs", `${metric}: median`, "lowest", "highest", "failed"], has ? rows : []);
}

function rowOfSweep(group, key, value, metric) {
  const runs = group.runs.filter((run) => valueOf(run, key) === value);
  if (!runs.length) return null;
  const reached = runs.map((run) => run.metrics[metric]).filter((number) => number !== undefined);
  const failed = runs.filter((run) => run.state === "failed").length;
  const numbers = reached.length ? [median(reached), Math.min(...reached), Math.max(...reached)] : [null, null, null];
  return [[swatch(group), group.label], value, reached.length, ...numbers, failed];
}

function startSweep() {
  const metrics = metricNames(RUNS).filter((name) => RUNS.some((run) => name in run.metrics));
  fill($("sweep-metric"), { metrics }, usualMetric(metrics));
  const swept = differing(RUNS).filter((name) => !["seed", "method"].includes(name));
  const numeric = swept.find((name) => places(RUNS, name).isNumeric && places(RUNS, name).found.length > 1);
  fill($("sweep-key"), keyOptions(RUNS), numeric ?? swept[0] ?? "method");
  fill($("sweep-group"), { usual: [EVERYTHING], ...keyOptions(RUNS) }, "method");
  for (const id of ["sweep-experiment", "sweep-metric", "sweep-key", "sweep-group"]) $(id).addEventListener("change", () => showSweep(kept()));
}
