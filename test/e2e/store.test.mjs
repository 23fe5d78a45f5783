// The state directory: nothing about it stops a start, and what it holds outlives a crash.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { Daemon, temporary, tiny } from './lib/daemon.mjs';
import { alive } from './lib/processes.mjs';
import { modern } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const state = (dir) => path.join(dir, 'state/mcpx');
const config = () => ({ servers: { tiny: tiny() } });
const mode = (file) => (statSync(file).mode & 0o7777).toString(8);

async function serves(daemon) {
  const answer = await modern(daemon.url, 'tools/call', { name: 'tiny__ping', arguments: {} });
  assert.equal(answer.message.result.content[0].text, 'pong');
}

test('the state directory is made for its owner alone, and found again', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, config(), { dir });
  const { store } = await daemon.status();
  assert.equal(store.state, 'disk');
  assert.equal(store.message, '');
  assert.equal(store.path, path.join(state(dir), 'mcpx.db'));
  assert.equal(mode(state(dir)), '700');
  for (const name of readdirSync(state(dir))) assert.equal(mode(path.join(state(dir), name)), '600', name);
  await daemon.stop();
  assert.deepEqual(readdirSync(state(dir)).sort(), ['mcpx.db', 'mcpx.lock'], 'closed in order');
  const again = await Daemon.start(t, config(), { dir });
  assert.equal((await again.status()).store.message, '');
});

test('a damaged store is set aside and does not stop the start', async (t) => {
  const dir = temporary(t);
  mkdirSync(state(dir), { recursive: true });
  writeFileSync(path.join(state(dir), 'mcpx.db'), 'SQLite format 3\0'.padEnd(20_000, 'rubbish'));
  const daemon = await Daemon.start(t, config(), { dir });
  await serves(daemon);
  const { store } = await daemon.status();
  assert.equal(store.state, 'disk');
  const [aside] = readdirSync(state(dir)).filter((name) => name.startsWith('mcpx.db.corrupt-'));
  assert.ok(aside);
  assert.ok(store.message.includes(aside), store.message);
  assert.ok(daemon.log().includes(aside), 'the log says so');
  assert.ok(readFileSync(path.join(state(dir), aside), 'utf8').includes('rubbish'));
});

test('where the state directory cannot be, mcpxd works without', async (t) => {
  const dir = temporary(t);
  writeFileSync(path.join(dir, 'state'), 'a file in the way');
  const daemon = await Daemon.start(t, config(), { dir });
  await serves(daemon);
  const { store } = await daemon.status();
  assert.equal(store.state, 'memory');
  assert.match(store.message, /state_dir/);
});

test('a second daemon on a state directory works in memory and names the first', async (t) => {
  const dir = temporary(t);
  const first = await Daemon.start(t, config(), { dir });
  const second = await Daemon.start(t, { ...config(), state_dir: state(dir) });
  await serves(first);
  await serves(second);
  assert.equal((await first.status()).store.state, 'disk');
  const { store } = await second.status();
  assert.equal(store.state, 'memory');
  assert.ok(store.message.includes(`process ${first.pid}`), store.message);
});

test('what a killed daemon and a hanging supervisor left is ended by the next start', async (t) => {
  const daemon = await Daemon.start(t, config());
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  await eventually('the children are recorded', async () =>
    readFileSync(path.join(state(daemon.dir), 'mcpx.db-wal')).includes(boot));
  const supervisors = daemon.children().filter((p) => p.command.startsWith('mcpx-supervise'));
  assert.equal(supervisors.length, 1);
  for (const supervisor of supervisors) process.kill(supervisor.pid, 'SIGSTOP');
  const family = await daemon.crash();
  assert.ok(supervisors.every(alive), 'stopped, so they could not end their trees');
  const next = await Daemon.start(t, config(), { dir: daemon.dir });
  await eventually('nothing of it is left', async () => !family.some(alive));
  await serves(next);
  assert.match(next.log(), /an earlier mcpxd had left/);
});
