// The daemon killed at random points while calls become tasks and end: nothing that a client was told of
// is lost. MCPX_E2E_SEED names another order of events.
import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { Daemon, temporary } from './lib/daemon.mjs';
import { root } from './lib/paths.mjs';
import { modern } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const SEED = Number(process.env.MCPX_E2E_SEED ?? 20260728);
const ROUNDS = 5;
const CALLS = 12;  // at once, per round
const LONGEST = 250;  // ms, of a call, and until the kill

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const TAKES = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const everything = (era) => ({ command: process.execPath,
  args: [path.join(root, 'test/fixtures/everything/server.mjs'), '--era', era] });

function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test(`tasks: killed at random points, none that was handed out and none that was finished is lost (seed ${SEED})`,
  async (t) => {
    const dir = temporary(t);
    const next = random(SEED);
    const daemon = await Daemon.start(t, { servers: { new: everything('modern'), old: everything('legacy') },
      tasks: { after: '30ms' } }, { dir });
    const send = async (method, params) => (await modern(daemon.url, method, params,
      { meta: { [CAPABILITIES]: TAKES } })).message;
    const handed = new Map();  // id -> the name of its call
    const finished = new Map();  // id -> the task as it was told
    // Until the daemon goes, which is what the client sees of it.
    async function follow(name, args) {
      try {
        const created = (await send('tools/call', { name, arguments: args })).result;
        if (created?.resultType !== 'task') return;
        handed.set(created.taskId, name);
        for (;;) {
          const task = (await send('tasks/get', { taskId: created.taskId })).result;
          if (['completed', 'failed', 'cancelled'].includes(task.status)) {
            finished.set(created.taskId, task);
            return;
          }
          await pause(10);
        }
      } catch { /* it was killed */ }
    }
    for (let round = 0; round < ROUNDS; round++) {
      const calls = [];
      for (let i = 0; i < CALLS; i++) {
        const name = ['new__slow_compute', 'old__slow_compute', 'old__test_reconnection'][i % 3];
        calls.push(follow(name, { seconds: next() * LONGEST / 1000, label: `${round}.${i}` }));
      }
      await pause(next() * LONGEST);
      await daemon.crash();
      await Promise.all(calls);
      daemon.spawn();
      await daemon.waitListening();
      await daemon.waitReady();
      for (const [taskId, task] of finished) {
        assert.deepEqual((await send('tasks/get', { taskId })).result, task, handed.get(taskId));
      }
      // Nobody is left without an answer: what was still on its way has failed, and says why.
      for (const [taskId, name] of handed) {
        const task = await eventually(`the end of ${name}`, async () => {
          const { result, error } = await send('tasks/get', { taskId });
          assert.ok(result, `${name} is gone: ${JSON.stringify(error)}`);
          return result.status === 'working' ? null : result;
        });
        if (!finished.has(taskId) && task.status === 'failed') {
          assert.ok(['task.lost', 'task.interrupted'].includes(task.error.data?.code), JSON.stringify(task));
        }
        finished.set(taskId, task);
      }
    }
    t.diagnostic(`${handed.size} tasks`);
    assert.ok(handed.size > 0);
  });
