// Cases C10-C16: start-up, and keeping one server's trouble to itself.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, limit, received, scripted, startsOf, temporary, tiny } from './lib/daemon.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const TOOL = { name: 'x', inputSchema: { type: 'object' } };
const text = (answer) => answer.message?.result?.content?.[0]?.text;

test('C10: one command that does not exist fails alone, and says where it was looked for', async (t) => {
  const servers = { missing: { command: 'no-such-program-anywhere' } };
  for (let i = 0; i < 7; i++) servers[`s${i}`] = tiny();
  const daemon = await Daemon.start(t, { servers });
  const shown = await daemon.server('missing');
  assert.equal(shown.state, 'failed');
  assert.equal(shown.error.code, 'upstream.spawn_failed');
  assert.ok(shown.error.message.includes(process.env.PATH), shown.error.message);
  const tools = (await modern(daemon.url, 'tools/list')).message.result.tools.map((x) => x.name);
  assert.deepEqual(tools, [0, 1, 2, 3, 4, 5, 6].map((n) => `s${n}__ping`));
  for (const name of tools) {
    assert.equal(text(await modern(daemon.url, 'tools/call', { name, arguments: {} })), 'pong');
  }
});

test('C11: a slow server keeps nobody waiting', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { quick: tiny(),
    slow: scripted(dir, 'slow', { tools: [TOOL], delay: { initialize: 20_000 } }) } },
  { dir, waitReady: false });
  await daemon.waitServer('quick', 'ready');
  const asked = Date.now();
  const session = await Session.open(daemon.url);
  const tools = await session.tools();
  assert.deepEqual(tools.map((x) => x.name), ['quick__ping']);
  assert.ok(Date.now() - asked < limit(1_000), `${Date.now() - asked} ms`);
  assert.equal((await daemon.server('slow')).state, 'starting');
});

test('C12: a server whose first list times out is not ready; one list_changed when it is', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { ready_wait: '100ms', servers: { quick: tiny(),
    late: scripted(dir, 'late', { tools: [TOOL], silentOnce: ['tools/list'] },
      { list_timeout: '700ms' }) } }, { dir, waitReady: false });
  await daemon.waitServer('quick', 'ready');
  const session = await Session.open(daemon.url);
  await eventually('the quick server is listed', async () => (await session.tools()).length === 1);
  const stream = await session.stream();
  await eventually('the first list was asked for', () => received(dir, 'late', 'tools/list').length === 1);
  assert.notEqual((await daemon.server('late')).state, 'ready');
  await daemon.waitServer('late', 'ready', 20_000);
  await eventually('tools of both', async () => (await session.tools()).length === 2);
  await eventually('a list_changed', () =>
    stream.methods().includes('notifications/tools/list_changed'));
  await session.call('ping');
  assert.equal(stream.methods().filter((m) => m === 'notifications/tools/list_changed').length, 1,
    JSON.stringify(stream.messages));
  stream.close();
});

test('C13: a list asked for during warm-up waits for the first server instead of being empty', async (t) => {
  for (let round = 0; round < 5; round++) {
    const daemon = await Daemon.start(t, { servers: { s: tiny() } }, { waitReady: false });
    const listed = await modern(daemon.url, 'tools/list');
    assert.deepEqual(listed.message.result?.tools.map((x) => x.name), ['s__ping'], listed.text);
    await daemon.stop();
  }
});

test('C14: large lines pass, and one over the cap fails only its own request', async (t) => {
  const dir = temporary(t);
  const fat = (n) => ({ name: `fat${n}`, description: 'd'.repeat(100_000), inputSchema: { type: 'object' } });
  const tools = [...Array(30).keys()].map(fat);
  const daemon = await Daemon.start(t, { limits: { message: '4MiB' }, servers: {
    big: scripted(dir, 'big', { tools, big: { fat1: 1 << 20, fat2: 6 << 20 } }) } }, { dir });
  const listed = await modern(daemon.url, 'tools/list', {}, { endpoint: '/mcp/big' });
  assert.equal(listed.message.result.tools.length, 30);
  assert.ok(listed.text.length > 3_000_000);
  const call = (name) => modern(daemon.url, 'tools/call', { name, arguments: {} }, { endpoint: '/mcp/big' });
  const [large, over, small] = await Promise.all([call('fat1'), call('fat2'), call('fat3')]);
  assert.equal(text(large).length, 1 << 20);
  assert.ok(over.message.error, over.text.slice(0, 300));
  assert.match(over.message.error.message, /big/);
  assert.equal(text(small), 'fat3:{}');
  assert.equal(text(await call('fat4')), 'fat4:{}', 'the session goes on');
  assert.equal(startsOf(dir, 'big').length, 1);
});

test('C15: 256 KB on stderr before the first reply block nobody', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: {
    loud: scripted(dir, 'loud', { tools: [TOOL], startup: { stderrBytes: 256 << 10,
      stderr: ['first words'] } }) } }, { dir });
  assert.equal(text(await modern(daemon.url, 'tools/call', { name: 'loud__x', arguments: {} })), 'x:{}');
  const shown = await daemon.rest('/v1/servers/loud');
  assert.ok(shown.text.length < 100_000, `${shown.text.length} bytes shown`);
});

test('C16: lines that are no JSON are skipped with one warning', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { noisy: scripted(dir, 'noisy', { tools: [TOOL],
    startup: { stdout: ['Welcome to the server!', '', '   ', '{"half":'] },
    noise: { 'tools/call': ['debug: called', '', '[1,2', '42'] } }) } }, { dir });
  for (let i = 0; i < 5; i++) {
    assert.equal(text(await modern(daemon.url, 'tools/call', { name: 'noisy__x', arguments: {} })), 'x:{}');
  }
  assert.equal(startsOf(dir, 'noisy').length, 1);
  const warnings = daemon.log().split('\n').filter((l) => /warn/i.test(l) && l.includes('noisy'));
  assert.equal(warnings.length, 1, warnings.join('\n'));
});
