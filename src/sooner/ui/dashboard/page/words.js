// Numbers in words, and elements whose text is only text.

export const COLOURS = ["blue", "orange", "green", "pink", "sky", "red", "grey"];

export function whole(n) {
  return n == null ? "–" : Math.round(n).toLocaleString("en");
}

// With enough digits to tell it from a neighbour that is a step away, if there is one.
export function short(n, step) {
  if (n == null || !isFinite(n)) return "–";
  const size = Math.abs(n), digits = step ? Math.min(Math.max(Math.floor(Math.log10(size / step)) + 2, 3), 15) : 3;
  for (const [unit, sign] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (size >= unit) return Number((n / unit).toPrecision(digits)) + sign;
  if (step < 1) return String(Number(n.toPrecision(digits)));
  return size >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toPrecision(3);
}

export function bytes(n) {
  if (n == null) return "–";
  for (const [unit, sign] of [[2 ** 30, "GB"], [2 ** 20, "MB"], [2 ** 10, "kB"]])
    if (n >= unit) return `${(n / unit).toFixed(n >= 100 * unit ? 0 : 1)} ${sign}`;
  return `${n} B`;
}

export function time(s) {
  if (s == null) return "–";
  if (s < 0.1) return `${Number((1000 * s).toPrecision(2))} ms`;
  if (s < 100) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  return s < 6000 ? `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")} min` : `${(s / 3600).toFixed(1)} h`;
}

// A time on an axis.
export function clock(s) {
  return s < 100 ? `${Number(s.toFixed(3))} s` : time(s);
}

export function percent(share) {
  if (share == null) return "–";
  const digits = share > 0 && share < 0.1 ? 1 : 0;
  return `${(100 * (share < 1 ? Math.min(share, 0.999) : 1)).toFixed(share < 1 && share > 0.99 ? 1 : digits)}%`;
}

// An element: a name with classes ("p.note"), properties, and children, which are elements or text.
export function make(what, properties = {}, ...children) {
  const [name, ...classes] = what.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  Object.assign(made, properties);
  made.append(...children.filter(child => child != null));
  return made;
}

export function table(head, rows, numbers = []) {
  const cell = (kind, text, at) => make(numbers.includes(at) ? `${kind}.number` : kind, { textContent: text });
  return make("div.scroll", {},
    make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((text, at) => cell("th", text, at)))),
      make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((text, at) => cell("td", text, at)))))));
}

// The same without the columns that say nothing in any row.
export function tableOfWhatIsThere(head, rows, numbers = []) {
  const said = head.map((_, at) => at).filter(at => rows.some(row => row[at] !== "–"));
  const only = row => said.map(at => row[at]);
  return table(only(head), rows.map(only), numbers.map(at => said.indexOf(at)));
}

export function key(entries) {
  return entries.map(([colour, text]) => make("li", {}, make(`i.c-${colour}`), make("span", { textContent: text })));
}

// A bar of parts: shares of the whole with their colours.
export function bar(parts) {
  const made = make("div.bar");
  for (const [share, colour] of parts) {
    const part = make(`i.c-${colour}`);
    part.style.width = `${100 * Math.max(0, Math.min(share, 1))}%`;
    made.append(part);
  }
  return made;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
