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

// Nothing before the plotting library is there, see startPlots.
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

const seconds = () => (performance.now() / 1000).toFixed(2);

startTheme();
startTabs();
startFilter();
startTable();
startCurves();
startSweep();
startSearches();
update();
const tableAfter = seconds();

// The library takes longer to read than all the rest: until the table has been painted it lies in the page as text.
function startPlots() {
  document.body.append(element("script", {}, $("library").textContent));
  if ($("panel-runs").hidden) return;  // They are drawn when its tab is chosen.
  drawPlots();
  $("opened").textContent = `Opened: the table after ${tableAfter} s, the last plot after ${seconds()} s.`;
}

addEventListener("load", () => requestAnimationFrame(() => setTimeout(startPlots)));
