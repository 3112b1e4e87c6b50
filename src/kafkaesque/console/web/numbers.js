// How numbers are written, the same everywhere: counts with commas, sizes, rates and times with units.

const COUNT = new Intl.NumberFormat("en-US");
const FEW = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

export function count(value) {
  return COUNT.format(value);
}

export function bytes(value) {
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export function rate(value) {
  return `${value < 100 ? FEW.format(value) : COUNT.format(Math.round(value))} /s`;
}

// Milliseconds, in the two largest units that there are, as the command line prints them.
export function duration(value) {
  if (value < 1000) return `${value}ms`;
  const parts = [];
  for (const [unit, size] of [["d", 86400000], ["h", 3600000], ["m", 60000], ["s", 1000]]) {
    const whole = Math.floor(value / size);
    value -= whole * size;
    if (whole || parts.length) parts.push(whole ? `${whole}${unit}` : "");
  }
  return parts.slice(0, 2).join("");
}

// Milliseconds again, but short ones that are estimates.
export function latency(value) {
  return value < 1000 ? `${FEW.format(value)} ms` : `${FEW.format(value / 1000)} s`;
}

const WRITERS = { number: count, bytes, rate, duration, latency };

export function write(value, kind) {
  return value == null ? "–" : (WRITERS[kind] ?? String)(value);
}
