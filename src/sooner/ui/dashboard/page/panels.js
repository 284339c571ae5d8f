// The panels: each shows one thing of a state, and is there when a query has it.

import { Chart, HOW, drawRectangle } from "./charts.js";
import { COLOURS, bar, bytes, key, make, percent, short, table, tableOfWhatIsThere, time, whole } from "./words.js";

const DISK = { "written by flushes": "sky", "memory-disk": "orange", "disk-disk": "green", "clean-up": "pink", tidied: "grey" };

function panel(title, size = "") {
  const said = make("p"), made = make(`section.panel${size && "." + size}`, {}, make("h2", { textContent: title }), said);
  document.getElementById("panels").append(made);
  return { made, said };
}

// Results as they came, and the step of a join that waits for all rows before it joins any.
function results(about) {
  const { made, said } = panel("Results over time", "wide");
  const chart = new Chart(made, [
    { label: "results", colour: "blue", fill: true, width: 2.5 },
    { label: "a join that waits for all rows", colour: "grey", dash: [6, 4], steps: true },
  ], short, 260);
  made.append(make("ul.key", {}, ...key([["blue", "results"], ["grey", "a join that waits for all rows: nothing before, and at best everything from then on"]])));
  return ({ state, columns, moment }) => {
    if ((made.hidden = hasNoCurve(about, columns))) return;
    const all = columns.results.at(-1) ?? 0, due = state.phases.findLast(([, phase]) => phase === "clean-up")?.[0];
    const waiting = columns.seconds.map(second => due == null || second < due ? 0 : all);
    const first = columns.seconds[columns.results.findIndex(n => n > 0)];
    const began = columns.seconds[columns.seconds.findIndex((_, at) => state.inputs.some(name => columns[`rows of ${name}`]?.[at]))] ?? 0;
    said.textContent = first == null ? "no result yet" : `the first came ${time(first - began)} after the first rows`;
    chart.show([columns.seconds, columns.results, waiting], `${whole(state.results)} results`, moment);
  };
}

// Of a state there is a moment, and no curve before its query goes on.
export function hasNoCurve(about, columns) {
  return about.is_state && columns.seconds.length < 2;
}

function rectangle(about) {
  const { made, said } = panel("Left × right");
  const legend = make("ul.key"), place = make("div");
  made.append(place, legend);
  let canvases = [];
  return ({ state }) => {
    made.hidden = !state.rectangles.length;
    if (canvases.length !== state.rectangles.length) {
      const one = state.rectangles.length === 1;
      canvases = state.rectangles.map(() => make("canvas.square", { role: "img" }));
      place.className = one ? "" : "rects";
      place.replaceChildren(...canvases.map((canvas, at) => {
        const [x, y] = state.rectangles[at].of.map(which => state.inputs[which]);
        return make("div", {}, canvas, make("div.axes", {}, make("span", { textContent: `→ ${x}` }), make("span", { textContent: `↑ ${y}` })));
      }));
      made.querySelector("h2").textContent = one ? "The rectangle of all pairs" : "Pairs of inputs";
    }
    state.rectangles.forEach((one, at) => {
      drawRectangle(canvases[at], one, one.of.map(which => about.expected?.[which]));
      canvases[at].setAttribute("aria-label", HOW.map(([name], how) => `${name} ${percent(one.shares[how])}`).join(", "));
    });
    const shares = HOW.map((_, how) => state.rectangles.reduce((sum, one) => sum + one.shares[how], 0) / (state.rectangles.length || 1));
    legend.replaceChildren(...key([...HOW.map(([name, ink], how) => [ink, `${name} ${percent(shares[how])}`])]));
    said.textContent = "a colour where rows have met, in the order in which they came";
  };
}

