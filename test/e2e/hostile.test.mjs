// Servers that mean harm, or are badly broken: what one can cost mcpx and the machine is bounded, and
// what it repeats of our secrets is not told on.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';

import { Daemon, temporary } from './lib/daemon.mjs';
import { call, pair, text } from './lib/pair.mjs';
import { sanitized } from './lib/paths.mjs';
import { usage } from './lib/processes.mjs';
import { RawHttpServer, replyBytes } from './lib/raw_http.mjs';
import { modern, modernHeaders, modernMeta } from './lib/speak.mjs';
import { eventually, within } from './lib/wait.mjs';

function grewBelow(kib, before, daemon) {
  const after = usage(daemon.pid).residentKb;
  assert.ok(after - before < kib || sanitized(), `${before} KiB before, ${after} KiB after`);
}
const lines = (daemon, pattern) => daemon.log().split('\n').filter((line) => pattern.test(line)).length;

// Answers the handshake and its list; a call makes it ask 300 times with ids of 1 MB and read nothing
// from then on. Then it answers the call.
const ASKS = `
const say = (m) => JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n';
const ping = say({ method: 'ping', id: 'x'.repeat(1e6) });
const write = (line) => new Promise((done) => process.stdout.write(line, done));
require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') await write(say({ id, result: { protocolVersion: params.protocolVersion,
    capabilities: { tools: {} }, serverInfo: { name: 'asks', version: '1' } } }));
  else if (method === 'tools/list') await write(say({ id,
    result: { tools: [{ name: 'x', inputSchema: { type: 'object' } }] } }));
  else if (method === 'tools/call') {
    process.stdin.pause();
    for (let i = 0; i < 300; i++) await write(ping);
    await write(say({ id, result: { content: [{ type: 'text', text: 'asked' }] } }));
  } else if (id !== undefined) await write(say({ id, error: { code: -32601, message: 'no' } }));
});`;

test('a program that asks without end and reads no answer does not fill the memory', async (t) => {
  const dir = temporary(t);
  writeFileSync(path.join(dir, 'asks.js'), ASKS);
  const server = { command: process.execPath, args: [path.join(dir, 'asks.js')] };
  const daemon = await Daemon.start(t, { servers: { asks: server } }, { dir });
  const before = usage(daemon.pid).residentKb;
  const answer = await modern(daemon.url, 'tools/call', { name: 'asks__x', arguments: {} });
  assert.equal(answer.message.result?.content[0].text, 'asked', answer.text);
  grewBelow(64 * 1024, before, daemon);
  assert.equal(lines(daemon, /not all get one/), 1);
});

