// Numbers as people read them, each with its unit.

const SPACE = '\u00a0';

export function number(value, digits = 0) {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', fraction);
}

/** About three digits that count. */
export function short(value) {
  const size = Math.abs(value);
  return number(value, size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function scaled(value, units) {
  let unit = 0;
  let rest = value;
  // 999.6 would be shown as 1,000.
  while (Math.abs(rest) >= 999.5 && unit + 1 < units.length) {
    rest /= 1000;
    ++unit;
  }
  return (unit === 0 ? number(rest) : short(rest)) + SPACE + units[unit];
}

export const bytes = (value) => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB']);
export const byteRate = (value) => scaled(value, ['B/s', 'kB/s', 'MB/s', 'GB/s']);
export const tokenRate = (value) => short(value) + SPACE + 'tokens/s';

/** Of things that are counted, in words. */
export function large(value) {
  return scaled(value, ['', 'thousand', 'million', 'billion', 'trillion']).trim();
}

export function percent(share) {
  return number(100 * share, share > 0 && share < 0.1 ? 1 : 0) + SPACE + '%';
}

export function plural(value, one, many = `${one}s`) {
  return number(value) + SPACE + (value === 1 ? one : many);
}

export function milliseconds(value) {
  return value >= 1000 ? seconds(value / 1000) : short(value) + SPACE + 'ms';
}

export function seconds(value) {
  if (value > 0 && value < 0.1) return short(1000 * value) + SPACE + 'ms';
  const digits = value < 10 && !Number.isInteger(value) ? 1 : 0;
  if (value < 59.5) return number(value, digits) + SPACE + 's';
  const whole = Math.round(value);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  if (hours >= 48) return `${Math.floor(hours / 24)}${SPACE}d ${hours % 24}${SPACE}h`;
  if (hours > 0) return `${hours}${SPACE}h ${minutes}${SPACE}min`;
  return `${minutes}${SPACE}min ${whole % 60}${SPACE}s`;
}
