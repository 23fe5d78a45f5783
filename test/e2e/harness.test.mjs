// The harness proves itself, without mcpx: a checker that cannot fail would make every other test
// here worthless.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';

import { clients, plainNames } from './lib/clients.mjs';
import { comparable, exposedUri, itemsOf, stripHop } from './lib/compare.mjs';
import { received, run, scripted, startsOf, temporary, tiny } from './lib/daemon.mjs';
import { events, request } from './lib/http.mjs';
import { libDir } from './lib/paths.mjs';
import { planFor, serversIn } from './lib/plans.mjs';
import { Recorder } from './lib/recorder.mjs';
import { framesOfHttp, framesOfStdio, Schemas } from './lib/schema.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const teeOf = (record, target) => ({ ...target, command: process.execPath,
  args: [path.join(libDir, 'tee.mjs'), record, target.command, ...target.args] });
const linesOf = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse);

test('harness: a direct run against each reference server answers every step', async (t) => {
  const dir = temporary(t);
  mkdirSync(path.join(dir, 'files/fixed'), { recursive: true });
  for (const [name, target] of Object.entries(serversIn(dir))) {
    const plan = planFor(dir, 'direct').filter((step) => step.server === name);
    const record = path.join(dir, `${name}.tee`);
    const found = await clients['sdk 1.x'](teeOf(record, target), plan, plainNames, dir);
    assert.ok(found.tools.length >= 9, name);
    assert.equal(found.results.length, plan.length);
    for (const { step, answer } of found.results) assert.ok(!answer.failed, `${step}: ${JSON.stringify(answer)}`);
    await t.test(`frames of the SDK towards ${name} fit the schema`, (s) => {
      const schemas = Schemas.load();
      if (!schemas) return s.skip('no schemas');
      const { checked, problems } = schemas.check(framesOfStdio(linesOf(record)));
      assert.deepEqual(problems, []);
      assert.ok(checked >= plan.length + 2, `${checked} frames`);
    });
  }
});

