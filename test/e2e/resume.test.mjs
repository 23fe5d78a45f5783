// Streams that break off: calls go on, and clients get what they missed (Last-Event-ID, SEP-1699).
import assert from 'node:assert/strict';
import net from 'node:net';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';

import { Daemon } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { npmDir, root, slow } from './lib/paths.mjs';
import { req } from './lib/req.mjs';
import { Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));
const fixture = (era = 'legacy') => ({ command: process.execPath,
  args: [path.join(root, 'test/fixtures/everything/server.mjs'), '--era', era] });

const callBody = (id, name, meta) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call',
  params: { name, arguments: {}, ...(meta && { _meta: meta }) } });
const post = (session, body) => openStream(session.base, {
  path: session.endpoint, method: 'POST', headers: session.headers(), body });
const rest = (session, last) => openStream(session.base, { path: session.endpoint,
  headers: { ...session.headers({ 'content-type': null }), accept: 'text/event-stream', 'last-event-id': last } });

test(req('a slow call is primed, and its answer reaches a client that lost the connection',
  'streamable-http-sse-priming-event', 'streamable-http-disconnect-not-cancel',
  'streamable-http-server-may-resume', 'streamable-http-event-id-unique'), async (t) => {
  const daemon = await Daemon.start(t, { threads: 3, servers: { e: fixture() } });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const ids = new Set();
  // Several, so that connections of one call are served by different threads.
  await Promise.all(Array.from({ length: 8 }, async (_, i) => {
    const first = await post(session, callBody(i, 'test_reconnection'));
    await eventually('the priming event', () => first.events.length > 0);
    assert.equal(first.events[0].data, '');
    const { id } = first.events[0];
    assert.ok(!ids.has(id), 'ids are used once');
    ids.add(id);
    first.close();
    const second = await rest(session, id);
    await second.ended;
    assert.deepEqual(second.messages.map((m) => m.id), [i]);
    assert.match(second.messages[0].result.content[0].text, /Reconnection/);
    const again = await rest(session, second.events.at(-1).id);
    await again.ended;
    assert.deepEqual(again.messages, [], 'nothing comes twice');
  }));
});

test('progress that was missed comes once, in order, before the answer', async (t) => {
  const daemon = await Daemon.start(t, { threads: 2, servers: { e: fixture() } });
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25']) {
    const session = await Session.open(daemon.url, { endpoint: '/mcp/e', revision });
    const first = await post(session, callBody(1, 'test_tool_with_progress', { progressToken: 'p' }));
    await eventually('the first progress', () => first.messages.length > 0);
    first.close();
    const seen = first.events.filter((event) => event.data !== '');
    if (revision < '2025-11-25') assert.equal(seen.length, first.events.length, 'no event without data');
    const second = await rest(session, seen.at(-1).id);
    await second.ended;
    const all = [...seen.map((event) => JSON.parse(event.data)), ...second.messages];
    assert.deepEqual(all.map((m) => m.params?.progress ?? m.id), [0, 50, 100, 1], revision);
  }
});

test('a session\'s own stream waits for its client, on whatever thread that comes back', async (t) => {
  const daemon = await Daemon.start(t, { threads: 3, servers: { e: fixture() } });
  const worker = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const trigger = () => worker.call('tools/call', { name: 'test_trigger_tool_change', arguments: {} });
  for (let i = 0; i < 6; i++) {
    const session = await Session.open(daemon.url, { endpoint: '/mcp/e' });
    const first = await session.stream();
    await eventually('the priming event', () => first.events.length > 0);
    const { id } = first.events[0];
    first.close();
    await trigger();
    const second = await rest(session, id);
    await eventually('what changed meanwhile', () => second.messages.length > 0);
    await trigger();
    await eventually('what changes now', () => second.messages.length > 1);
    assert.deepEqual(second.methods(), Array(2).fill('notifications/tools/list_changed'));
    second.close();
  }
});

test('what leads nowhere is refused: another session, another run, rubbish', async (t) => {
  const daemon = await Daemon.start(t, { servers: { e: fixture() } });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const other = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const stream = await post(session, callBody(1, 'test_tool_with_progress', { progressToken: 1 }));
  await stream.ended;
  const { id } = stream.events.at(-1);
  const ask = (who, last) => request(daemon.url, { path: '/mcp/e', headers: { ...who.headers({ 'content-type': null }),
    accept: 'text/event-stream', 'last-event-id': last } });
  for (const [who, last] of [[other, id], [session, `00000000${id.slice(8)}`], [session, 'rubbish'],
    [session, `${id}ffff`], [session, id.replace(/-c\d/, '-c9')]]) {
    const answer = await ask(who, last);
    assert.equal(answer.status, 400, `${last}: ${answer.text}`);
    assert.equal(JSON.parse(answer.text).error.data.code, 'stream.unknown');
  }
  assert.equal((await ask(session, id)).status, 200);
});

test('replay can be bounded away, and streams then have no ids', async (t) => {
  const daemon = await Daemon.start(t, { limits: { replay: 0 }, servers: { e: fixture() } });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const stream = await post(session, callBody(1, 'test_tool_with_progress', { progressToken: 1 }));
  await stream.ended;
  assert.equal(stream.messages.length, 4);
  assert.ok(stream.events.every((event) => event.id === undefined));
});

// A wire that can be cut while the client looks on.
async function wire(t, port) {
  const sockets = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => { near.destroy(); far.destroy(); sockets.delete(socket); });
    }
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => { for (const socket of sockets) socket.destroy(); };
  t.after(() => { cut(); server.close(); });
  return { port: server.address().port, cut };
}

test('the SDK\'s client gets its answer over a connection that breaks while the call runs', async (t) => {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const daemon = await Daemon.start(t, { servers: { e: fixture() } });
  const { port, cut } = await wire(t, daemon.port);
  const client = new Client({ name: 'e2e', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp/e`));
  await client.connect(transport);
  let resumable;
  const primed = new Promise((resolve) => { resumable = resolve; });
  const answer = client.callTool({ name: 'test_reconnection', arguments: {} }, undefined,
    { timeout: 20_000 * slow, onresumptiontoken: resumable });
  await primed;
  cut();
  assert.match((await answer).content[0].text, /Reconnection/);
  await client.close();
});