function rates(about) {
  const { made, said } = panel("Rows a second");
  let chart = null, names = "";
  const legend = make("ul.key");
  return ({ state, columns, moment }) => {
    if ((made.hidden = hasNoCurve(about, columns))) return;
    if (!chart || names !== String(state.inputs)) {
      chart?.box.remove();
      names = String(state.inputs);
      chart = new Chart(made, state.inputs.map((label, at) => ({ label, colour: COLOURS[at % 7] })), short);
      made.append(legend);
      legend.replaceChildren(...key(state.inputs.map((label, at) => [COLOURS[at % 7], label])));
    }
    const curves = state.inputs.map(name => rate(columns.seconds, columns[`rows of ${name}`] ?? []));
    chart.show([columns.seconds, ...curves], `rows: ${state.rows.map(whole).join(", ")}`, moment);
    const now = state.told ?? state.seconds;
    const silent = state.inputs.map((name, at) => [name, now - state.last_arrival[at]]).filter(([, s]) => s > 0.5);
    const held = state.held?.some(n => n) ? `, waiting to be joined: ${state.held.map(whole).join(", ")}` : "";
    const open = ["arriving", "reactive"].includes(state.phase);
    said.textContent = open ? (silent.length ? `silent: ${silent.map(([name, s]) => `${name} for ${time(s)}`).join(", ")}` : "all inputs are giving rows") + held : "all rows have come";
  };
}

function rate(seconds, rows) {
  const span = Math.max((seconds.at(-1) ?? 0) / 25, 0.05);
  let from = 0;
  return seconds.map((now, at) => {
    while (from < at && seconds[from] < now - span) from++;
    const before = Math.max(0, from - 1);
    return at && now > seconds[before] ? ((rows[at] ?? 0) - (rows[before] ?? 0)) / Math.max(now - seconds[before], span) : 0;
  });
}

function memory(about) {
  const { made, said } = panel("Memory");
  const limit = about.memory_bytes;
  const chart = new Chart(made, [{ label: "in memory", colour: "blue", fill: true }, { label: "budget", colour: "red", dash: [6, 4] }], bytes, 130);
  const cells = make("div.cells"), legend = make("ul.key");
  made.append(cells, legend);
  return ({ state, columns, moment }) => {
    legend.replaceChildren(...key(state.inputs.map((label, at) => [COLOURS[at % 7], label])));
    chart.box.hidden = hasNoCurve(about, columns);
    if ((made.hidden = chart.box.hidden && !state.resident_bytes)) return;
    const most = columns.memory.reduce((a, b) => Math.max(a, b), 0), isNear = limit && most > limit / 20; // else the curve would be flat
    chart.show([columns.seconds, columns.memory, columns.seconds.map(() => isNear ? limit : null)], `${bytes(state.resident_bytes)} in memory`, moment);
    said.textContent = `${bytes(state.resident_bytes)}${limit ? ` of ${bytes(limit)}` : ""}${state.resident_bytes ? ", by input and partition:" : ""}`;
    cells.hidden = legend.hidden = !state.resident_bytes;
    const groups = state.memory.some(one => one.length > 1) ? state.memory[0]?.map((_, p) => p) ?? [] : [0];
    const shown = groups.slice(0, 16), all = Math.max(...shown.map(p => state.memory.reduce((sum, one) => sum + (one[p] ?? 0), 0)), 1);
    cells.replaceChildren(...shown.flatMap(p => {
      const parts = state.memory.map((one, at) => [(one[p] ?? 0) / all, COLOURS[at % 7]]);
      return [make("span", { textContent: groups.length > 1 ? String(p) : "all" }), bar(parts), make("span", { textContent: bytes(parts.reduce((sum, [share]) => sum + share * all, 0) | 0) })];
    }));
  };
}

function disk() {
  const { made, said } = panel("Disk work");
  const names = Object.keys(DISK);
  const chart = new Chart(made, names.map(label => ({ label, colour: DISK[label] })), bytes);
  const legend = make("ul.key");
  made.append(legend);
  return ({ state, columns, moment }) => {
    made.hidden = !names.some(name => state.disk[name]);
    chart.show([columns.seconds, ...names.map(name => columns[name])], "bytes by kind of work", moment);
    legend.replaceChildren(...key(names.map(name => [DISK[name], `${name} ${bytes(state.disk[name])}`])));
    said.textContent = state.spilled_rows == null ? "bytes read and written, by kind" : `${whole(state.spilled_rows)} rows are on disk, ${bytes(state.spilled_bytes)}`;
  };
}

