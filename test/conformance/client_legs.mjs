// The suite's client legs. The suite plays the server and runs our adapter as the client; it would start
// all scenarios at once, so each has a run of its own.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { skipped } from './client_scenarios.mjs';
import { readResults } from './results.mjs';

const adapter = path.join(import.meta.dirname, 'client_adapter.mjs');
const SCENARIO_LIMIT = 60_000;

// leg: which scenarios it has, and the revision they run at.
export const clientLegs = {
  'client-2025-11-25': { client: ['--requirements', '2025-11-25'], revision: '2025-11-25' },
  'client-2026-07-28': { client: ['--requirements', '2026-07-28'], revision: '2026-07-28' },
  'client-2025-06-18': { client: ['--spec-version', '2025-06-18'], revision: '2025-06-18' },
};

function scenariosOf(suite, leg) {
  const args = [suite, 'list', '--client', ...clientLegs[leg].client];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the suite cannot list ${leg}: ${stderr || status}`);
  const names = [];
  let section = '';
  for (const line of stdout.split('\n')) {
    if (/^\S/.test(line)) section = line;
    const [, name, of] = /^ +- (\S+)(?: \[(.*)\])?$/.exec(line) ?? [];
    if (name && (section.startsWith('Client scenarios') || of === 'client')) names.push(name);
  }
  return names;
}

// Runs the scenarios one after the other and answers {name, checks, complaint} of each, or {name, reason}
// of one that is not run. `complaint` is what the adapter had to say.
export async function* runClientLeg(leg, { suite, out, run, only }) {
  const known = scenariosOf(suite, leg);
  for (const name of only ? [only] : known) {
    const reason = known.includes(name) ? skipped[name] : `not a scenario of ${leg}`;
    if (reason) {
      yield { name, reason };
      continue;
    }
    const dir = path.join(out, leg, name);
    mkdirSync(dir, { recursive: true });
    process.env.MCPX_LOG_DIR = path.join(out, leg, 'mcpxd-logs');
    const { ended } = await run(process.execPath, [suite, 'client', '--command', `node ${adapter}`,
      '--scenario', name, '--spec-version', clientLegs[leg].revision, '-o', dir],
    path.join(out, `${leg}.log`), SCENARIO_LIMIT);
    const status = await ended;
    const [result] = readResults(dir);
    if (!result) yield { name, checks: [], complaint: `the suite ended with ${status} and no result` };
    else yield { ...result, name, complaint: readFileSync(path.join(result.dir, 'stderr.txt'), 'utf8').trim() };
  }
}

// Entries of the table of what is not run that no leg has.
export function staleSkips(suite) {
  const known = new Set(Object.keys(clientLegs).flatMap((leg) => scenariosOf(suite, leg)));
  return Object.keys(skipped).filter((name) => !known.has(name));
}
