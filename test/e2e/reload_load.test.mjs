// Reloads under load, and many of them: nobody is left without an answer, nothing is left behind.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, limit, scripted, temporary, tiny } from './lib/daemon.mjs';
import { text } from './lib/pair.mjs';
import { sanitized } from './lib/paths.mjs';
import { usage } from './lib/processes.mjs';
import { reload } from './lib/reload.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

test('64 callers through reloads: every request gets its one answer, and none fails', async (t) => {
  const dir = temporary(t);
  const x = { name: 'x', inputSchema: { type: 'object' } };
  const servers = { steady: scripted(dir, 'steady', { tools: [x] }),
    turning: scripted(dir, 'turning', { tools: [x] }) };
  const daemon = await Daemon.start(t, { log: { level: 'info' }, servers }, { dir });
  let over = false;
  let answers = 0;
  const failed = [];
  const caller = async (n) => {
    const name = `${n % 2 ? 'steady' : 'turning'}__x`;
    const session = n % 4 < 2 ? await Session.open(daemon.url) : null;
    for (let i = 0; !over; i++) {
      const args = { n, i };
      const answer = session ? await session.call('tools/call', { name, arguments: args })
        : await modern(daemon.url, 'tools/call', { name, arguments: args });
      answers++;
      const messages = answer.messages().length;
      if (messages !== 1 || text(answer) !== `x:${JSON.stringify(args)}`) failed.push(answer.text);
    }
  };
  const callers = Array.from({ length: 64 }, (_, n) => caller(n));
  for (let round = 0; round < 10; round++) {
    const before = answers;
    const report = await reload(daemon, (config) => { config.servers.turning.env = { ROUND: `${round}` }; });
    assert.deepEqual([report.kept, report.changed], [['steady'], ['turning']]);
    await eventually('calls go on', () => answers > before + 64);
  }
  over = true;
  await Promise.all(callers);
  assert.deepEqual(failed.slice(0, 3), [], `${failed.length} of ${answers}`);
  assert.equal((await daemon.server('steady')).starts, 1);
  t.diagnostic(`${answers} answers`);
});

test('200 reloads leave descriptors, threads, children and memory flat', async (t) => {
  const total = Number(process.env.MCPX_RELOADS ?? 200);
  const daemon = await Daemon.start(t, { log: { level: 'info' }, servers: { a: tiny(), b: tiny() } });
  let round = 0;
  const turn = async () => {
    const n = round++;
    const report = await reload(daemon, (config) => {
      config.servers.b.call_timeout = `${10 + (n % 7)}s`;
      if (n % 2) delete config.servers.c;
      else config.servers.c = tiny();
    });
    assert.deepEqual(report.kept, ['a']);
    if (n % 20 === 0) {
      const answer = await modern(daemon.url, 'tools/call', { name: 'b__ping', arguments: {} });
      assert.equal(text(answer), 'pong', answer.text);
    }
  };
  const settled = () => eventually('what was replaced has ended', async () =>
    (await daemon.status()).retiring === 0 && daemon.children().length === 4);
  while (round < 40) await turn();
  await settled();
  const before = usage(daemon.pid);
  while (round < 40 + total) await turn();
  await settled();
  const after = usage(daemon.pid);
  assert.ok(Math.abs(after.descriptors - before.descriptors) <= 2, JSON.stringify({ before, after }));
  assert.equal(after.threads, before.threads);
  if (!sanitized()) {
    assert.ok(after.residentKb < before.residentKb * 1.25 + 4096 * limit(1), JSON.stringify({ before, after }));
  }
  t.diagnostic(`before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
});