function flushes(about) {
  const { made, said } = panel("What left memory last", "half");
  const place = make("div");
  made.append(place);
  return ({ state }) => {
    made.hidden = !state.flushes.length;
    said.textContent = about.summary ? `memory was full; ${about.algorithm}: ${about.summary}` : "memory was full";
    place.replaceChildren(tableOfWhatIsThere(["at", "input", "partition", "rows", "size", "was the", "because"],
      state.flushes.slice(-7).toReversed().map(one => [time(one.seconds), one.input, one.partitions > 1 ? String(one.partition) : "–", whole(one.rows), bytes(one.bytes),
        one.partitions > 1 ? `${ordinal(one.rank)} of ${one.partitions}` : "–", one.why || "–"]), [3, 4]));
  };
}

function ordinal(rank) {
  return rank === 1 ? "largest" : rank === 2 ? "2nd largest" : rank === 3 ? "3rd largest" : `${rank}th largest`;
}

function lanes() {
  const { made, said } = panel("Joins of the plan", "full");
  const place = make("div");
  made.append(place);
  return ({ state }) => {
    made.hidden = !state.lanes.length;
    said.textContent = "one line for each join, in the order in which rows pass them";
    const read = one => Object.values(one.disk).reduce((a, b) => a + b, 0);
    const met = one => one.shares[0]?.reduce((a, b) => a + b, 0);
    place.replaceChildren(table(["joins with", "phase", "rows in", "pairs met", "results", "memory", "disk work"],
      state.lanes.map(one => [one.name, one.phase, one.rows.map(whole).join(" and "), percent(met(one)), whole(one.results), bytes(one.resident_bytes), bytes(read(one))]), [2, 3, 4, 5, 6]));
  };
}

function lookups() {
  const { made, said } = panel("Look-ups");
  const place = make("div"), waits = make("div.cells");
  made.append(place, waits);
  return ({ state }) => {
    const found = state.lookups;
    made.hidden = !found;
    if (!found) return;
    const all = Math.max(found.hits + found.misses + found.waiting, 1);
    said.textContent = `${found.manner}; ${bytes(found.read_bytes)} of the master were read`;
    place.replaceChildren(bar([[found.hits / all, "blue"], [found.misses / all, "orange"], [found.waiting / all, "grey"]]), make("ul.key", {}, ...key([
      ["blue", `answered by memory ${whole(found.hits)} (${percent(found.hits / all)})`], ["orange", `from disk ${whole(found.misses)}`], ["grey", `waiting ${whole(found.waiting)}`]])),
    make("p", { textContent: (found.waited_median == null ? "" : `waited ${time(found.waited_median)} (median), ${time(found.waited_99)} (99th)`) + (found.newest_version == null ? "" : `; as new as version ${found.newest_version}`) }));
    const steps = found.waited, most = Math.max(...steps, 1), used = steps.map((n, at) => [at, n]).filter(([, n]) => n);
    waits.replaceChildren(...used.slice(0, 14).flatMap(([at, n]) => [make("span", { textContent: `≤ ${time(0.001 * 2 ** (at / 2))}` }), bar([[n / most, "blue"]]), make("span", { textContent: whole(n) })]));
  };
}

