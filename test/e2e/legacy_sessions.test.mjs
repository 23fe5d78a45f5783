// Legacy sessions: they outlive the daemon (C21), end when idle, and are not confused (C57, C59).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { Daemon, temporary, tiny } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { root, sanitized } from './lib/paths.mjs';
import { usage } from './lib/processes.mjs';
import { req } from './lib/req.mjs';
import { LEGACY, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const fixture = { command: process.execPath,
  args: [path.join(root, 'test/fixtures/everything/server.mjs'), '--era', 'legacy'] };
const LOG = { name: 'e__test_tool_with_logging', arguments: {} };
const logged = (answer) => answer.messages().filter((m) => JSON.parse(m).method === 'notifications/message').length;

// The answer to a call whose client declines what it is asked meanwhile.
async function answering(session, params) {
  const call = await openStream(session.base, { path: session.endpoint, method: 'POST', headers: session.headers(),
    body: JSON.stringify({ jsonrpc: '2.0', id: 'asks', method: 'tools/call', params }) });
  const question = await eventually('a question', () => call.messages.find((m) => m.method === 'elicitation/create'));
  await session.post(JSON.stringify({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } }));
  const answer = await eventually('the answer', () => call.messages.find((m) => m.id === 'asks'));
  call.close();
  return answer;
}

for (const signal of ['SIGTERM', 'SIGKILL']) {
  test(`C21: a session works on after the daemon was ended with ${signal}`, async (t) => {
    const dir = temporary(t);
    const config = { threads: 2, servers: { e: fixture, s: tiny() } };
    const first = await Daemon.start(t, config, { dir });
    const merged = await Session.open(first.url, { revision: '2025-06-18', capabilities: { roots: {} } });
    const own = await Session.open(first.url, { revision: '2025-03-26', endpoint: '/mcp/s' });
    const able = await Session.open(first.url, { endpoint: '/mcp/e', capabilities: { elicitation: {} } });
    const unable = await Session.open(first.url, { endpoint: '/mcp/e' });
    const gone = await Session.open(first.url);
    assert.equal((await gone.close()).status, 200);
    const level = await merged.call('logging/setLevel', { level: 'debug' });
    assert.deepEqual(level.message.result, {});
    if (signal === 'SIGKILL') await first.assertGone(await first.crash());
    else await first.stop();

    const second = await Daemon.start(t, config, { dir });
    for (const session of [merged, own, able, unable, gone]) session.base = second.url;
    // At once, on several threads, the first requests there are.
    const lists = await Promise.all(Array.from({ length: 6 }, () => own.call('tools/list')));
    for (const list of lists) assert.equal(list.status, 200, list.text);
    assert.deepEqual((await own.tools()).map((tool) => tool.name), ['ping']);
    const batch = await own.post(JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'ping' }]));
    assert.deepEqual(JSON.parse(batch.text), [{ jsonrpc: '2.0', id: 1, result: {} }], 'revision 2025-03-26');
    const call = await merged.call('tools/call', LOG);
    assert.equal(logged(call), 3, `its log level is kept\n${call.text}`);
    const asks = { name: 'test_elicitation', arguments: { message: 'Who?' } };
    assert.equal((await unable.call('tools/call', asks)).message.error?.code, -32602, 'it declared nothing');
    const answered = await answering(able, asks);
    assert.match(answered.result?.content[0].text, /action=decline/, 'what it can be asked is kept');
    assert.equal((await merged.post('[]')).status, 400, 'revision 2025-06-18 has no batches');
    assert.equal((await gone.call('ping')).status, 404, 'what was ended stays ended');
    merged.endpoint = '/mcp/s';
    assert.equal((await merged.call('ping')).status, 404, 'a session is of one endpoint');
    assert.equal((await second.status()).sessions, 4);
    for (const file of readdirSync(path.join(dir, 'state/mcpx'))) {
      const text = readFileSync(path.join(dir, 'state/mcpx', file), 'latin1');
      assert.ok(!text.includes(own.id), `${file} has the id of a session`);
    }
  });
}

test('a daemon that keeps nothing forgets its sessions, and says so', async (t) => {
  const dir = temporary(t);
  const first = await Daemon.start(t, { state_dir: 'off', servers: { s: tiny() } }, { dir });
  const session = await Session.open(first.url);
  await first.stop();
  const second = await Daemon.start(t, { state_dir: 'off', servers: { s: tiny() } }, { dir });
  session.base = second.url;
  assert.equal((await session.call('ping')).status, 404);
});