test('a server over HTTP that asks without end does not use up descriptors or the log', async (t) => {
  const { upstream, daemon } = await pair(t);
  await eventually('the GET stream', () => upstream.streams.size === 1);
  upstream.on('*', (exchange) => {  // takes our answers, and never says so
    if (exchange.request.method === 'POST' && exchange.message.method === undefined) {
      return exchange.connection.gone;
    }
    return exchange.byRule();
  });
  const [stream] = upstream.streams;
  const ping = (id) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n\n`;
  await stream.raw(Array.from({ length: 5_000 }, (_, id) => ping(id)).join(''));
  await eventually('some are not answered', () => lines(daemon, /not all get one/) > 0);
  assert.equal(text(await call(daemon)), 'x:{}');
  assert.ok(upstream.connections.size < 100, `${upstream.connections.size} connections`);
  assert.equal(lines(daemon, /not all get one/), 1);
});

test('events that are no JSON-RPC are told once, however many they are', async (t) => {
  const { upstream, daemon } = await pair(t);
  upstream.on('tools/call', (exchange) => exchange.events(['data: x\n\n'.repeat(10_000),
    { jsonrpc: '2.0', id: exchange.id, result: { content: [{ type: 'text', text: 'at last' }] } }]));
  assert.equal(text(await call(daemon)), 'at last');
  assert.equal(lines(daemon, /not JSON-RPC/), 1);
});

test('`retry: 0` does not make mcpx ask for a stream without a pause', async (t) => {
  const { upstream, daemon } = await pair(t, {}, { call_timeout: '1s' });
  upstream.on('GET', (exchange) => exchange.events(['retry: 0\nid: 1\ndata: \n\n']));
  upstream.on('tools/call', (exchange) => exchange.events(['retry: 0\nid: 2\ndata: \n\n']));
  upstream.dropConnections();
  assert.match((await call(daemon)).text, /upstream\.timeout/);
  for (const id of ['1', '2']) {
    const times = upstream.received('GET').filter((r) => r.headers['last-event-id'] === id)
      .map((r) => r.time);
    assert.ok(times.length > 1 || id === '2', `GETs after ${id}: ${times.length}`);
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    assert.ok(gaps.every((gap) => gap >= 90), `after ${id}: ${gaps}`);
  }
});

test('a client that does not read what it is told meanwhile does not fill the memory', async (t) => {
  const { upstream, daemon } = await pair(t, { capabilities: { tools: {}, logging: {} } });
  upstream.on('logging/setLevel', { result: {} });
  const told = new Promise((resolve) => {
    upstream.on('tools/call', async (exchange) => {
      const stream = await exchange.stream();
      const params = { level: 'error', data: 'x'.repeat(2e6) };
      for (let i = 0; i < 60; i++) {
        await stream.send({ jsonrpc: '2.0', method: 'notifications/message', params });
      }
      resolve();
      await exchange.connection.gone;
    });
  });
  const before = usage(daemon.pid).residentKb;
  const params = { name: 'x', _meta: modernMeta({ 'io.modelcontextprotocol/logLevel': 'debug' }) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const client = http.request(`${daemon.url}/mcp/web`, { method: 'POST', agent: false,
    headers: modernHeaders('tools/call', params) }, (incoming) => incoming.pause());
  t.after(() => client.destroy());
  client.on('error', () => {});
  client.end(body);
  await within('all of it to be sent', 30_000, told);
  grewBelow(48 * 1024, before, daemon);
});

test('an answer that cannot be used says why', async (t) => {
  const { upstream, daemon } = await pair(t);
  const type = { 'Content-Type': 'application/json' };
  upstream.once('tools/call', { headers: type, body: '{"jsonrpc":"2.0","id":987654,"result":{}}' });
  assert.match((await call(daemon)).text, /not its JSON-RPC response: it has another id/);
  upstream.once('tools/call', { headers: type, body: '{"jsonrpc":"2.0","id":1,"result":{}' });
  assert.match((await call(daemon)).text, /not its JSON-RPC response: invalid JSON at byte/);
});

test('C71: what a server or a proxy repeats of our credentials is not told on', async (t) => {
  const echo = new RawHttpServer(({ connection, target, headers }) => connection.write(replyBytes({
    status: 500, headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ got: `${target} ${headers.authorization} ${headers['proxy-authorization']}` }) })));
  await echo.listen();
  t.after(() => echo.close());
  const base = `http://127.0.0.1:${echo.port}`;
  const daemon = await Daemon.start(t, { log: { level: 'trace' }, servers: {
    bearer: { url: base, auth: { type: 'bearer', token: '${env:TOKEN}' } },
    basic: { url: base, auth: { type: 'basic', username: '${env:USERNAME}', password: '${env:TOKEN}' } },
    query: { url: base, auth: { type: 'query', name: 'k', value: '${env:TOKEN}' } },
    proxied: { url: 'http://example.invalid/mcp', proxy: `http://puser:p%40ss@127.0.0.1:${echo.port}` },
  } }, { env: { TOKEN: 'se"cr\\et/1', USERNAME: 'someone' } });
  const told = [(await daemon.rest('/v1/servers')).text];
  for (const name of ['bearer', 'basic', 'query', 'proxied']) {
    told.push((await daemon.rest(`/v1/servers/${name}`)).text,
      (await modern(daemon.url, 'tools/call', { name: 'x' }, { endpoint: `/mcp/${name}` })).text);
  }
  await daemon.stop();
  told.push(daemon.log());
  const base64 = (value) => Buffer.from(value).toString('base64');
  const secrets = ['cr\\', 'et/1', '%22cr', base64('someone:se"cr\\et/1'), base64('puser:p@ss')];
  for (const one of told) {
    assert.match(one, /\[redacted\]/);
    for (const secret of secrets) assert.ok(!one.includes(secret), `${secret} in ${one}`);
  }
});
