// SPDX-License-Identifier: Apache-2.0
import { clockTime, exactTime, none } from "./format.js";
import { useMeasure } from "./hooks.js";
import { areaPath, linear, linePath, nearest, timeTicks, valueTicks } from "./scale.js";
import { html, useRef, useState } from "./vendor/preact-htm.js";

/** The distances from the chart's borders to its plot. */
const inset = { top: 10, right: 10, bottom: 22, left: 52 };

/** The positions of a chart's points and ticks. */
function layout(points, lines, width, height) {
  const times = points.map((point) => Date.parse(point.at));
  const values = lines.flatMap(({ key }) => points.map((point) => point[key] ?? 0));
  const ticks = valueTicks(Math.max(0, ...values));
  const plot = { left: inset.left, right: width - inset.right, top: inset.top, bottom: height - inset.bottom };
  const x = linear([times[0], times.at(-1)], [plot.left, plot.right]);
  const y = linear([0, ticks.at(-1)], [plot.bottom, plot.top]);
  const paths = lines.map(({ key }) => points.map((point, index) => {
    const value = point[key] ?? null;
    return [x(times[index]), value === null ? null : y(value)];
  }));
  const marks = timeTicks(times[0], times.at(-1), Math.max(3, Math.floor(width / 90)));
  return { times, ticks, plot, x, y, paths, marks };
}

const Axes = ({ area: { ticks, plot, y, x, marks }, format }) => html`
  <g class="axes" aria-hidden="true">
    ${ticks.map((tick) => html`<g key=${tick}>
      <line x1=${plot.left} x2=${plot.right} y1=${y(tick)} y2=${y(tick)} />
      <text x=${plot.left - 8} y=${y(tick)} dy="0.32em" text-anchor="end">${format(tick)}</text></g>`)}
    ${marks.map((at) => html`<text key=${at} x=${x(at)} y=${plot.bottom + 16}
      text-anchor=${x(at) > plot.right - 14 ? "end" : "middle"}>${clockTime(new Date(at).toISOString())}</text>`)}
  </g>`;

const Lines = ({ area, lines }) => html`<g>${lines.map(({ key }, index) => html`
  <g key=${key} class=${`series-${index}`}>
    ${index === 0 && html`<path class="area" d=${areaPath(area.paths[index], area.plot.bottom)} />`}
    <path class="line" d=${linePath(area.paths[index])} />
  </g>`)}</g>`;

const Cursor = ({ area, index }) => html`<g class="cursor" aria-hidden="true">
  <line x1=${area.x(area.times[index])} x2=${area.x(area.times[index])} y1=${area.plot.top} y2=${area.plot.bottom} />
  ${area.paths.map((path, line) => path[index][1] !== null && html`
    <circle key=${line} class=${`series-${line}`} cx=${path[index][0]} cy=${path[index][1]} r="3.5" />`)}
</g>`;

const readable = (point, lines, format) =>
  lines.map(({ key, name }) => `${name} ${point[key] === null ? none : format(point[key])}`).join(", ");

/** The values at the cursor, in the corner that is farther from it. */
function Tip({ area, point, index, lines, format, width }) {
  const isRight = area.x(area.times[index]) > width / 2;
  return html`<div class=${`chart-tip ${isRight ? "left" : "right"}`}>
    <p>${exactTime(point.at)}</p>
    ${lines.map(({ key, name }, line) => html`<p key=${key} class=${`series-${line}`}>
      <i></i>${name}<b>${format(point[key])}</b></p>`)}
  </div>`;
}

/**
 * Lines over time, with a cursor that follows the pointer and the arrow keys.
 * @param {{label: string, points: {at: string}[], lines: {key: string, name: string}[],
 *   format: (value: number) => string, height?: number}} props
 *   `points`: in order of time, with a number or null for each key
 */
export function Chart({ label, points, lines, format, height = 168 }) {
  const box = useRef(null);
  const width = useMeasure(box, (element) => element.clientWidth);
  const [cursor, setCursor] = useState(null);
  const isDrawn = width > 0 && points.length > 1;
  const area = isDrawn && layout(points, lines, width, height);
  // Points move while the cursor stays at its time.
  const index = isDrawn && cursor !== null ? nearest(area.times, cursor) : null;
  const follow = (event) => {
    const at = event.clientX - box.current.getBoundingClientRect().left;
    setCursor(linear([area.plot.left, area.plot.right], [area.times[0], area.times.at(-1)])(at));
  };
  const step = (event) => {
    const last = points.length - 1;
    const targets = { ArrowLeft: (index ?? last + 1) - 1, ArrowRight: (index ?? last) + 1, Home: 0, End: last };
    const target = targets[event.key];
    if (event.key === "Escape") setCursor(null);
    if (target === undefined || !isDrawn) return;
    event.preventDefault();
    setCursor(area.times[Math.max(0, Math.min(last, target))]);
  };
  const latest = points.at(-1);
  return html`<figure class="chart">
    <figcaption><h3>${label}</h3>${lines.length > 1 && html`<ul class="legend">
      ${lines.map(({ key, name }, line) => html`<li key=${key} class=${`series-${line}`}><i></i>${name}</li>`)}
    </ul>`}</figcaption>
    <div class="chart-box" ref=${box} style=${{ height: `${height}px` }}>
      ${isDrawn ? html`<svg width=${width} height=${height} tabindex="0" role="img"
          aria-label=${`${label}. Now: ${readable(latest, lines, format)}. Arrow keys read earlier values.`}
          onPointerMove=${follow} onPointerLeave=${() => setCursor(null)} onKeyDown=${step}
          onBlur=${() => setCursor(null)}>
        <${Axes} area=${area} format=${format} /><${Lines} area=${area} lines=${lines} />
        ${index !== null && html`<${Cursor} area=${area} index=${index} />`}
      </svg>
      ${index !== null && html`<${Tip} ...${{ area, index, lines, format, width }} point=${points[index]} />`}`
      : points.length < 2 && html`<p class="chart-empty">The chart begins after a few seconds.</p>`}
      <p class="unseen" aria-live="polite">
        ${index !== null && `${exactTime(points[index].at)}: ${readable(points[index], lines, format)}`}</p>
    </div>
  </figure>`;
}
