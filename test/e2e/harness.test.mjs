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
import { httpFrames, teeFrames } from './lib/frames.mjs';
import { events, request } from './lib/http.mjs';
import { libDir } from './lib/paths.mjs';
import { planFor, serversIn } from './lib/plans.mjs';
import { Relay } from './lib/relay.mjs';
import { Schemas } from './lib/schema.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { MODERN, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';
import { accepted, moment, tap } from './lib/wiretap.mjs';

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
      const { checked, problems } = schemas.check(teeFrames(linesOf(record), name));
      assert.deepEqual(problems, []);
      assert.ok(checked >= plan.length + 2, `${checked} frames`);
    });
  }
});

test('harness: the schema check finds what is wrong with a frame', (t) => {
  const schemas = Schemas.load();
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

test('harness: the strict check finds what another revision or nobody defines', () => {
  const schemas = Schemas.load();
  const tool = (members) => ({ result: { tools: [{ name: 'x', inputSchema: { type: 'object' }, ...members }] } });
  const modern = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const words = { type: 'text', text: 't' };
  const call = (members) => ({ result: { content: [words], ...members } });
  const rows = [
    ['a title before its time', '2025-03-26', 'tools/list', tool({ title: 'X' }), /title is not in Tool of 2025-03-26/],
    ['a title', '2025-06-18', 'tools/list', tool({ title: 'X' })],
    ['a member after its time', '2026-07-28', 'tools/list',
      { result: { ...tool({ execution: {} }).result, ...modern } }, /execution is not in Tool of 2026-07-28/],
    ['resultType', '2025-11-25', 'tools/call', call({ resultType: 'complete' }), /resultType/],
    ['cache hints', '2025-11-25', 'tools/list', { result: { tools: [], ttlMs: 1 } }, /ttlMs/],
    ['a list as structured content', '2025-11-25', 'tools/call', call({ structuredContent: [] }), /must be object/],
    ['an invented member', '2025-11-25', 'tools/call', call({ invented: 1 }), /of no revision, and no peer sent it/],
    ['an invented member of an annotation', '2025-11-25', 'tools/call',
      { result: { content: [{ ...words, annotations: { invented: 1 } }] } }, /annotations.invented/],
    ['a member that a peer sent', '2025-11-25', 'tools/call', call({ theirs: 1 })],
    ['a title of a peer before its time', '2024-11-05', 'tools/list', tool({ title: 'X' }), /title/],
    ['free members', '2024-11-05', 'tools/call', call({ _meta: { 'a/b': { title: 1 } } })],
    ['schemas', '2024-11-05', 'tools/list', tool({ inputSchema: { type: 'object', $defs: {}, icons: 1 } })],
    ['a key of the protocol in _meta', '2025-11-25', 'tools/call',
      call({ _meta: { 'io.modelcontextprotocol/serverInfo': {} } }), /serverInfo, which is not of 2025-11-25/],
    ['_meta on a block', '2025-03-26', 'tools/call', { result: { content: [{ ...words, _meta: {} }] } }, /_meta/],
    ['serverInfo with an invented member', '2026-07-28', 'tools/call', { result: { content: [], ...modern,
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'n', version: '1', invented: 1 } } } }, /invented/],
    ['audio', '2024-11-05', 'tools/call',
      { result: { content: [{ type: 'audio', data: '', mimeType: 'a/b' }] } }, /content/],
    ['an invented block', '2025-11-25', 'tools/call', { result: { content: [{ type: 'invented' }] } }, /content/],
    ['a block of a peer', '2025-11-25', 'tools/call', { result: { content: [{ type: 'hologram', theirs: 1 }] } }],
    ['a code of the other era', '2026-07-28', 'resources/read', { error: { code: -32002, message: 'm' } }, /-32002/],
    ['a code of the other era', '2025-11-25', 'tools/call', { error: { code: -32020, message: 'm' } }, /-32020/],
    ['a reserved code', '2026-07-28', 'tools/call', { error: { code: -32099, message: 'm' } }, /reserved/],
    ['an invented member of an error', '2025-11-25', 'tools/call',
      { error: { code: 1, message: 'm', invented: 1 } }, /invented/],
  ];
  const theirs = { from: 'peer', channel: 2, revision: '2025-11-25',
    text: '{"theirs":1,"title":1,"type":"hologram"}' };
  for (const [what, revision, method, body, bad] of rows) {
    const frame = (from, message) => ({ from, channel: 1, revision,
      text: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) });
    const { problems } = schemas.check([theirs, frame('client', { method }), frame('mcpx', body)]);
    if (bad) assert.match(problems.join(' | '), bad, `${what}, ${revision}`);
    else assert.deepEqual(problems, [], `${what}, ${revision}`);
  }
  const extension = (revision, body, ...peers) => schemas.check([...peers, { from: 'mcpx', channel: 1, revision,
    text: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) }]).problems.join();
  const asked = { from: 'peer', channel: 1, revision: MODERN, text: '{"id":1,"method":"vendor/read"}' };
  assert.equal(extension(MODERN, { result: { resultType: 'complete', own: [] } }, asked), '');
  assert.match(extension(MODERN, { result: { own: [] } }, asked), /resultType/);
  assert.match(extension(MODERN, { method: 'vendor/read', params: {} }), /no peer sent it/);
  assert.equal(extension(MODERN, { method: 'vendor/read', params: {} }, asked), '');
  assert.match(extension(MODERN, { method: 'ping' }, asked), /no such method/);
  const alone = (revision, text, more) => schemas.check([{ from: 'mcpx', channel: 1, revision, text, ...more }])
    .problems.join();
  const told = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress',
    params: { progressToken: 1, progress: 1, message: 'm' } });
  assert.match(alone('2024-11-05', told), /message/);
  assert.equal(alone('2025-03-26', told), '');
  assert.match(alone('2025-06-18', `[${told}]`), /batches/);
  assert.equal(alone('2025-03-26', `[${told}]`), '');
  const refused = '{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}';
  assert.equal(alone('2024-11-05', refused, { status: 400 }), '', 'a refusal over HTTP has no id');
  assert.match(alone('2024-11-05', refused), /id/);
});

