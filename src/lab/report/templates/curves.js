// Curves of any metric: a thin line per run, a thick one for the median of each group.

// A run's points, both coordinates known.
function points(run, metric, along) {
  const x = run.curves[along] ?? [];
  const y = run.curves[metric] ?? [];
  return x.map((value, at) => [value, y[at]]).filter(([a, b]) => a !== null && b !== null && b !== undefined);
}

// A run's value between its first and its last point, on the straight line; null outside.
function valueAt(line, x) {
  if (!line.length || x < line[0][0] || x > line.at(-1)[0]) return null;
  let low = 0;
  let high = line.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (line[middle][0] <= x) low = middle;
    else high = middle;
  }
  const [[x0, y0], [x1, y1]] = [line[low], line[high]];
  if (x >= x1) return y1;
  return x1 === x0 ? y0 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

// The median where at least half of the lines have a value.
function medianLine(lines) {
  const places = unique(lines.flatMap((line) => line.map(([x]) => x)));
  const found = places.map((x) => [x, lines.map((line) => valueAt(line, x)).filter((value) => value !== null)]);
  return found.filter(([, some]) => 2 * some.length >= lines.length).map(([x, some]) => [x, median(some), some.length]);
}

function curveTraces(group, metric, along) {
  const lines = group.runs.map((run) => [run, points(run, metric, along)]).filter(([, line]) => line.length);
  const color = colorOn(group.base);
  // One trace for all runs of the group, with gaps between them, is drawn many times faster than one each.
  const gaps = (of) => lines.flatMap(([run, line]) => [...line.map((point) => of(run, point)), null]);
  const isPoint = lines.every(([, line]) => line.length === 1);
  const thin = {
    type: "scatter", mode: isPoint ? "markers" : "lines", x: gaps((run, [x]) => x), y: gaps((run, [, y]) => y),
    line: { color, width: 1, dash: group.dash }, marker: { color, symbol: group.mark }, opacity: 0.4, hoverinfo: "text",
    text: gaps((run, [x, y]) => `${plain(nameOf(run))}<br>${plain(along)} ${x}: ${shown(y)}`),
  };
  const middle = medianLine(lines.map(([, line]) => line));
  const thick = {
    type: "scatter", mode: middle.length > 1 ? "lines" : "markers", x: middle.map(([x]) => x), y: middle.map(([, y]) => y),
    line: { color, width: 3.5, dash: group.dash }, marker: { color, symbol: group.mark, size: 10 }, hoverinfo: "text",
    text: middle.map(([x, y, n]) => `<b>${plain(group.label)}</b>, median of ${n}<br>${plain(along)} ${x}: ${shown(y)}`),
  };
  return { thin, thick, lines };
}

function summaryOfGroup(group, lines) {
  const ends = lines.map(([, line]) => line.at(-1)[1]);
  const also = group.also.length ? group.also.join(", ") : "the seed alone";
  return [[swatch(group), group.label], lines.length, median(ends), Math.min(...ends), Math.max(...ends), group.runs.length > 1 ? also : NONE];
}

// Runs of different experiments have different data, so only those of one experiment are drawn together.
function ofOneExperiment(runs, select) {
  const name = fill($(select), { experiments: values(runs, "experiment").map(shown) });
  return runs.filter((run) => shown(valueOf(run, "experiment")) === name);
}

function showCurves(passing) {
  const runs = ofOneExperiment(passing, "curves-experiment");
  const metric = $("curves-metric").value;
  const along = $("curves-along").value;
  const groups = grouped(runs, $("curves-group").value).map((group) => ({ group, ...curveTraces(group, metric, along) })).filter(({ lines }) => lines.length);
  const traces = [...groups.map(({ thin }) => thin), ...groups.map(({ thick }) => thick)];
  const n = groups.reduce((sum, { lines }) => sum + lines.length, 0);
  const layout = { xaxis: axis(along), yaxis: axis(metric, { type: $("curves-scale").value }) };
  draw($("curves"), traces, layout, traces.length ? `Curves of ${metric} along ${along}: ${n} runs in ${groups.length} groups. The table below has their ends.` : "No run of this experiment that passes the filter has evaluated this metric.");
  tabulate($("curves-table"), [$("curves-group").value, "runs", `last ${metric}: median`, "lowest", "highest", "runs of the group differ in"],
    groups.map(({ group, lines }) => summaryOfGroup(group, lines)));
}

function startCurves() {
  const metrics = metricNames(RUNS).filter((name) => RUNS.some((run) => name in run.curves) && !["step", "epoch"].includes(name));
  fill($("curves-metric"), { metrics }, usualMetric(metrics));
  fill($("curves-along"), { along: ["epoch", "step"] }, "epoch");
  const few = values(RUNS, "experiment").every((experiment) =>
    grouped(RUNS.filter((run) => valueOf(run, "experiment") === experiment), EVERYTHING).length <= PALETTE.length);
  fill($("curves-group"), { usual: [EVERYTHING], ...keyOptions(RUNS) }, few ? EVERYTHING : "method");
  for (const id of ["curves-experiment", "curves-metric", "curves-along", "curves-group", "curves-scale"]) $(id).addEventListener("change", () => showCurves(kept()));
  $("thinned").textContent = DATA.n_thinned ? ` Of ${DATA.n_thinned} runs only some evaluations are in this page, evenly spaced; all are in their metrics.jsonl.` : "";
}
