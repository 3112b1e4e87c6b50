// How numbers are written, the same everywhere: counts with commas, sizes and rates with units.

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

const WRITERS = { number: count, bytes, rate };

export function write(value, kind) {
  return value == null ? "–" : (WRITERS[kind] ?? String)(value);
}