test('a session that is idle for too long ends; one with a stream does not', async (t) => {
  const daemon = await Daemon.start(t, { sessions: { idle_timeout: '600ms' }, servers: { s: tiny() } });
  const idle = await Session.open(daemon.url);
  const held = await Session.open(daemon.url);
  const stream = await held.stream();
  await eventually('the idle one is gone', async () => (await daemon.status()).sessions === 1);
  assert.equal((await idle.call('ping')).status, 404);
  assert.equal((await held.call('ping')).status, 200);
  stream.close();
  await eventually('the other one is gone', async () => (await daemon.status()).sessions === 0);
  assert.equal((await held.call('ping')).status, 404);
});

test('more sessions than allowed are refused with a remedy while all are in use', async (t) => {
  const daemon = await Daemon.start(t, { limits: { sessions: 2 }, servers: { s: tiny() } });
  const streams = [];
  for (let i = 0; i < 2; i++) streams.push(await (await Session.open(daemon.url)).stream());
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const full = await request(daemon.url, { path: '/mcp', method: 'POST', body, headers });
  assert.equal(full.status, 503, full.text);
  const { error } = JSON.parse(full.text);
  assert.equal(error.data.code, 'session.limit');
  assert.match(error.data.remedy, /limits\.sessions/);
  streams[0].close();
  await eventually('room', async () =>
    (await request(daemon.url, { path: '/mcp', method: 'POST', body, headers })).status === 200);
  streams[1].close();
});

test('C57: a client that was answered server/discover may still send initialize', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async (body, headers) => {
    const answer = await request(daemon.url, { path: '/mcp', method: 'POST', agent, headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, answer.text);
    return { headers: answer.headers, message: JSON.parse(answer.messages().at(-1)) };
  };
  const discovered = await ask({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: modernMeta() } },
    modernHeaders('server/discover'));
  assert.ok(discovered.message.result.supportedVersions.length > 0);
  const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const opened = await ask({ jsonrpc: '2.0', id: 2, method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }, plain);
  assert.equal(opened.message.result.protocolVersion, '2025-06-18');
  const listed = await ask({ jsonrpc: '2.0', id: 3, method: 'tools/list' },
    { ...plain, 'mcp-session-id': opened.headers['mcp-session-id'] });
  assert.equal(listed.message.result.tools.length, 1);
});

test(req('C59: another known version after negotiation is tolerated, an unknown one is not',
  'streamable-http-server-400-unsupported-version-header'), async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  for (const revision of LEGACY) {
    const session = await Session.open(daemon.url, { revision });
    for (const said of LEGACY) {
      const answer = await session.call('tools/list', {}, { headers: { 'mcp-protocol-version': said } });
      assert.equal(answer.status, 200, `${revision}, ${said}: ${answer.text}`);
      assert.equal(answer.message.result.tools.length, 1);
    }
    const unknown = await session.call('ping', {}, { headers: { 'mcp-protocol-version': '2031-01-01' } });
    assert.equal(unknown.status, 400, unknown.text);
    assert.equal((await session.call('ping')).status, 200);
  }
});

// Prints how many events came, after each.
const LISTENER = `
const http = require('node:http');
const [, , url, id] = process.argv;
http.get(url, { agent: false, headers: { accept: 'text/event-stream', 'mcp-session-id': id } }, (incoming) => {
  let count = 0;
  incoming.setEncoding('utf8').on('data', (text) => {
    count += (text.match(/list_changed/g) ?? []).length;
    console.log(count);
  }).on('close', () => console.log('closed'));
});`;

test('C25: a client that is stopped while its stream is open holds up nobody and nothing', async (t) => {
  const daemon = await Daemon.start(t, { servers: { e: fixture } });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const worker = await Session.open(daemon.url, { endpoint: '/mcp/e' });
  const script = path.join(daemon.dir, 'listener.cjs');
  writeFileSync(script, LISTENER);
  const child = spawn(process.execPath, [script, `${daemon.url}/mcp/e`, session.id], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let heard = '';
  child.stdout.setEncoding('utf8').on('data', (text) => { heard += text; });
  const trigger = () => worker.call('tools/call', { name: 'test_trigger_tool_change', arguments: {} });
  await eventually('the stream is open', async () => { await trigger(); return heard !== ''; });
  child.kill('SIGSTOP');
  const before = heard;
  const { residentKb } = usage(daemon.pid);
  for (let i = 0; i < 2_000; i += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, trigger));
    for (const answer of answers) assert.ok(answer.message?.result, answer.text);
  }
  const grown = usage(daemon.pid).residentKb - residentKb;
  assert.ok(grown < 32_768 || sanitized(), `what waits for it is bounded, but the daemon grew by ${grown} KiB`);
  child.kill('SIGCONT');
  await eventually('it hears of the changes, or that its stream ended', () => heard !== before);
});
