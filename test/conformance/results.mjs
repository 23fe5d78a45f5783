// What a run of the suite says, counted from its checks.json files: the runner itself prints a tick
// even where nothing was checked. A scenario passes when no check failed and at least one succeeded, not
// counting that what was seen of the wire fits the schema: that holds where everything was skipped too.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

// {name, dir, checks} of every scenario in a directory of results, in the order they ran.
export function readResults(dir) {
  const found = [];
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (entry.name !== 'checks.json') continue;
    const dir = entry.parentPath;
    const [, name, time] = /^(?:server-)?(.*)-(\d{4}-\d\d-\d\dT[\d-]+Z)$/.exec(path.basename(dir));
    found.push({ name, time, dir, checks: JSON.parse(readFileSync(path.join(dir, entry.name), 'utf8')) });
  }
  return found.sort((a, b) => (a.time < b.time ? -1 : 1));
}

export function verdict({ checks }) {
  const count = (status, of = checks) => of.filter((check) => check.status === status).length;
  const own = checks.filter((check) => check.id !== 'wire-schema-valid');
  const counts = { succeeded: count('SUCCESS', own), failed: count('FAILURE'), warned: count('WARNING') };
  return { ...counts, passed: counts.failed === 0 && counts.succeeded > 0 };
}

// What cannot pass yet: lines "LEG SCENARIO reason", where a * in the first two stands for anything.
export class Expected {
  constructor(file) {
    this.rules = [];
    for (const [number, line] of readFileSync(file, 'utf8').split('\n').entries()) {
      if (line.trim() === '' || line.startsWith('#')) continue;
      const parts = /^(\S+)\s+(\S+)\s+(\S.*)$/.exec(line);
      if (!parts) throw new Error(`${file}:${number + 1}: not "LEG SCENARIO reason"`);
      const [, leg, scenario, reason] = parts;
      this.rules.push({ leg: pattern(leg), scenario: pattern(scenario), reason, line, used: false });
    }
  }
  // Why that scenario cannot pass, or undefined: the first line that fits.
  reason(leg, scenario) {
    const rule = this.rules.find((r) => r.leg.test(leg) && r.scenario.test(scenario));
    if (rule) rule.used = true;
    return rule?.reason;
  }
  unused() {
    return this.rules.filter((rule) => !rule.used).map((rule) => rule.line);
  }
}
const pattern = (glob) =>
  new RegExp(`^${glob.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);
