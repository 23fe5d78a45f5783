// Instances of one server, and the breaker in front of it: C01, C05 and C22 for stdio servers.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, received, scripted, startsOf, temporary, tiny } from './lib/daemon.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const text = (answer) => answer.message?.result?.content?.[0]?.text;
const programs = (daemon, mark) => daemon.children()
  .filter((p) => p.command.includes(mark) && !p.command.includes('mcpx-supervise'));

test('C01: 100 abandoned sessions with an instance each never have more than instances.max', async (t) => {
  const daemon = await Daemon.start(t, { servers: {
    small: tiny({ scope: 'session', instances: { max: 4 }, idle_stop: '1s' }) } });
  let most = 0;
  for (let i = 0; i < 100; i++) {
    const session = await Session.open(daemon.url);
    const answer = await session.call('tools/call', { name: 'small__ping', arguments: {} });
    assert.equal(text(answer), 'pong', answer.text);
    most = Math.max(most, programs(daemon, 'tiny_server').length);
  }
  assert.ok(most > 1 && most <= 4, `${most} programs at once`);
  await daemon.waitServer('small', (s) => s.children === 0 && s.instances === 0);
  await eventually('no child left', () => daemon.children().length === 0);
});

test('C01: a session that is ended gives its instance back', async (t) => {
  const daemon = await Daemon.start(t, { servers: { small: tiny({ scope: 'session' }) } });
  const before = (await daemon.server('small')).instances;
  const session = await Session.open(daemon.url);
  assert.equal(text(await session.call('tools/call', { name: 'small__ping', arguments: {} })), 'pong');
  assert.equal((await daemon.server('small')).instances, before + 1);
  await session.close();
  await daemon.waitServer('small', (s) => s.instances === before);
});

for (const scope of ['shared', 'session']) {
  test(`C22: clients of a counter with scope ${scope}`, async (t) => {
    const dir = temporary(t);
    const daemon = await Daemon.start(t, { servers: {
      count: scripted(dir, 'count', { tools: [tool('next')], counters: ['next'] }, { scope }) } }, { dir });
    const clients = [await Session.open(daemon.url), await Session.open(daemon.url, { revision: '2025-06-18' })];
    const seen = [];
    for (const client of [...clients, ...clients]) {
      seen.push(text(await client.call('tools/call', { name: 'count__next', arguments: {} })));
    }
    assert.deepEqual(seen, scope === 'shared' ? ['1', '2', '3', '4'] : ['1', '1', '2', '2']);
  });
}

test('C05: after failures in a row calls are refused at once, with the cause, until one succeeds', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: {
    mute: scripted(dir, 'mute', { tools: [tool('x')], silent: ['tools/call'] },
      { call_timeout: '200ms', breaker: { failures: 3, cooldown: '1h' } }),
    hiccup: scripted(dir, 'hiccup', { tools: [tool('x')], silentOnce: ['tools/call'] },
      { call_timeout: '1s', breaker: { failures: 1, cooldown: '2s' } }),
    well: scripted(dir, 'well', { tools: [tool('x')] }, { breaker: { failures: 1 } }) } }, { dir });
  const call = (server) => modern(daemon.url, 'tools/call', { name: `${server}__x`, arguments: {} });
  const codeOf = (answer) => answer.message?.error?.data?.code;

  for (let i = 0; i < 3; i++) assert.equal(codeOf(await call('mute')), 'upstream.timeout');
  const refused = await call('mute');
  assert.equal(codeOf(refused), 'upstream.breaker_open', refused.text);
  for (const part of ['mute', '3 calls in a row', 'did not answer']) {
    assert.ok(refused.message.error.message.includes(part), `${part} in ${refused.text}`);
  }
  assert.equal(received(dir, 'mute', 'tools/call').length, 3, 'the refused call did not reach the server');
  assert.equal((await daemon.server('mute')).error.code, 'upstream.timeout');
  assert.equal(text(await call('well')), 'x:{}', 'nobody else is refused');

  assert.equal(codeOf(await call('hiccup')), 'upstream.timeout');
  assert.equal(codeOf(await call('hiccup')), 'upstream.breaker_open');
  await eventually('a trial that succeeds', async () => text(await call('hiccup')) === 'x:{}');
  await daemon.waitServer('hiccup', 'ready');
  assert.equal(startsOf(dir, 'hiccup').length, 1, 'the server was not started anew for it');
});
