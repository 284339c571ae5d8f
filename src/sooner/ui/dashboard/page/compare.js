// Several runs on one workload, beside each other.

import { Chart, HOW, drawRectangle } from "./charts.js";
import { COLOURS, bytes, key, make, percent, short, tableOfWhatIsThere, time, whole } from "./words.js";

export function compare(about) {
  document.title = `${about.title} – sooner`;
  document.getElementById("title").textContent = about.title;
  document.getElementById("summary").textContent = about.summary ?? "";
  document.getElementById("timeline").hidden = document.getElementById("tiles").hidden = true;
  const panels = document.getElementById("panels"), runs = about.runs;
  const ink = at => COLOURS[at % COLOURS.length];
  const seconds = [...new Set(runs.flatMap(run => run.series.rows.map(row => row[0])))].sort((a, b) => a - b);
  for (const [column, title, words] of [["results", "Results over time", short], ["memory", "Memory", bytes]]) {
    const made = make("section.panel.half", {}, make("h2", { textContent: title }), make("p", { textContent: "of each run, by its own clock" }));
    panels.append(made);
    const chart = new Chart(made, runs.map((run, at) => ({ label: run.name, colour: ink(at), dash: at >= COLOURS.length ? [6, 4] : undefined })), words, 300);
    chart.show([seconds, ...runs.map(run => along(seconds, run.series, column))], title);
    made.append(make("ul.key", {}, ...key(runs.map((run, at) => [ink(at), run.name]))));
  }
  const rows = runs.map(run => [run.name, ...[0, 0.1, 0.5, 1].map(share => time(reached(run, share))), whole(run.state.results), run.state.disk ? bytes(Object.values(run.state.disk).reduce((a, b) => a + b, 0)) : "–",
    percent(run.early), run.of_bound > 1 ? `${(100 * run.of_bound).toFixed(1)}%` : percent(run.of_bound)]);
  const bound = runs.some(run => run.of_bound != null) ? "; of the bound: as a share of those that a flush policy has which knows what will come" : "";
  panels.append(make("section.panel.full", {}, make("h2", { textContent: "When" }), make("p", { textContent: `early: the share of the results that were out when the last row came${bound}` }),
    tableOfWhatIsThere(["run", "first result", "a tenth", "half", "all results", "results", "disk work", "early", "of the bound"], rows, [1, 2, 3, 4, 5, 6, 7, 8])));
  const rects = make("div.rects");
  for (const run of runs.filter(run => run.state.rectangles.length === 1)) {
    const canvas = make("canvas.square", { role: "img", ariaLabel: run.name });
    rects.append(make("div", {}, canvas, make("div.axes", {}, make("span", { textContent: run.name }))));
    drawRectangle(canvas, run.state.rectangles[0], null);
  }
  if (rects.children.length) panels.append(make("section.panel.full", {}, make("h2", { textContent: "How pairs met" }), make("p", { textContent: "a colour where rows have met, in the order in which they came" }), rects, make("ul.key", {}, ...key(HOW.map(([name, colour]) => [colour, name])))));
}

function along(seconds, series, column) {
  const which = series.columns.indexOf(column), found = [];
  let at = 0;
  for (const second of seconds) {
    while (at + 1 < series.rows.length && series.rows[at + 1][0] <= second) at++;
    found.push(second > series.rows.at(-1)?.[0] ? null : series.rows[at]?.[0] <= second ? series.rows[at][which] : 0);
  }
  return found;
}

function reached(run, share) {
  const which = run.series.columns.indexOf("results"), wanted = Math.max(1, share * run.state.results);
  return run.series.rows.find(row => row[which] >= wanted)?.[0];
}
