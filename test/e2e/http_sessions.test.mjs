// Servers over HTTP that come, go, forget and dawdle: what callers see of it, and what it costs.
import assert from 'node:assert/strict';
import net from 'node:net';
import test from 'node:test';

import { Daemon, limit, tiny } from './lib/daemon.mjs';
import { call, pair, text, TOOL } from './lib/pair.mjs';
import { usage } from './lib/processes.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { modern, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { eventually, within } from './lib/wait.mjs';

const count = (upstream, key) => upstream.received(key).length;
// After a new session the lists are read again; until then more than the test's own is under way.
async function settled(daemon, upstream) {
  await daemon.waitServer('web', 'ready');
  await eventually('the lists were read in the newest session', () => {
    const last = upstream.received('initialize').length - 1;
    const since = upstream.requests.indexOf(upstream.received('initialize')[last]);
    return upstream.requests.slice(since).some((r) => r.message?.method === 'tools/list')
      && (!upstream.getStream || upstream.streams.size > 0);
  });
}

test('C01: 100 abandoned sessions share one session with a server over HTTP', async (t) => {
  const { upstream, daemon } = await pair(t);
  for (let i = 0; i < 100; i++) {
    const session = await Session.open(daemon.url);
    if (i % 20 !== 0) continue;
    assert.equal(text(await session.call('tools/call', { name: 'web__x', arguments: {} })), 'x:{}');
  }
  assert.equal(upstream.known.size, 1);
  assert.equal(count(upstream, 'initialize'), 1);
  assert.equal((await daemon.server('web')).children, 0);
});

test('C03: two first calls at once make one session with a slow server, and are both answered', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { tools: [TOOL] });
  upstream.on('initialize', { delay: 1_000 });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } }, { waitReady: false });
  const answers = await Promise.all([1, 2].map((n) => call(daemon, { n })));
  assert.deepEqual(answers.map(text), ['x:{"n":1}', 'x:{"n":2}']);
  assert.equal(count(upstream, 'initialize'), 1);
});

test('C05: a server over HTTP that never answers is given up at the deadline, and retries back off', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { tools: [TOOL] });
  let most = 0;
  const mute = (exchange) => {
    most = Math.max(most, upstream.connections.size);
    return exchange.connection.gone;
  };
  for (const method of ['server/discover', 'initialize', 'GET']) upstream.on(method, mute);
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url, start_timeout: '400ms',
    probe_timeout: '100ms' } } }, { waitReady: false });
  const starts = () => upstream.received('server/discover').map((r) => r.time);
  await eventually('a third start', () => starts().length >= 3, 20_000);
  assert.equal(most, 1, 'connections at once');
  const [first, second, third] = starts();
  assert.ok(third - second > second - first, `no back-off: ${starts()}`);
  const shown = await daemon.waitServer('web', 'failed');
  assert.match(shown.error.code, /^upstream\.(start_)?timeout$/);
});

