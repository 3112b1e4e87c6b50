// Round numbers for the axes of a chart, and how prices and times of day (UTC) are written on them.

const MINUTE = 60000;
const STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => minutes * MINUTE);
const DAY = new Intl.DateTimeFormat("en-US", { timeZone: "UTC", month: "short", day: "numeric" });

// About so many numbers between two, each a round one.
export function roundNumbers(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((each) => each >= rough);
  const found = [];
  for (let index = Math.ceil(low / step); index * step <= high; index += 1) found.push(index * step);
  return { step, numbers: found };
}

// Round times between two, no more than fit.
export function roundTimes(from, to, most) {
  const step = STEPS_MS.find((each) => (to - from) / each <= most) ?? STEPS_MS.at(-1);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

// As many decimals as it takes to tell two apart that differ by so much.
export function decimals(step) {
  return Math.min(8, Math.max(2, Math.ceil(-Math.log10(step) - 1e-9)));
}

export function price(value, places) {
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

export function clock(ms) {
  return new Date(ms).toISOString().slice(11, 16);
}

export function clockOrDay(ms) {
  return ms % (1440 * MINUTE) === 0 ? DAY.format(ms) : clock(ms);
}