test('harness: the wiretap hears both ends of a connection, and makes frames of them', async (t) => {
  const since = moment();
  const server = await ScriptedHttpServer.start(t, { version: '2025-06-18' });
  const wire = tap(server.port);
  const session = await Session.open(server.url, { endpoint: '/mcp', revision: '2025-06-18' });
  server.once('tools/call', { sse: true }, { deliver: { pieces: 7, every: 0 } }, { deliver: { upTo: 0.5, then: 'close' } });
  for (const n of [1, 2]) await session.call('tools/call', { name: 'echo', arguments: { n } });
  await assert.rejects(session.call('tools/call', { name: 'echo', arguments: {} }));
  const frames = httpFrames(wire.connections, 'server');
  const heard = frames.map(({ from, text }) => [from, JSON.parse(text).method ?? Object.keys(JSON.parse(text))[2]]);
  assert.deepEqual(heard, [['peer', 'initialize'], ['mcpx', 'result'], ['peer', 'notifications/initialized'],
    ['peer', 'tools/call'], ['mcpx', 'result'], ['peer', 'tools/call'], ['mcpx', 'result'], ['peer', 'tools/call']]);
  assert.deepEqual([...new Set(frames.slice(1).map((f) => f.revision))], ['2025-06-18']);
  assert.deepEqual(accepted(since), [], 'these connections were made here, not by mcpx');
});

test('harness: the relay passes on what it gets, and event streams as they come', async (t) => {
  const seen = [];
  const server = http.createServer((incoming, response) => {
    incoming.resume();
    seen.push(incoming.headers.host);
    if (incoming.url === '/sse') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
      response.end('data: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n');
    } else {
      response.writeHead(202).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const wire = tap(port);
  const relay = await Relay.start(`http://127.0.0.1:${port}`);
  t.after(async () => { await relay.stop(); server.close(); });
  const ask = (headers) => request(relay.url, { path: '/sse', method: 'POST',
    headers: { 'mcp-protocol-version': '2025-06-18', ...headers },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  assert.equal((await ask()).messages().length, 2);
  const frames = httpFrames(wire.connections, 'server');
  assert.deepEqual(frames.map((f) => [f.from, f.revision]),
    [['peer', '2025-06-18'], ['mcpx', '2025-06-18'], ['mcpx', '2025-06-18']]);
  assert.deepEqual(JSON.parse(frames[2].text), { jsonrpc: '2.0', id: 1, result: {} });
  assert.equal((await ask({ host: 'evil.example' })).status, 200);
  assert.deepEqual(seen, [`127.0.0.1:${port}`, 'evil.example']);
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