test('harness: the schema check finds what is wrong with a frame', (t) => {
  const schemas = Schemas.load();
  if (!schemas) return t.skip('no schemas');
  const ask = (method, params, revision) => ({ from: 'client', channel: 1, revision,
    text: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
  const say = (body, revision) => ({ from: 'mcpx', channel: 1, revision,
    text: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) });
  const rows = [
    ['a good legacy list', '2025-11-25', 'tools/list', { result: { tools: [] } }, 0],
    ['a list that is none', '2025-11-25', 'tools/list', { result: { tools: 7 } }, 1],
    ['a tool without a schema', '2024-11-05', 'tools/list', { result: { tools: [{ name: 'x' }] } }, 1],
    ['a modern list without resultType', '2026-07-28', 'tools/list', { result: { tools: [] } }, 1],
    ['a good modern list', '2026-07-28', 'tools/list',
      { result: { tools: [], resultType: 'complete', ttlMs: 0, cacheScope: 'private' } }, 0],
    ['a modern list with a bad scope', '2026-07-28', 'tools/list',
      { result: { tools: [], resultType: 'complete', ttlMs: 0, cacheScope: 'all' } }, 1],
    ['an error without a message', '2025-06-18', 'tools/call', { error: { code: -1 } }, 1],
    ['a header mismatch', '2026-07-28', 'tools/call',
      { error: { code: -32020, message: 'mismatch' } }, 0],
    ['a version error without data', '2026-07-28', 'tools/call',
      { error: { code: -32022, message: 'version' } }, 1],
    ['a ping result with content', '2025-11-25', 'ping', { result: {} }, 0],
    ['an image that is not base64', '2025-11-25', 'tools/call',
      { result: { content: [{ type: 'image', data: '%%', mimeType: 'image/png' }] } }, 1],
  ];
  for (const [what, revision, method, body, bad] of rows) {
    const { problems, checked } = schemas.check([ask(method, {}, revision), say(body, revision)]);
    assert.equal(checked, 1, what);
    assert.equal(problems.length > 0, bad > 0, `${what}: ${problems.join(' | ')}`);
  }
  const lonely = schemas.check([say({ result: {} }, '2025-11-25')]);
  assert.match(lonely.problems.join(), /answer to nothing/);
  const broken = schemas.check([{ from: 'mcpx', channel: 1, revision: '2025-11-25', text: '{' }]);
  assert.match(broken.problems.join(), /not JSON/);
  const invented = schemas.check([{ from: 'mcpx', channel: 1, revision: '2024-11-05',
    text: '{"jsonrpc":"2.0","method":"notifications/tasks/status"}' }]);
  assert.match(invented.problems.join(), /no such method/);
});

test('harness: the recorder keeps both directions, event streams too', async (t) => {
  const server = http.createServer((incoming, response) => {
    incoming.resume();
    if (incoming.url === '/sse') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
      response.end('data: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n');
    } else {
      response.writeHead(202).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const recorder = await Recorder.start(`http://127.0.0.1:${server.address().port}`);
  t.after(async () => { await recorder.stop(); server.close(); });
  const answer = await request(recorder.url, { path: '/sse', method: 'POST',
    headers: { 'mcp-protocol-version': '2025-06-18' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  assert.equal(answer.messages().length, 2);
  const frames = framesOfHttp(recorder.entries);
  assert.deepEqual(frames.map((f) => [f.from, f.revision]),
    [['client', '2025-06-18'], ['mcpx', '2025-06-18'], ['mcpx', '2025-06-18']]);
  assert.deepEqual(JSON.parse(frames[2].text), { jsonrpc: '2.0', id: 1, result: {} });
});

test('harness: the scripted server does what its script says', async (t) => {
  const dir = temporary(t);
  const say = (id, method, params = {}) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const answers = async (target, ...lines) => (await run(target.command, target.args,
    { input: lines.join('\n') + '\n' }));
  const paged = scripted(dir, 'paged', { tools: [{ name: 'a' }, '{"name": "b" }', { name: 'c' }],
    pageSize: 1, cursors: [''], noise: { 'tools/list': ['junk', ''] } });
  const out = await answers(paged, say(1, 'tools/list'), say(2, 'tools/list', { cursor: '' }),
    say(3, 'tools/list', { cursor: 'page-2' }), say(4, 'server/discover'));
  const lines = out.stdout.split('\n').filter((l) => l.startsWith('{')).map(JSON.parse);
  assert.deepEqual(lines.slice(0, 3).map((m) => [m.result.tools[0].name, m.result.nextCursor]),
    [['a', ''], ['b', 'page-2'], ['c', undefined]]);
  assert.equal(lines[3].error.code, -32601);
  assert.match(out.stdout, /^junk\n\n/);
  assert.equal(received(dir, 'paged', 'tools/list').length, 3);
  assert.equal(startsOf(dir, 'paged').length, 1);

  const dying = scripted(dir, 'dying', { startup: { stderr: ['one', 'two'] }, exitOn: { initialize: 3 } });
  const dead = await answers(dying, say(1, 'initialize'));
  assert.deepEqual([dead.code, dead.stdout, dead.stderr], [3, '', 'one\ntwo\n']);

  const small = await answers(tiny(), say(1, 'initialize'), say('x', 'tools/call', { name: 'ping' }));
  assert.deepEqual(small.stdout.trim().split('\n').map((l) => JSON.parse(l).id), [1, 'x']);
});

test('harness: the scripted HTTP server does what its table says', async (t) => {
  const server = await ScriptedHttpServer.start(t);
  const session = await Session.open(server.url, { endpoint: '/mcp' });
  const call = () => session.call('tools/call', { name: 'echo', arguments: { n: 1 } });
  const said = (answer) => answer.message.result.content[0].text;
  assert.equal(said(await call()), 'echo:{"n":1}');
  server.on('tools/call', { error: { code: -32050, message: 'as ever' } });
  server.once('tools/call', { sse: true }, { status: 503 });
  assert.equal(said(await call()), 'echo:{"n":1}');
  assert.equal((await call()).status, 503);
  assert.equal((await call()).message.error.code, -32050);
  server.off('tools/call');
  for (const deliver of [{ upTo: 0.5, then: 'close' }, { upTo: 20, then: 'reset' }]) {
    server.once('tools/call', { deliver });
    await assert.rejects(call());
  }
  server.once('tools/call', { deliver: { pieces: 1, every: 0 } });
  assert.equal(said(await call()), 'echo:{"n":1}');
  const stream = await session.stream();
  await eventually('the stream is open', () => server.streams.size === 1);
  await server.push({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await eventually('what was pushed', () => stream.methods().includes('notifications/tools/list_changed'));
  stream.close();
  await server.restart();
  assert.equal((await call()).status, 404, 'a restarted server knows no session');
  assert.equal(server.received('tools/call').length, 8);
  assert.equal(server.received('initialize')[0].message.params.protocolVersion, '2025-11-25');
});

test('harness: comparison forgives the hop and nothing else', () => {
  assert.deepEqual(stripHop({ tools: [{ name: 'a', ttlMs: 1 }], ttlMs: 5, resultType: 'complete',
    cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': {}, own: 1 } }),
  { tools: [{ name: 'a', ttlMs: 1 }], _meta: { own: 1 } });
  assert.deepEqual(comparable({ content: [{ type: 'resource_link',
    uri: exposedUri('s', 'demo://x/1') }] }), { content: [{ type: 'resource_link', uri: 'demo://x/1' }] });
  assert.deepEqual(itemsOf('a', [{ name: 'a__x' }, { name: 'ab__y' }], 'name'), [{ name: 'x' }]);
  assert.notDeepEqual(comparable({ content: [{ text: '1.0' }] }), comparable({ content: [{ text: '1' }] }));
  assert.deepEqual(events(': hi\n\ndata: a\r\ndata: b\r\n\r\nid: 4\ndata:\n\n').map((e) => e.data),
    ['a\nb', '']);
});
