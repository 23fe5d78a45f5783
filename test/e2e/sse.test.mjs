// HTTP+SSE, the transport of 2024-11-05: the SDK's client of that time, and what is on the wire.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';

import { Daemon, scripted, temporary, tiny } from './lib/daemon.mjs';
import { events, request } from './lib/http.mjs';
import { npmDir, root, slow } from './lib/paths.mjs';
import { req } from './lib/req.mjs';
import { eventually } from './lib/wait.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));
const fixture = { command: process.execPath,
  args: [path.join(root, 'test/fixtures/everything/server.mjs'), '--era', 'legacy'] };
const LEGACY_SSE = { listen: { legacy_sse: true } };

// A stream of events as they come, and the place to post to once it is told.
async function open(t, daemon, where = '/sse', headers = {}) {
  const outgoing = http.get(new URL(where, daemon.url), { agent: false, headers: { accept: 'text/event-stream', ...headers } });
  const incoming = await new Promise((resolve, reject) => outgoing.on('response', resolve).on('error', reject));
  const stream = { status: incoming.statusCode, type: incoming.headers['content-type'], events: [],
    close: () => outgoing.destroy(), ended: new Promise((resolve) => { incoming.on('close', resolve); }) };
  let text = '';
  incoming.setEncoding('utf8').on('error', () => {}).on('data', (chunk) => {
    text += chunk;
    stream.events = events(text.slice(0, text.lastIndexOf('\n\n') + 2));
  });
  t.after(() => outgoing.destroy());
  if (stream.status === 200) {
    await eventually('the endpoint event', () => stream.events.length > 0);
    stream.post = (body, extra = {}) => request(daemon.url, { path: stream.events[0].data, method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...extra } });
    stream.answer = (id) => eventually(`the answer to ${id}`, () => stream.events.slice(1)
      .map((event) => JSON.parse(event.data)).find((message) => message.id === id && !message.method));
  }
  return stream;
}
const initialize = (id = 0) => ({ jsonrpc: '2.0', id, method: 'initialize',
  params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });

test('a batch over HTTP+SSE is answered as one, where the revision has batches', async (t) => {
  const daemon = await Daemon.start(t, { ...LEGACY_SSE, servers: { s: tiny() } });
  const ping = (id) => ({ jsonrpc: '2.0', id, method: 'ping' });
  for (const [revision, status] of [['2024-11-05', 400], ['2025-03-26', 202], ['2025-06-18', 400]]) {
    const stream = await open(t, daemon);
    assert.equal((await stream.post([ping(1)])).status, 400, 'no session yet');
    const opening = initialize();
    opening.params.protocolVersion = revision;
    await stream.post(opening);
    await stream.answer(0);
    const answer = await stream.post([ping(1), { jsonrpc: '2.0', method: 'notifications/initialized' }, ping('b')]);
    assert.equal(answer.status, status, answer.text);
    if (status === 202) {
      await eventually('the answers', () => stream.events.length === 3);
      assert.deepEqual(JSON.parse(stream.events[2].data), [1, 'b'].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
    }
    await stream.post(ping('after'));
    await stream.answer('after');
    stream.close();
  }
});

test('HTTP+SSE is off unless the configuration asks for it', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  const answer = await request(daemon.url, { path: '/sse', headers: { accept: 'text/event-stream' } });
  assert.equal(answer.status, 404);
  assert.match(answer.text, /legacy_sse/);
});

test('the SDK\'s SSE client lists, calls at once, is told of progress, and ends its session', async (t) => {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
  const daemon = await Daemon.start(t, { ...LEGACY_SSE, threads: 2, servers: { e: fixture, s: tiny() } });
  for (const [where, tool] of [['/sse', 'e__test_tool_with_progress'], ['/sse/e', 'test_tool_with_progress']]) {
    const client = new Client({ name: 'e2e', version: '1' });
    await client.connect(new SSEClientTransport(new URL(where, daemon.url)));
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === tool), where);
    let told = 0;
    await Promise.all(Array.from({ length: 20 }, async () => {
      const progress = [];
      const result = await client.callTool({ name: tool, arguments: {} }, undefined,
        { timeout: 30_000 * slow, onprogress: (p) => progress.push(p.progress) });
      assert.match(result.content[0].text, /three times/);
      // The client drops progress that comes in one piece with the answer.
      told += progress.length;
      assert.deepEqual(progress, [0, 50, 100].slice(0, progress.length));
    }));
    assert.ok(told > 0, where);
    assert.equal((await daemon.status()).sessions, 1);
    await client.close();
    await eventually('the session ends with its stream', async () => (await daemon.status()).sessions === 0);
  }
});

