// The page: takes what the server sends, keeps what was, and shows the moment that the slider is at.

import { PHASE_WORDS, drawPhases } from "./charts.js";
import { compare } from "./compare.js";
import { PANELS, hasNoCurve, tiles } from "./panels.js";
import { key, make, time } from "./words.js";

const MOST_FRAMES = 300;
const at = id => document.getElementById(id);
let about = null, panels = [], columns = {}, rows = [], frames = [], isOver = false;
let waits = false;
let shown = null; // which share of the time the slider is at; null for the newest state

function begin(told) {
  about = told;
  document.title = `${about.algorithm || about.title} – sooner`;
  at("title").textContent = about.algorithm ? `${about.algorithm}: ${about.title}` : about.title;
  at("summary").textContent = about.summary ?? "";
  at("notes").textContent = about.notes ?? "";
  at("phase-key").replaceChildren(...key(PHASE_WORDS));
  at("panels").replaceChildren();
  [panels, columns, rows, frames, shown] = [PANELS.map(make => make(about)), {}, [], about.frames ?? [], null];
  at("buttons").replaceChildren(...(about.can_finish ?? []).map(name => button(`finish ${name}`, "finish", { input: name })),
    ...(about.can_stop ? [button("stop", "stop", {}, "The query ends now. Stop it?")] : []));
}

function button(label, path, body, question) {
  return make("button", { type: "button", textContent: label, onclick: async event => {
    if (question && !confirm(question)) return;
    event.target.disabled = true;
    const answer = await fetch(path, { method: "POST", body: JSON.stringify(body) }).catch(error => ({ ok: false, text: () => String(error) }));
    at("trouble").textContent = answer.ok ? "" : await answer.text();
    if (path === "stop" && !answer.ok) event.target.disabled = false;
  } });
}

function take(news) {
  rows = [...rows.slice(0, news.series.from), ...news.series.rows];
  columns = Object.fromEntries(news.series.columns.map((name, which) => [name, rows.map(row => row[which])]));
  if (!about.frames) {
    frames.push(news.state);
    if (frames.length > MOST_FRAMES) frames = frames.filter((_, which) => which % 2 || which === frames.length - 1);
  }
  if (news.over) end(news.over);
  else status("live", about.is_state ? "newest batch" : "live");
  soon();
}

// What comes faster than it can be drawn is drawn once.
function soon() {
  if (!frames.length || waits) return;
  waits = true;
  requestAnimationFrame(() => {
    waits = false;
    show();
  });
}

function show() {
  const isNewest = shown == null, moment = isNewest ? null : shown * span();
  const state = isNewest ? frames.at(-1) : frames.findLast(frame => frame.seconds <= moment) ?? frames[0];
  at("tiles").replaceChildren(...tiles(about, state));
  at("moment").textContent = time(isNewest ? state.seconds : moment);
  at("slider").setAttribute("aria-valuetext", `${time(state.seconds)}, ${state.phase}`);
  at("timeline").hidden = hasNoCurve(about, columns);
  at("newest").hidden = isNewest || isOver;
  drawPhases(at("phases"), frames.at(-1).phases, span());
  for (const panel of panels) panel({ state, columns, moment });
}

// How long it has run, in seconds.
function span() {
  return Math.max(frames.at(-1).seconds, columns.seconds.at(-1) ?? 0);
}

function status(state, text) {
  at("status").dataset.state = state;
  at("status").textContent = text;
}

function end(sentence) {
  isOver = true;
  stream.close();
  status("over", sentence);
  for (const one of at("buttons").children) one.disabled = true;
}

at("slider").addEventListener("input", event => {
  shown = event.target.value === event.target.max ? null : event.target.value / event.target.max;
  soon();
});
at("newest").addEventListener("click", () => {
  shown = null;
  at("slider").value = at("slider").max;
  soon();
});
addEventListener("resize", soon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);

const stream = new EventSource("news");
stream.addEventListener("about", event => {
  const told = JSON.parse(event.data);
  if (told.runs) {
    stream.close();
    compare(told);
    status("over", "runs that are over");
  } else begin(told);
});
stream.addEventListener("news", event => take(JSON.parse(event.data)));
stream.addEventListener("error", () => {
  if (!isOver) status("lost", "the program is gone");
});
