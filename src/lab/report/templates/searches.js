// Searches: every trial with the parameters in which the trials differ.
const MOST_PLOTS = 12;

function trialsOf(name) {
  return RUNS.filter((run) => run.keys.search === name);
}

function showSearch() {
  if ($("searches-section").hidden) return;
  const trials = trialsOf($("search-name").value);
  const metric = $("search-metric").value;
  const parameters = differing(trials);
  const descending = $("search-order").value === "down";
  const order = [...trials].sort((a, b) => {
    const [x, y] = [a, b].map((run) => (run.state === "done" ? run.metrics[metric] ?? null : null));
    return x === null || y === null ? compare(x, y) : compare(x, y) * (descending ? -1 : 1);
  });
  tabulate($("trials"), ["trial", "state", metric, ...parameters], order.map((run) => [
    run.keys.trial, element("span", { class: `state ${run.state}` }, run.state), run.metrics[metric] ?? null, ...parameters.map((name) => valueOf(run, name))]));
  showParameterPlots(trials.filter((run) => run.metrics[metric] !== undefined && run.state === "done"), parameters.slice(0, MOST_PLOTS), metric);
}

function showParameterPlots(trials, parameters, metric) {
  const box = $("search-plots");
  box.setAttribute("aria-label", `${metric} of ${trials.length} trials against each of ${parameters.length} parameters. The table below has the numbers.`);
  // A plot is kept for the next search: the library may still be at work on it.
  while (box.children.length < parameters.length) box.append(element("div"));
  for (const [at, place] of [...box.children].entries()) {
    place.hidden = at >= parameters.length;
    if (!place.hidden) drawParameter(place, trials, parameters[at], metric);
  }
}

function drawParameter(place, trials, name, metric) {
  const known = trials.filter((run) => valueOf(run, name) !== null);
  const where = places(known, name);
  const trace = {
    type: "scatter", mode: "markers", x: known.map((run) => (where.isNumeric ? valueOf(run, name) : plain(shown(valueOf(run, name))))),
    y: known.map((run) => run.metrics[metric]), marker: { color: colorOn(PALETTE[1]), size: 7, opacity: 0.7 }, hoverinfo: "text",
    text: known.map((run) => `trial ${plain(run.keys.trial)}<br>${plain(name)}=${plain(shown(valueOf(run, name)))}: ${shown(run.metrics[metric])}`),
  };
  const margin = { l: 50, r: 8, t: 8, b: 44 };
  draw(place, known.length ? [trace] : [], { xaxis: axis(name, ticks(where)), yaxis: axis(metric), margin }, `${metric} against ${name}`);
}

function startSearches() {
  const names = values(RUNS, "search").filter((name) => name !== null);
  $("searches-section").hidden = !names.length;
  if (!names.length) return;
  fill($("search-name"), { searches: names }, names[0]);
  const choose = () => {
    const metrics = metricNames(trialsOf($("search-name").value)).filter((name) => trialsOf($("search-name").value).some((run) => name in run.metrics));
    fill($("search-metric"), { metrics }, usualMetric(metrics));
    $("search-order").value = /loss|kl|seconds|memory/.test($("search-metric").value) ? "up" : "down";
  };
  $("search-name").addEventListener("change", () => {
    choose();
    showSearch();
  });
  for (const id of ["search-metric", "search-order"]) $(id).addEventListener("change", showSearch);
  choose();
}