function estimate() {
  const { made, said } = panel("Estimates", "half");
  const place = make("div"), figures = make("div");
  made.append(place, figures);
  let charts = [];
  return ({ state }) => {
    const found = state.estimate;
    made.hidden = !found;
    if (!found) return;
    said.textContent = found.exact ? "exact" : `within ${found.error == null ? "unknown" : "± " + percent(found.error)}, ${found.share_read == null ? "" : percent(found.share_read) + " read"}`;
    found.curves.forEach((curve, at) => {
      charts[at] ??= new Chart(place, [{ label: "low", colour: COLOURS[at % 7], width: 1 }, { label: curve.name, colour: COLOURS[at % 7] }, { label: "high", colour: COLOURS[at % 7], width: 1, band: [3, 1] }], short, found.curves.length > 2 ? 110 : 200);
      charts[at].isAround = true;
      const column = which => curve.rows.map(row => row[which]);
      charts[at].show([column(0), column(2), column(1), column(3)], curve.name);
    });
    figures.replaceChildren(make("ul.key", {}, ...key(found.curves.map((curve, at) => [COLOURS[at % 7], curve.name]))), table(["figure", found.exact ? "value" : "value so far"], found.figures.map(one => [one.slice(0, -1).join(", "), one.at(-1)]), [1]));
  };
}

function places() {
  const { made, said } = panel("Partitions on Spark");
  const cells = make("div.cells");
  made.append(cells);
  return ({ state }) => {
    made.hidden = !state.partitions;
    if (!state.partitions) return;
    said.textContent = `after batch ${state.batch}: the share of its pairs that have met`;
    cells.replaceChildren(...state.partitions.flatMap((one, at) => [make("span", { textContent: String(at) }), bar([[one.covered, "blue"]]), make("span", { textContent: `${percent(one.covered)}, ${whole(one.results)} results` })]));
  };
}

function hotKeys() {
  const { made, said } = panel("Hot keys");
  const place = make("div");
  made.append(place);
  return ({ state }) => {
    made.hidden = !state.hot_keys?.length;
    said.textContent = "spread over all partitions";
    if (state.hot_keys?.length) place.replaceChildren(table(["key", "since batch"], state.hot_keys.map(one => [one.name, whole(one.since)]), [1]));
  };
}

export const PANELS = [results, rectangle, rates, memory, disk, flushes, estimate, lookups, places, hotKeys, lanes];

export function tiles(about, state) {
  const expected = about.expected ?? [], known = state.inputs.length && state.inputs.every((_, at) => expected[at] != null);
  const rows = state.rows.reduce((a, b) => a + b, 0), all = known ? expected.reduce((a, b) => a + b, 0) : null;
  const tile = (name, value, note, share) => make("div.tile", {}, make("h2", { textContent: name }), make("p", { textContent: value }), make("small", { textContent: note ?? "" }), share == null ? null : bar([[share, "blue"]]));
  const shares = state.rectangles?.[0]?.shares, covered = state.covered ?? (shares ? shares.reduce((a, b) => a + b, 0) : null);
  const limit = about.memory_bytes;
  const lost = (state.late ?? []).reduce((a, b) => a + b, 0), gone = (state.forgotten ?? []).reduce((a, b) => a + b, 0);
  return [
    tile("results", whole(state.results), about.is_state ? `after batch ${state.batch ?? "–"}` : state.seconds ? `${short(state.results / state.seconds)} a second` : ""),
    tile("rows", short(rows), all ? `of ${short(all)}: ${percent(Math.min(rows / all, 1))}` : state.rows.map(n => short(n)).join(" and "), all ? rows / all : null),
    covered == null ? null : tile(state.inputs.length > 2 ? "combinations that have met" : "pairs that have met", percent(covered), "of the rows that came", covered),
    tile("memory", bytes(state.resident_bytes), limit ? `of ${bytes(limit)}` : limit === null ? "no limit" : "", limit ? state.resident_bytes / limit : null),
    state.spilled_rows == null ? null : tile("on disk", short(state.spilled_rows), `rows, ${bytes(state.spilled_bytes)}`),
    lost || (gone && state.phase !== "done") ? tile("late, forgotten", `${short(lost)}, ${short(gone)}`, "rows left out, no longer needed") : null,
    about.is_state ? tile("phase", state.phase) : tile("time", time(state.seconds), state.phase),
    state.left && state.phase !== "done" ? tile("time left", time(state.left.seconds), state.left.error == null ? "" : `± ${time(state.left.error)}`) : null,
  ].filter(Boolean);
}