// Sends a call and resets the connection once `when(socket)` resolved.
function vanish(daemon, when) {
  const params = { name: 'x', arguments: {}, _meta: modernMeta() };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = { host: `127.0.0.1:${daemon.port}`, 'content-length': Buffer.byteLength(body),
    ...modernHeaders('tools/call', params) };
  return new Promise((resolve, reject) => {
    const socket = net.connect(daemon.port, '127.0.0.1', () => {
      socket.write(`POST /mcp/web HTTP/1.1\r\n${Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`)
        .join('')}\r\n${body}`);
      when(socket).then(() => socket.resetAndDestroy());
    });
    socket.on('close', resolve).on('error', reject);
  });
}

for (const era of ['legacy', 'modern']) {
  test(`C07: a client that vanishes ends only its own exchange with a ${era} server over HTTP`, async (t) => {
    const { upstream, daemon } = await pair(t, { era });
    const held = [];
    upstream.once('tools/call', ...Array(5).fill((exchange) => { held.push(exchange); }));
    const gone = [...Array(5).keys()].map((n) =>
      vanish(daemon, () => eventually('the call arrived', () => held.length > n)));
    await eventually('all five arrived', () => held.length === 5);
    const other = await call(daemon, { other: 1 });
    assert.equal(text(other), 'x:{"other":1}');
    await Promise.all(gone);
    if (era === 'modern') {  // closing the stream is what cancels
      await within('the calls were cancelled', 10_000,
        Promise.all(held.map((exchange) => exchange.connection.gone)));
      assert.equal(count(upstream, 'notifications/cancelled'), 0);
    } else {
      await eventually('the calls were cancelled', () => count(upstream, 'notifications/cancelled') === 5);
      assert.deepEqual(
        upstream.received('notifications/cancelled').map((r) => r.message.params.requestId).sort(),
        held.map((exchange) => exchange.id).sort());
    }
    upstream.once('tools/call', { result: { resultType: 'complete',
      content: [{ type: 'text', text: 'b'.repeat(8 << 20) }] } });
    await vanish(daemon, (socket) => new Promise((resolve) => { socket.once('data', resolve); }));
    assert.equal(text(await call(daemon)), 'x:{}');
    assert.ok(count(upstream, 'initialize') <= 1, 'the session lives on');
  });
}

test('C08: restarts of a server over HTTP leave descriptors, threads and memory flat', async (t) => {
  const { upstream, daemon } = await pair(t, {}, {}, { log: { level: 'info' } });
  const round = async () => {
    await upstream.restart();
    const answer = await call(daemon);
    assert.equal(text(answer), 'x:{}', answer.text);
    await settled(daemon, upstream);
  };
  for (let i = 0; i < 10; i++) await round();
  const before = usage(daemon.pid);
  for (let i = 0; i < Number(process.env.MCPX_RESTARTS ?? 60); i++) await round();
  await eventually('descriptors are back', () =>
    Math.abs(usage(daemon.pid).descriptors - before.descriptors) <= 2);
  const after = usage(daemon.pid);
  assert.equal(after.threads, before.threads);
  assert.ok(after.residentKb < before.residentKb * 1.25 + 4096 * limit(1), JSON.stringify({ before, after }));
});

test('C11: a slow server over HTTP keeps nobody waiting', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { tools: [TOOL] });
  upstream.on('server/discover', (exchange) => exchange.connection.gone);
  const daemon = await Daemon.start(t, { servers: { quick: tiny(), web: { url: upstream.url } } },
    { waitReady: false });
  await daemon.waitServer('quick', 'ready');
  const session = await Session.open(daemon.url);
  assert.deepEqual((await session.tools()).map((x) => x.name), ['quick__ping']);
  assert.equal((await daemon.server('web')).state, 'starting');
});

// How servers say that a session is gone.
const GONE = { '404 without a body': (exchange) => exchange.reply({ status: 404 }),
  '404 with a page': (exchange) => exchange.reply({ status: 404, headers: { 'Content-Type': 'text/html' },
    body: '<h1>Not Found</h1>' }),
  '400 with text': (exchange) => exchange.reply({ status: 400, headers: { 'Content-Type': 'text/plain' },
    body: 'Bad Request: Invalid session ID' }),
  '-32001 as an event': (exchange) => exchange.events([{ jsonrpc: '2.0', id: exchange.id,
    error: { code: -32001, message: 'Session not found' } }]),
  '400 with JSON that is no JSON-RPC': (exchange) => exchange.reply({ status: 400,
    headers: { 'Content-Type': 'application/json' }, body: '{"error":"Unknown session"}' }) };
for (const code of [-32600, -32000, -32001]) {
  for (const status of [200, 400, 404]) {
    GONE[`${code} with ${status}`] = (exchange) =>
      exchange.error({ code, message: 'Session not found' }, { status });
    GONE[`${code} with ${status} and no id`] = (exchange) => exchange.reply({ status,
      headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: null,
        error: { code, message: 'Bad Request: session expired' } }) });
  }
}

test('C20: a session that the server forgot is replaced once, and the call repeated once', async (t) => {
  const { upstream, daemon } = await pair(t);
  for (const [name, gone] of Object.entries(GONE)) {
    await settled(daemon, upstream);
    upstream.gone = gone;
    const before = { calls: count(upstream, 'tools/call'), sessions: count(upstream, 'initialize') };
    upstream.forgetSessions();
    const answer = await call(daemon, { name });
    assert.equal(text(answer), `x:${JSON.stringify({ name })}`, `${name}: ${answer.text}`);
    await settled(daemon, upstream);
    assert.equal(count(upstream, 'initialize') - before.sessions, 1, `${name}: new sessions`);
    assert.equal(count(upstream, 'tools/call') - before.calls, 2, `${name}: requests for one call`);
  }
});

test('C20: calls in flight at once share the new session, and each is served once', async (t) => {
  const { upstream, daemon } = await pair(t);
  for (let round = 0; round < 10; round++) {
    await settled(daemon, upstream);
    const before = { calls: count(upstream, 'tools/call'), sessions: count(upstream, 'initialize') };
    upstream.forgetSessions();
    const answers = await Promise.all([1, 2, 3, 4].map((n) => call(daemon, { n })));
    for (const [at, answer] of answers.entries()) {
      assert.equal(text(answer), `x:{"n":${at + 1}}`, answer.text);
    }
    await settled(daemon, upstream);
    assert.equal(count(upstream, 'initialize') - before.sessions, 1, 'new sessions');
    const served = upstream.received('tools/call').slice(before.calls)
      .filter((r) => upstream.known.has(r.headers['mcp-session-id']));
    assert.deepEqual(served.map((r) => r.message.params.arguments.n).sort(), [1, 2, 3, 4]);
  }
});

test('C20: a refusal that is not about a session is passed on, and costs no session', async (t) => {
  const { upstream, daemon } = await pair(t);
  await settled(daemon, upstream);
  upstream.once('tools/call', (exchange) => exchange.error({ code: -32600, message: 'No such colour' }));
  const answer = await call(daemon);
  assert.equal(answer.message.error.code, -32600, answer.text);
  assert.equal(answer.message.error.message, 'No such colour');
  assert.equal(text(await call(daemon)), 'x:{}');
  assert.equal(count(upstream, 'initialize'), 1);
  assert.equal(count(upstream, 'tools/call'), 2);
});

test('C20: a server that forgets every session at once is asked twice, not for ever', async (t) => {
  const { upstream, daemon } = await pair(t);
  await settled(daemon, upstream);
  upstream.on('tools/call', { status: 404 });
  const answer = await call(daemon);
  assert.equal(answer.message.error.data.server, 'web', answer.text);
  assert.equal(count(upstream, 'tools/call'), 2);
});

const SILENCES = {
  'closes idle connections': (upstream) => { for (const c of upstream.connections) c.end(); },
  'resets idle connections': (upstream) => upstream.dropConnections(),
  'resets them and forgets the session': (upstream) => {
    upstream.forgetSessions();
    upstream.dropConnections();
  },
  'forgets the session and leaves connections open': (upstream) => upstream.forgetSessions(),
};
for (const era of ['legacy', 'http+sse']) {
  test(`C24: a call to a ${era} server that was silent too long reconnects`, async (t) => {
    const { upstream, daemon } = await pair(t, { era });
    for (const [name, silence] of Object.entries(SILENCES)) {
      await daemon.waitServer('web', 'ready');
      const before = count(upstream, 'tools/call');
      const streams = [...upstream.streams];
      silence(upstream);
      // A call that is on its way when its server ends the stream is lost; this one comes later.
      if (/^(closes|resets)/.test(name)) await Promise.all(streams.map(({ gone }) => gone));
      const answer = await call(daemon, { after: name });
      assert.equal(text(answer), `x:{"after":"${name}"}`, `${name}: ${answer.text}`);
      assert.ok(count(upstream, 'tools/call') - before <= 2, `${name}: asked more than twice`);
    }
  });
}

for (const scope of ['shared', 'session']) {
  test(`C22: over HTTP, clients of a counter with scope ${scope}`, async (t) => {
    const counters = new Map();
    const next = (args, { sessionId }) => {
      counters.set(sessionId, (counters.get(sessionId) ?? 0) + 1);
      return { content: [{ type: 'text', text: String(counters.get(sessionId)) }] };
    };
    const { daemon } = await pair(t, { tools: [{ name: 'next', inputSchema: { type: 'object' } }],
      calls: { next } }, { scope });
    const clients = [await Session.open(daemon.url), await Session.open(daemon.url)];
    const seen = [];
    for (const client of [...clients, ...clients]) {
      seen.push(text(await client.call('tools/call', { name: 'web__next', arguments: {} })));
    }
    assert.deepEqual(seen, scope === 'shared' ? ['1', '2', '3', '4'] : ['1', '1', '2', '2']);
  });
}

for (const era of ['legacy', 'modern']) {
  test(`C23: over HTTP, a call that is cancelled or timed out harms nothing (${era} server)`, async (t) => {
    const { upstream, daemon } = await pair(t, { era }, { call_timeout: '500ms' });
    const held = [];
    const hold = (exchange) => { held.push(exchange); return exchange.connection.gone; };
    upstream.once('tools/call', hold);
    const late = await call(daemon);
    assert.equal(late.message.error.data.code, 'upstream.timeout', late.text);
    assert.equal(text(await call(daemon)), 'x:{}');

    upstream.once('tools/call', hold);
    const session = await Session.open(daemon.url, { endpoint: '/mcp/web' });
    const cancelled = session.call('tools/call', { name: 'x', arguments: {} }, { id: 'c' });
    cancelled.catch(() => {});
    await eventually('the second call arrived', () => held.length === 2);
    await session.notify('notifications/cancelled', { requestId: 'c', reason: 'enough' });
    if (era === 'legacy') {
      await eventually('both were cancelled', () => count(upstream, 'notifications/cancelled') === 2);
      assert.deepEqual(upstream.received('notifications/cancelled').map((r) => r.message.params.requestId),
        held.map((exchange) => exchange.id));
    } else {
      await within('both were cancelled', 10_000, Promise.all(held.map((e) => e.connection.gone)));
    }
    assert.equal(text(await session.call('tools/call', { name: 'x', arguments: {} })), 'x:{}');
    assert.ok(count(upstream, 'initialize') <= 1, 'one session');
    assert.equal((await daemon.server('web')).state, 'ready');
  });
}
