// Curves over time, drawn by uPlot, and canvases that are drawn here.

import { bytes, clock, colour } from "./words.js";

const HEIGHT = 230;
const POWERS_OF_TWO = [...Array(50).keys()].map(power => 2 ** power);

// A chart of curves: [{ label, colour, dash, fill, band: [at, at] }]. `show` gives it its columns.
export class Chart {
  constructor(parent, curves, words, height = HEIGHT) {
    this.curves = curves;
    this.words = words;
    this.height = height;
    this.moment = null;
    this.isAround = false; // the curves and no more of the axis, wherever zero is
    this.box = document.createElement("div");
    this.box.className = "chart";
    this.box.style.flexBasis = `${height}px`;
    this.box.style.minHeight = `${height}px`;
    this.box.setAttribute("role", "img");
    parent.append(this.box);
    this.data = [[], ...curves.map(() => [])];
    this.draw();
    new ResizeObserver(() => this.plot.setSize({ width: this.width, height: this.tall })).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  get width() {
    return Math.max(this.box.clientWidth, 100);
  }

  get tall() {
    return Math.max(this.box.clientHeight, this.height);
  }

  show(data, said, moment = null) {
    this.moment = moment;
    this.data = data;
    if (said) this.box.setAttribute("aria-label", said);
    this.plot.setData(data);
  }

  draw() {
    this.plot?.destroy();
    const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, DejaVu Sans, sans-serif" };
    this.plot = new uPlot({
      width: this.width,
      height: this.tall,
      padding: [10, 16, 0, 0],
      legend: { show: false },
      cursor: { points: { size: 6 }, y: false, drag: { x: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => this.isAround ? around(low, high) : [Math.min(low ?? 0, 0), (high > 0 ? high : 1) * 1.05] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(clock), space: 70, size: 30 },
        { ...axis, values: (_, ticks, axis, room, step) => ticks.map(n => this.words(n, step)), size: 62, space: this.height < 120 ? 22 : 36, incrs: this.words === bytes ? POWERS_OF_TWO : undefined },
      ],
      series: [{}, ...this.curves.map(curve => ({
        label: curve.label,
        stroke: colour(curve.colour),
        width: curve.width ?? 2,
        dash: curve.dash,
        fill: curve.fill ? colour(curve.colour) + "26" : undefined,
        points: { show: (_, which) => this.data[which].filter(value => value != null).length === 1, size: 7 },
        spanGaps: true,
        paths: curve.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
      bands: this.curves.filter(curve => curve.band).map(curve => ({ series: curve.band, fill: colour(curve.colour) + "33" })),
      hooks: { draw: [plot => this.mark(plot)] },
    }, this.data, this.box);
  }

  // Where the slider is.
  mark(plot) {
    if (this.moment == null) return;
    const x = Math.round(plot.valToPos(this.moment, "x", true));
    plot.ctx.save();
    plot.ctx.strokeStyle = colour("ink");
    plot.ctx.setLineDash([3, 3]);
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, plot.bbox.top);
    plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
    plot.ctx.stroke();
    plot.ctx.restore();
  }
}

function around(low, high) {
  if (low == null) return [0, 1];
  const room = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
  return [low - room, high + room];
}

export const HOW = [["arrival", "sky"], ["memory-disk", "orange"], ["disk-disk", "green"], ["clean-up", "pink"]];

// The rectangle of two inputs: a pixel for each place, coloured by how its pairs met; the frame is all rows there are.
export function drawRectangle(canvas, rectangle, expected) {
  const { places, width, rows } = rectangle;
  const met = Uint8Array.from(atob(rectangle.met), letter => letter.charCodeAt(0));
  const span = [0, 1].map(side => Math.max(expected?.[side] ?? 0, rows[side], 1) / width[side]);
  const size = 4 * 96, context = canvas.getContext("2d");
  canvas.width = canvas.height = size;
  const inks = [...HOW.map(([, name]) => ink(colour(name))), ink(colour("track")), ink(colour("ground"))];
  const image = context.createImageData(size, size), dots = new Uint32Array(image.data.buffer), area = places * places;
  const come = [rows[0] / width[0], rows[1] / width[1]];
  for (let j = 0, dot = 0; j < size; j++) {
    const y = (size - 1 - j) / size * span[1], dither = DITHER[(j >> 1) & 3];
    for (let i = 0; i < size; i++, dot++) {
      const x = i / size * span[0];
      let how = x < come[0] && y < come[1] ? 4 : 5;
      if (how === 4) {
        const at = (x | 0) * places + (y | 0), threshold = dither[(i >> 1) & 3];
        for (let sum = 0, one = 0; one < 4; one++) if ((sum += met[one * area + at]) > threshold) { how = one; break; }
      }
      dots[dot] = inks[how];
    }
  }
  context.putImageData(image, 0, 0);
}

// Of a place with several colours each gets its share of the dots.
const DITHER = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]].map(row => row.map(n => 255 * (n + 0.5) / 16));

// A colour as the four bytes of a dot.
function ink(hex) {
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

const PHASES = { arriving: "sky", reactive: "orange", "clean-up": "pink", done: "grey" };
export const PHASE_WORDS = [["sky", "arriving: new rows meet memory"], ["orange", "reactive: sources are silent, disk work"], ["pink", "clean-up: all rows have come"]];

export function drawPhases(canvas, phases, end) {
  const width = canvas.width = Math.max(canvas.clientWidth, 1) * devicePixelRatio, context = canvas.getContext("2d");
  const all = [[0, "arriving"], ...phases];
  context.clearRect(0, 0, width, canvas.height);
  all.forEach(([begin, phase], at) => {
    const until = all[at + 1]?.[0] ?? end;
    context.fillStyle = colour(PHASES[phase] ?? "grey");
    if (phase !== "done" && end > 0) context.fillRect(begin / end * width, 0, (until - begin) / end * width, canvas.height);
  });
}
