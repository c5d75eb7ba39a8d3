// What went wrong, in its own words.
const WITHOUT_WORDS = {
  stopped: "The run is not done and no process works in its folder, so it was stopped or killed. Run the same command again to continue.",
  failed: "It failed without a message.",
  damaged: "It cannot be read.",
};

function showFailures(runs) {
  const bad = runs.filter((run) => run.state in WITHOUT_WORDS);
  $("failures-section").hidden = !bad.length;
  $("failures").replaceChildren(...bad.map((run) => {
    const log = run.log ? [element("details", {}, element("summary", {}, "the end of its log"), element("pre", { tabindex: "0" }, run.log))] : [];
    return element("div", { class: `failure ${run.state}` },
      element("h3", {}, element("span", { class: `state ${run.state}` }, run.state), " ", run.folder),
      element("p", {}, run.message || WITHOUT_WORDS[run.state]),
      element("p", {}, ...commandOf(run)), ...log);
  }));
}
