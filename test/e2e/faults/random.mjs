// Random numbers that repeat: everything the harness decides comes from one seed, and each part of it
// draws from a stream of its own, so that one caller more does not change what the others do.
export class Random {
  constructor(seed, ...path) {
    this.state = hash([seed, ...path].join('/'));
  }

  // mulberry32: in [0, 1).
  next() {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  chance(probability) { return this.next() < probability; }
  between(low, high) { return low + Math.floor(this.next() * (high - low + 1)); }
  pick(items) { return items[this.between(0, items.length - 1)]; }
  // Small mostly, large sometimes: every order of magnitude up to `high` is equally likely.
  size(high) { return Math.floor(Math.exp(this.next() * Math.log(high + 1))) - 1; }
}

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h | 0;
}

export const randomSeed = () => Math.floor(Math.random() * 2 ** 31);
