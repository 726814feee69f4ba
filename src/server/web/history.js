// What was measured over the last minutes, as rates for the charts.

export const SPAN_SECONDS = 300;
// Over which a rate is averaged, so that single tokens of a slow model do not look like peaks.
const WINDOW_SECONDS = 10;
const GAP_SECONDS = 15;

export class History {
  constructor() {
    this.samples = [];  // {time, value}: sums that only grow
  }

  add(time, value) {
    const last = this.samples.at(-1);
    const broken = last && (value < last.value || time - last.time > GAP_SECONDS);
    if (broken) this.samples = [];  // The server began anew, or nobody was looking.
    this.samples.push({ time, value });
    while (this.samples[0].time < time - SPAN_SECONDS - WINDOW_SECONDS) this.samples.shift();
  }

  /** Points {age, rate}: seconds ago, and units a second averaged up to then. */
  rates() {
    const now = this.samples.at(-1)?.time;
    const points = [];
    let from = 0;
    for (let at = 1; at < this.samples.length; ++at) {
      const { time, value } = this.samples[at];
      while (from + 1 < at && this.samples[from].time < time - WINDOW_SECONDS) ++from;
      const span = time - this.samples[from].time;
      if (span > 0 && now - time <= SPAN_SECONDS) {
        points.push({ age: now - time, rate: (value - this.samples[from].value) / span });
      }
    }
    return points;
  }

  /** The rate now; nothing when too little is known. */
  rate() {
    return this.rates().at(-1)?.rate;
  }
}