test(req('the wire: endpoint first, 202, answers as message events, and an end with the stream',
  'http-sse-server-two-endpoints', 'http-sse-server-endpoint-event', 'http-sse-server-messages-as-sse-events',
  'http-sse-server-backcompat-host-both'), async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { ...LEGACY_SSE, threads: 2, servers: { s: tiny(),
    slow: scripted(dir, 'slow', { tools: [{ name: 'x', inputSchema: { type: 'object' } }], delay: { 'tools/call': 60_000 } }) } }, { dir });
  const stream = await open(t, daemon, '/sse/slow');
  assert.equal(stream.type, 'text/event-stream');
  assert.equal(stream.events[0].event, 'endpoint');
  assert.match(stream.events[0].data, /^\/sse\/slow\?sessionId=/);
  assert.equal((await stream.post({ jsonrpc: '2.0', id: 'early', method: 'tools/list' })).status, 202);
  assert.equal((await stream.answer('early')).error.code, -32600);
  const accepted = await stream.post(initialize());
  assert.deepEqual([accepted.status, accepted.text], [202, '']);
  assert.equal((await stream.answer(0)).result.protocolVersion, '2024-11-05');
  assert.ok(stream.events.slice(1).every(({ event }) => event === 'message'));
  assert.equal((await stream.post(initialize(1))).status, 202);
  assert.equal((await stream.answer(1)).error.code, -32600, 'a session is opened once');

  // A call that takes long, and one that is cancelled.
  await stream.post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'x', arguments: {} } });
  await stream.post({ jsonrpc: '2.0', id: 3, method: 'ping' });
  assert.deepEqual((await stream.answer(3)).result, {});
  await stream.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });

  const { data: where } = stream.events[0];
  const post = (target, body, headers = { 'content-type': 'application/json' }) =>
    request(daemon.url, { path: target, method: 'POST', body, headers });
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'ping' });
  assert.equal((await post(where, '{"jsonrpc')).status, 400);
  assert.equal((await post(where, ping, { 'content-type': 'text/plain' })).status, 415);
  assert.equal((await post(where.replace('/sse/slow', '/sse'), ping)).status, 404, 'another endpoint');
  assert.equal((await post(`${where}0`, ping)).status, 404);
  assert.equal((await post('/sse/slow', ping)).status, 404);
  assert.equal((await post('/sse/nobody', ping)).status, 404);
  assert.equal((await request(daemon.url, { path: where, method: 'DELETE' })).status, 405);
  for (const headers of [{ origin: 'http://evil.example' }, { host: 'evil.example' }, { origin: 'null' }]) {
    assert.equal((await post(where, ping, { 'content-type': 'application/json', ...headers })).status, 403);
    assert.equal((await open(t, daemon, '/sse', headers)).status, 403);
  }
  assert.equal((await daemon.status()).sessions, 1);
  stream.close();
  await eventually('the session is gone', async () => (await daemon.status()).sessions === 0);
  assert.equal((await post(where, ping)).status, 404);
});

test('progress comes before the answer, each once', async (t) => {
  const daemon = await Daemon.start(t, { ...LEGACY_SSE, servers: { e: fixture } });
  const stream = await open(t, daemon, '/sse/e');
  await stream.post(initialize());
  await stream.answer(0);
  await stream.post({ jsonrpc: '2.0', id: 1, method: 'tools/call',
    params: { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p' } } });
  await stream.answer(1);
  assert.deepEqual(stream.events.slice(2).map(({ data }) => JSON.parse(data)).map((m) => m.params?.progress ?? m.id),
    [0, 50, 100, 1]);
});

test('HTTP+SSE clients are told that a list changed', async (t) => {
  const daemon = await Daemon.start(t, { ...LEGACY_SSE, servers: { e: fixture } });
  const stream = await open(t, daemon, '/sse/e');
  await stream.post(initialize());
  await stream.answer(0);
  await stream.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'test_trigger_tool_change', arguments: {} } });
  await stream.answer(1);
  await eventually('list_changed', () => stream.events.slice(1)
    .some(({ data }) => JSON.parse(data).method === 'notifications/tools/list_changed'));
});

test('a stop of the daemon ends HTTP+SSE streams in order', async (t) => {
  const daemon = await Daemon.start(t, { ...LEGACY_SSE, servers: { s: tiny() } });
  const stream = await open(t, daemon);
  await stream.post(initialize());
  await stream.answer(0);
  await daemon.stop();
  await stream.ended;
});

test(req('a token is asked for at /sse as anywhere else, and a stream is of whoever opened it',
  'http-sse-server-authenticate'), async (t) => {
  const token = (text) => ({ sha256: createHash('sha256').update(text).digest('hex') });
  const bearer = (text) => ({ authorization: `Bearer ${text}` });
  const daemon = await Daemon.start(t, { listen: { legacy_sse: true, tokens: { root: { ...token('root'), admin: true },
    all: token('all'), one: { ...token('one'), endpoints: ['/mcp/s'] } } }, servers: { s: tiny(), other: tiny() } },
  { token: 'root' });
  for (const headers of [{}, bearer('wrong')]) {
    for (const [method, where] of [['GET', '/sse'], ['GET', '/sse/s'], ['POST', '/sse?sessionId=0-1']]) {
      const answer = await request(daemon.url, { path: where, method, headers });
      assert.equal(answer.status, 401, `${method} ${where}: ${answer.text}`);
    }
  }
  for (const where of ['/sse', '/sse/other']) {
    assert.equal((await request(daemon.url, { path: where, headers: bearer('one') })).status, 403, where);
  }
  const own = await open(t, daemon, '/sse/s', bearer('one'));
  assert.equal(own.status, 200);
  assert.equal((await own.post(initialize())).status, 401);
  assert.equal((await own.post(initialize(), bearer('all'))).status, 404, 'another\'s stream is not there');
  assert.equal((await own.post(initialize(), bearer('one'))).status, 202);
  assert.equal((await own.answer(0)).result.protocolVersion, '2024-11-05');
  const merged = await open(t, daemon, '/sse', bearer('all'));
  assert.equal((await merged.post(initialize(), bearer('all'))).status, 202);
  await merged.answer(0);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 's__ping', arguments: {} } };
  assert.equal((await merged.post(call, bearer('all'))).status, 202);
  assert.equal((await merged.answer(1)).result.content[0].text, 'pong');
});
