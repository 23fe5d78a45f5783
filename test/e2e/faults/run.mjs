// Rounds of faults from the command line: node test/e2e/faults/run.mjs [--seed N] [--seconds S]
// [--rounds R] [--callers N]. The seed is also taken from MCPX_FAULT_SEED; without one it is random.
import { parseArgs } from 'node:util';

import { Harness } from './harness.mjs';
import { randomSeed } from './random.mjs';

const { values } = parseArgs({ options: { seed: { type: 'string' }, seconds: { type: 'string', default: '10' },
  rounds: { type: 'string', default: '1' }, callers: { type: 'string', default: '64' } } });
const seed = Number(values.seed ?? process.env.MCPX_FAULT_SEED ?? randomSeed());
console.log(`seed ${seed}`);

const after = [];
const t = { name: 'faults', after: (f) => after.push(f) };
let failed;
try {
  const harness = await Harness.start(t, { callers: Number(values.callers) });
  let first;
  for (let i = 0; i < Number(values.rounds); i++) {
    const { report, events, memory, recovery, quietAfter } = await harness.round(seed + i, Number(values.seconds));
    console.log(`seed ${seed + i}: ${report.requests} requests, ${events.length} process faults, ${memory} KiB`);
    console.log(`served again after (ms): ${JSON.stringify(recovery)}; quiet after ${quietAfter} ms`);
    console.table(report.outcomes);
    first ??= memory;
    harness.assertMemory(first, memory);
  }
  await harness.assertConnectionsClosed();
} catch (error) {
  failed = error;
}
for (const step of after.reverse()) {
  try {
    await step();
  } catch (error) {
    failed ??= error;
  }
}
if (failed) console.error(failed);
console.log(`${failed ? 'failed' : 'passed'}: seed ${seed}; again: node test/e2e/faults/run.mjs --seed ${seed} `
  + `--seconds ${values.seconds} --rounds ${values.rounds}`);
process.exit(failed ? 1 : 0);
