// SPDX-License-Identifier: Apache-2.0

/**
 * Returns ticks from 0 to at least a maximum, at steps of 1, 2 or 5 times a power of ten.
 * @param {number} maximum
 * @param {number} [count] the most steps
 */
export function valueTicks(maximum, count = 4) {
  if (!(maximum > 0)) return [0, 1];
  const rough = maximum / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * (1 - 1e-9));
  const steps = Math.ceil(maximum / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** Steps of time axes, in seconds. */
const timeSteps = [5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400];

/**
 * Returns the round times between two times, in milliseconds.
 * @param {number} from
 * @param {number} to
 * @param {number} [count] the most ticks
 */
export function timeTicks(from, to, count = 5) {
  const step = 1000 * (timeSteps.find((one) => (to - from) / 1000 / one <= count) ?? timeSteps.at(-1));
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

/**
 * Returns the function that maps a range linearly to another one. An empty range maps to the start.
 * @param {[number, number]} domain
 * @param {[number, number]} range
 */
export const linear = ([low, high], [start, end]) => (value) =>
  high === low ? start : start + ((value - low) / (high - low)) * (end - start);

/**
 * Returns the path through points. A missing value makes a gap, and a point between two gaps a dot.
 * @param {[number, number | null][]} points
 */
export function linePath(points) {
  let path = "";
  points.forEach(([x, y], index) => {
    if (y === null) return;
    const begins = index === 0 || points[index - 1][1] === null;
    const isAlone = begins && (points[index + 1]?.[1] ?? null) === null;
    path += `${begins ? "M" : "L"}${round(x)} ${round(y)}${isAlone ? "h0" : ""}`;
  });
  return path;
}

/** Returns the area between a line and a base. */
export function areaPath(points, base) {
  const runs = [[]];
  for (const point of points) {
    if (point[1] === null) runs.push([]);
    else runs.at(-1).push(point);
  }
  return runs.filter((run) => run.length > 1)
    .map((run) => `${linePath(run)}L${round(run.at(-1)[0])} ${base}L${round(run[0][0])} ${base}Z`).join("");
}

const round = (value) => Math.round(value * 10) / 10;

/**
 * Returns the index of the number nearest to a value in a sorted list.
 * @param {number[]} sorted
 * @param {number} value
 */
export function nearest(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle;
  }
  return Math.abs(sorted[low] - value) <= Math.abs(sorted[high] - value) ? low : Math.max(high, 0);
}
