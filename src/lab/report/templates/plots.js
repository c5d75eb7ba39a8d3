// What all plots share: one look in either theme, and words that stay words.
function plain(text) {
  // The plotting library reads a little HTML in labels.
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(title, options = {}) {
  return { title: { text: plain(title), standoff: 8 }, gridcolor: css("--line"), linecolor: css("--soft"), zeroline: false, automargin: true, ...options };
}

// Ticks at the values themselves where they are few.
function ticks(where) {
  if (!where.isNumeric) return { type: "category", categoryorder: "array", categoryarray: where.found.map((value) => plain(shown(value))) };
  const few = where.found.length <= 8 ? { tickvals: where.found, ticktext: where.found.map(shown) } : {};
  return { type: where.type, exponentformat: "power", ...few };
}

function draw(place, traces, layout, description) {
  place.setAttribute("aria-label", description);
  const nothing = { annotations: [{ text: plain(description), showarrow: false }], xaxis: { visible: false }, yaxis: { visible: false } };
  // Where nothing can hover over a plot its buttons are always there: above it, not on it.
  const isTouched = matchMedia("(pointer: coarse)").matches;
  const shared = {
    margin: { l: 55, r: 12, t: isTouched ? 44 : 12, b: 48 }, showlegend: false, hovermode: "closest", autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: isTouched ? false : "zoom",
    font: { color: css("--text"), family: "system-ui, 'DejaVu Sans', sans-serif", size: 12 },
    hoverlabel: { bgcolor: css("--panel"), bordercolor: css("--line"), font: { color: css("--text") }, align: "left" },
  };
  // One of the library's buttons, "Share chart", hands the plot to its makers' server.
  const settings = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"] };
  Plotly.react(place, traces, { ...shared, ...(traces.length ? layout : nothing) }, settings);
}

// A table of words and numbers, the header first.
function tabulate(table, head, rows) {
  table.replaceChildren();
  if (!rows.length) return;
  const isNumber = head.map((_, at) => rows.some((row) => typeof row[at] === "number"));
  const kind = (at) => (isNumber[at] ? { class: "number" } : {});
  table.append(
    element("thead", {}, element("tr", {}, ...head.map((name, at) => element("th", { scope: "col", ...kind(at) }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((value, at) =>
      element("td", kind(at), ...(value instanceof Node || Array.isArray(value) ? [value].flat() : [shown(value)])))))),
  );
}
