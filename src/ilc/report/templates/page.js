// Tabs, colours, and the first drawing of everything.
function update() {
  passing = RUNS.filter(passes);
  const runs = passing;
  const states = ["done", "running", "stopped", "failed", "damaged"];
  const counted = states.map((state) => [state, runs.filter((run) => run.state === state).length]).filter(([, n]) => n);
  const some = runs.length === RUNS.length ? `${RUNS.length} runs` : `${runs.length} of ${RUNS.length} runs`;
  $("counts").textContent = `${some}: ${counted.map(([state, n]) => `${n} ${state}`).join(", ") || "none passes the filter"}`;
  showFilters();
  showTable(runs);
  showFailures(runs);
  drawPlots();
}

// The plotting library comes last in the page, so that the table need not wait for it.
function drawPlots() {
  if (!window.Plotly || $("panel-runs").hidden) return;
  showCurves(kept());
  showSweep(kept());
  showSearch();
}

const TABS = ["runs", "claims"];

function choose(tab) {
  for (const name of TABS) {
    $(`tab-${name}`).setAttribute("aria-selected", name === tab);
    $(`tab-${name}`).tabIndex = name === tab ? 0 : -1;
    $(`panel-${name}`).hidden = name !== tab;
  }
  if (tab === "runs") drawPlots();
}

function startTabs() {
  for (const [at, name] of TABS.entries()) {
    const button = $(`tab-${name}`);
    button.addEventListener("click", () => choose(name));
    button.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = TABS[(at + 1) % TABS.length];
      choose(other);
      $(`tab-${other}`).focus();
    });
  }
}

const SYSTEM = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
  const wanted = $("theme").value;
  const dark = wanted === "dark" || (wanted === "system" && SYSTEM.matches);
  document.documentElement.classList.toggle("dark", dark);
  document.documentElement.classList.toggle("light", !dark);
}

function startTheme() {
  applyTheme();
  const change = () => {
    applyTheme();
    drawPlots();
  };
  $("theme").addEventListener("change", change);
  SYSTEM.addEventListener("change", change);
}

startTheme();
startTabs();
startFilter();
startTable();
startCurves();
startSweep();
startSearches();
update();
addEventListener("load", drawPlots);
