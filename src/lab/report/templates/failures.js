// What went wrong, in its own words.
const WITHOUT_WORDS = {
  stopped: "Not done, and no process is in its folder: it was stopped or killed. The same command continues.",
  failed: "It failed without a word.",
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
