// Cases C01-C08 and C23: child processes, seen from outside.
import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';

import { Daemon, limit, received, scripted, startsOf, temporary, tiny }
  from './lib/daemon.mjs';
import { libDir } from './lib/paths.mjs';
import { alive, usage } from './lib/processes.mjs';
import { modern, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const text = (answer) => answer.message?.result?.content?.[0]?.text;

test('C01: 100 abandoned sessions share one child, which stops when idle', async (t) => {
  const daemon = await Daemon.start(t, { servers: { small: tiny({ idle_stop: '1s' }) } });
  for (let i = 0; i < 100; i++) {
    const session = await Session.open(daemon.url);
    if (i % 20 === 0) {
      assert.equal((await session.tools()).length, 1);
      assert.equal(text(await session.call('tools/call', { name: 'small__ping' })), 'pong');
    }
  }
  assert.ok((await daemon.server('small')).children <= 1);
  assert.equal(daemon.children().filter((p) => p.command.includes('tiny_server')).length <= 2, true);
  await daemon.waitServer('small', (s) => s.children === 0);
  await eventually('no child left', () => daemon.children().length === 0);
  assert.equal(text(await modern(daemon.url, 'tools/call', { name: 'small__ping', arguments: {} })),
    'pong', 'a call wakes it');
});

test('C02: whatever a server leaves behind ends with it', async (t) => {
  const dir = temporary(t);
  const inner = (name) => {
    const { command, args } = scripted(dir, name, { tools: [{ name: 'x', inputSchema: { type: 'object' } }] });
    return [command, ...args].map((a) => `'${a}'`).join(' ');
  };
  const shell = (line) => ({ command: '/bin/sh', args: ['-c', line] });
  const daemon = await Daemon.start(t, { servers: {
    background: shell(`sleep 1000 & exec ${inner('background')}`),
    session: shell(`setsid sleep 1001 & exec ${inner('session')}`),
    wrapper: shell(`exec 3<&0; ${inner('wrapper')} <&3 & exit 0`),
    deaf: { ...scripted(dir, 'deaf', { tools: [{ name: 'x', inputSchema: { type: 'object' } }],
      ignoreEnd: true, ignoreTerm: true }), stop_grace: '200ms' },
  } }, { dir });
  for (const name of ['background', 'session', 'wrapper', 'deaf']) {
    const answer = await modern(daemon.url, 'tools/call', { name: `${name}__x`, arguments: {} });
    assert.equal(text(answer), 'x:{}', `${name}: ${answer.text}`);
  }
  const sleepers = daemon.children().filter((p) => /^sleep 100[01]$/.test(p.command));
  assert.equal(sleepers.length, 2, 'both background processes run below the daemon');
  await daemon.stop();  // asserts that nothing survives
  assert.deepEqual(sleepers.filter(alive), []);
});

test('C03: two first calls at once start one child and are both answered', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: {
    slow: scripted(dir, 'slow', { tools: [{ name: 'x', inputSchema: { type: 'object' } }],
      delay: { initialize: 2000 } }) } }, { dir, waitReady: false });
  const answers = await Promise.all([1, 2].map((n) => modern(daemon.url, 'tools/call',
    { name: 'x', arguments: { n } }, { endpoint: '/mcp/slow' })));
  assert.deepEqual(answers.map(text), ['x:{"n":1}', 'x:{"n":2}']);
  assert.equal(startsOf(dir, 'slow').length, 1);
});

test('C04: a server that exits before initialize says so to everyone who waits', async (t) => {
  const dir = temporary(t);
  const stderr = [1, 2, 3, 4, 5].map((n) => `trouble number ${n}`);
  const daemon = await Daemon.start(t, { servers: {
    dying: scripted(dir, 'dying', { startup: { stderr }, delay: { initialize: 400 },
      exitOn: { initialize: 3 } }) } }, { dir, waitReady: false });
  const asked = Date.now();
  const answers = await Promise.all([
    modern(daemon.url, 'tools/call', { name: 'x', arguments: {} }, { endpoint: '/mcp/dying' }),
    modern(daemon.url, 'tools/list', {}, { endpoint: '/mcp/dying' })]);
  assert.ok(Date.now() - asked < limit(5_000), 'answered at once');
  for (const answer of answers) {
    assert.ok(answer.message?.error, answer.text);
    for (const part of ['dying', 'exit code 3', ...stderr]) {
      assert.ok(answer.text.includes(part), `${part} in ${answer.text}`);
    }
  }
  const shown = await daemon.waitServer('dying', 'failed');
  assert.equal(shown.error.code, 'upstream.exited');
  assert.match(shown.error.message, /exit code 3/);
  for (const line of stderr) assert.ok(JSON.stringify(shown.stderr).includes(line), line);
});

test('C05: a server that never answers is killed at the deadline, and retries back off', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: {
    mute: scripted(dir, 'mute', { silent: ['initialize', 'server/discover'] },
      { start_timeout: '400ms', probe_timeout: '100ms' }) } }, { dir, waitReady: false });
  // How long it rests is backoff_test's; its own record says nothing of a process killed before it ran.
  let most = 0;
  const rests = new Set();
  await eventually('a third start, with rests before it', async () => {
    most = Math.max(most, daemon.children().filter((p) => p.command.includes('mute.script')
      && !p.command.includes('mcpx-supervise')).length);
    const { state, starts, retry_in_ms } = await daemon.server('mute');
    if (state === 'failed' && retry_in_ms > 0) rests.add(starts);
    return starts >= 3 && rests.size >= 2;
  }, 20_000);
  assert.ok(most <= 1, `${most} children at once`);
  const shown = await daemon.server('mute');
  assert.equal(shown.error.code, 'upstream.start_timeout');
});

test('C06: no child survives kill -9 of the daemon, and the next start works', async (t) => {
  const dir = temporary(t);
  const servers = { one: scripted(dir, 'one', { tools: [{ name: 'x', inputSchema: { type: 'object' } }] }),
    two: { command: '/bin/sh', args: ['-c',
      `sleep 1002 & setsid sleep 1003 & exec sh ${path.join(libDir, 'tiny_server.sh')}`] } };
  const first = await Daemon.start(t, { servers }, { dir });
  const family = await first.crash();
  assert.ok(family.length >= 4, family.map((p) => p.command).join('; '));
  await first.assertGone(family);
  const second = await Daemon.start(t, { servers }, { dir });
  assert.equal(text(await modern(second.url, 'tools/call', { name: 'one__x', arguments: {} })), 'x:{}');
});

test('C07: a client that vanishes ends only its own exchange', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: {
    busy: scripted(dir, 'busy', { tools: ['big', 'x'].map((name) => ({ name, inputSchema: { type: 'object' } })),
      big: { big: 8 << 20 }, delay: { 'tools/call': 300 } }) } }, { dir });
  const other = modern(daemon.url, 'tools/call', { name: 'busy__x', arguments: { other: 1 } });
  const vanish = (name, when) => new Promise((resolve, reject) => {
    const params = { name, arguments: {}, _meta: modernMeta() };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const headers = { host: `127.0.0.1:${daemon.port}`, 'content-length': Buffer.byteLength(body),
      ...modernHeaders('tools/call', params) };
    const socket = net.connect(daemon.port, '127.0.0.1', () => {
      socket.write(`POST /mcp HTTP/1.1\r\n${Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`)
        .join('')}\r\n${body}`);
      if (when === 'waiting') setTimeout(() => socket.resetAndDestroy(), 100);
    });
    socket.on('data', () => socket.resetAndDestroy());
    socket.on('close', resolve);
    socket.on('error', reject);
  });
  for (let i = 0; i < 5; i++) {
    await Promise.all([vanish('busy__x', 'waiting'), vanish('busy__big', 'reading')]);
  }
  assert.equal(text(await other), 'x:{"other":1}');
  assert.equal(text(await modern(daemon.url, 'tools/call', { name: 'busy__x', arguments: {} })), 'x:{}');
  assert.equal(startsOf(dir, 'busy').length, 1, 'the server was not harmed');
  assert.ok(received(dir, 'busy', 'tools/call').length >= 12);
});

test('C08: restarts leave descriptors, threads and memory flat', async (t) => {
  const total = Number(process.env.MCPX_RESTARTS ?? 200);
  const count = Math.min(40, total);
  const servers = {};
  for (let i = 0; i < count; i++) servers[`s${i}`] = tiny({ idle_stop: '1s' });
  const daemon = await Daemon.start(t, { log: { level: 'info' }, servers });
  const names = Object.keys(servers);
  const round = async () => {
    const answers = await Promise.all(names.map((name) => modern(
      daemon.url, 'tools/call', { name: `${name}__ping`, arguments: {} })));
    for (const answer of answers) assert.equal(text(answer), 'pong', answer.text);
    await eventually('all stopped', async () => (await daemon.servers()).every((s) => s.children === 0));
  };
  await round();
  await round();
  const before = usage(daemon.pid);
  for (let done = 2 * count; done < total; done += count) await round();
  const after = usage(daemon.pid);
  const starts = (await daemon.servers()).reduce((sum, s) => sum + (s.starts ?? 0), 0);
  assert.ok(starts >= total, `${starts} starts`);
  assert.ok(after.descriptors <= before.descriptors + 2, JSON.stringify({ before, after }));
  assert.equal(after.threads, before.threads);
  assert.ok(after.residentKb < before.residentKb * 1.25 + 4096 * limit(1), JSON.stringify({ before, after }));
  assert.deepEqual(daemon.children(), []);
  t.diagnostic(`${starts} starts; before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
});

for (const era of ['legacy', 'modern']) {
  test(`C23: a call that is cancelled or timed out harms nothing (${era} server over stdio)`, async (t) => {
    const dir = temporary(t);
    const script = { era, tools: [{ name: 'x', inputSchema: { type: 'object' } }], silentFor: { 'tools/call': 2 } };
    const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', script, { call_timeout: '500ms' }) } },
      { dir });
    const session = await Session.open(daemon.url, { endpoint: '/mcp/s' });
    const late = await session.call('tools/call', { name: 'x', arguments: {} });
    assert.equal(late.message.error.data.code, 'upstream.timeout', late.text);
    const cancelled = session.call('tools/call', { name: 'x', arguments: {} }, { id: 'c' });
    cancelled.catch(() => {});
    await eventually('the second call arrived', () => received(dir, 's', 'tools/call').length === 2);
    await session.notify('notifications/cancelled', { requestId: 'c', reason: 'enough' });
    await eventually('both were cancelled', () => received(dir, 's', 'notifications/cancelled').length === 2);
    assert.deepEqual(received(dir, 's', 'notifications/cancelled').map((m) => m.params.requestId),
      received(dir, 's', 'tools/call').map((m) => m.id));
    assert.equal(text(await session.call('tools/call', { name: 'x', arguments: {} })), 'x:{}');
    assert.equal(startsOf(dir, 's').length, 1, 'one process all along');
  });
}
