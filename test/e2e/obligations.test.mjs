// What any server owes by the specification, whatever it offers: mcpx seen as one, in every revision.
// The tags name the requirements (docs/conformance-matrix.md).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import { createInterface } from 'node:readline';
import test from 'node:test';

import { binary } from './lib/paths.mjs';
import { Daemon, daemonEnvironment, received, scripted, temporary, tiny } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { req } from './lib/req.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { LEGACY, modern, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const PING = { name: 'ping', inputSchema: { type: 'object' } };
const OFFERS = { tools: [PING], prompts: [{ name: 'hi' }], resources: [{ uri: 'test://a', name: 'a' }],
  capabilities: { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} } };
const ALL = Object.keys(OFFERS.capabilities);
const LISTS = [['tools/list', 'tools'], ['prompts/list', 'prompts'], ['resources/list', 'resources']];

test(req('what is offered is declared, in every revision, and what is declared is answered',
  'tools-declare-capability', 'prompts-declare-capability', 'prompts-declare-capability-discover',
  'resources-declare-capability', 'completion-declare-capability', 'logging-declare-capability',
  'tools-list-must-respond-when-declared', 'prompts-list-must-respond-when-declared',
  'resources-list-must-respond-when-declared'), async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { all: scripted(dir, 'all', OFFERS),
    bare: scripted(dir, 'bare', { tools: [PING] }) } }, { dir });
  for (const endpoint of ['/mcp', '/mcp/all']) {
    for (const revision of LEGACY) {
      const session = await Session.open(daemon.url, { revision, endpoint });
      // The completions capability came with 2025-03-26.
      const owed = revision === '2024-11-05' ? ALL.filter((name) => name !== 'completions') : ALL;
      assert.deepEqual(Object.keys(session.initialized.capabilities).sort(), owed.sort(), revision);
      for (const [method, member] of LISTS) {
        assert.equal((await session.call(method)).message.result[member].length > 0, true, method);
      }
    }
    const found = (await modern(daemon.url, 'server/discover', {}, { endpoint })).message.result;
    assert.deepEqual(Object.keys(found.capabilities).sort(), [...ALL].sort());
    for (const [method, member] of LISTS) {
      assert.equal((await modern(daemon.url, method, {}, { endpoint })).message.result[member].length > 0, true);
    }
  }
  const bare = (await modern(daemon.url, 'server/discover', {}, { endpoint: '/mcp/bare' })).message.result;
  assert.deepEqual(Object.keys(bare.capabilities), ['tools']);
  const refused = await modern(daemon.url, 'prompts/list', {}, { endpoint: '/mcp/bare' });
  assert.equal(refused.message.error.code, -32601, 'what is not declared is not there');
});

test(req('a list is the same on every connection, whatever was asked before',
  'tools-list-not-per-connection', 'prompts-list-not-per-connection', 'resources-list-not-per-connection'),
async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { all: scripted(dir, 'all', OFFERS) } }, { dir });
  const lists = async (agent) => Promise.all(LISTS.map(async ([method, member]) => {
    const answer = await request(daemon.url, { path: '/mcp', method: 'POST', agent,
      headers: modernHeaders(method), body: JSON.stringify({ jsonrpc: '2.0', id: 1, method,
        params: { _meta: modernMeta() } }) });
    return JSON.parse(answer.text).result[member];
  }));
  const before = await lists();
  await modern(daemon.url, 'tools/call', { name: 'all__ping', arguments: {} });
  await modern(daemon.url, 'resources/read', { uri: 'mcpx://all/test://a' });
  const session = await Session.open(daemon.url);
  await session.call('logging/setLevel', { level: 'debug' });
  assert.deepEqual(await lists(), before);
});

test(req('a request gets one response with its id, a notification none, and none has both result and error',
  'messages-all-messages-follow-jsonrpc-2', 'messages-response-result-xor-error',
  'messages-result-response-has-result', 'messages-notification-no-response',
  'streamable-http-server-single-endpoint-post-get', 'streamable-http-server-single-endpoint-post'),
async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { all: scripted(dir, 'all', OFFERS) } }, { dir });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/all' });
  const asks = [['tools/list', {}], ['tools/call', { name: 'ping', arguments: {} }], ['ping', {}],
    ['tools/call', {}], ['resources/read', { uri: 'test://none' }], ['no/such', {}], ['prompts/get', { name: 'hi' }]];
  for (const [method, params] of asks) {
    for (const id of ['text', 7, 'é"\\']) {
      const old = await session.call(method, params, { id });
      const fresh = await modern(daemon.url, method, params, { endpoint: '/mcp/all', id });
      for (const answer of [old, fresh]) {
        const messages = answer.messages().map((text) => JSON.parse(text));
        assert.equal(messages.length, 1, answer.text);
        assert.equal(messages[0].jsonrpc, '2.0');
        assert.deepEqual(messages[0].id, id);
        assert.equal('result' in messages[0], !('error' in messages[0]));
      }
    }
  }
  for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/no/such']) {
    const noted = await session.notify(method);
    assert.deepEqual([noted.status, noted.text], [202, '']);
  }
  const stream = await session.stream();
  assert.equal(stream.headers['content-type'], 'text/event-stream');
});

test(req('ids of requests to a server are never used twice',
  'messages-request-id-unique-per-session', 'messages-request-id-unique-among-in-flight'), async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { threads: 2, servers: { one: scripted(dir, 'one', { tools: [PING] }) } },
    { dir });
  const call = { name: 'ping', arguments: {} };
  const session = await Session.open(daemon.url, { endpoint: '/mcp/one' });
  await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 === 0
    ? modern(daemon.url, 'tools/call', call, { endpoint: '/mcp/one', id: 1 })
    : session.call('tools/call', call))));
  const ids = received(dir, 'one').filter((m) => m.id !== undefined).map((m) => m.id);
  assert.ok(ids.length > 60);
  assert.equal(new Set(ids).size, ids.length);
});

test(req('log messages come to a modern caller who asked for them, with the call alone',
  'logging-no-message-without-loglevel', 'logging-request-scoped-only', 'progress-only-active-tokens',
  'progress-http-notifications-relate-to-request', 'streamable-http-sse-notifications-must-relate'),
async (t) => {
  const dir = temporary(t);
  const log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}';
  const stray = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"stray","progress":1}}';
  const daemon = await Daemon.start(t, { servers: { all: scripted(dir, 'all', { ...OFFERS,
    noise: { 'tools/call': [log, stray] } }) } }, { dir });
  const stream = await openStream(daemon.url, { path: '/mcp', method: 'POST',
    headers: modernHeaders('subscriptions/listen'), body: JSON.stringify({ jsonrpc: '2.0', id: 1,
      method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true }, _meta: modernMeta() } }) });
  await eventually('acknowledged', () => stream.messages.length === 1);
  const call = { name: 'all__ping', arguments: {} };
  const methods = (answer) => answer.messages().map((text) => JSON.parse(text).method).filter(Boolean);
  assert.deepEqual(methods(await modern(daemon.url, 'tools/call', call)), []);
  const asked = await modern(daemon.url, 'tools/call', call,
    { meta: { 'io.modelcontextprotocol/logLevel': 'info', progressToken: 'mine' } });
  assert.deepEqual(methods(asked), ['notifications/message'], 'the stray progress is of no call');
  const above = await modern(daemon.url, 'tools/call', call,
    { meta: { 'io.modelcontextprotocol/logLevel': 'alert' } });
  assert.deepEqual(methods(above), []);
  assert.equal(stream.messages.length, 1, 'nothing of it on a subscription');
});

test(req('nothing is fetched because a schema refers to it', 'json-schema-no-network-ref'), async (t) => {
  const hits = [];
  const listener = http.createServer((incoming, outgoing) => { hits.push(incoming.url); outgoing.end('{}'); });
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  t.after(() => listener.close());
  const ref = `http://127.0.0.1:${listener.address().port}/schema.json`;
  const dir = temporary(t);
  const tool = { name: 'far', inputSchema: { type: 'object', properties: { a: { $ref: ref } } },
    outputSchema: { type: 'object', properties: { b: { $ref: ref } } } };
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { tools: [tool] }) } }, { dir });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/s' });
  assert.deepEqual((await session.tools())[0], tool);
  await session.call('tools/call', { name: 'far', arguments: { a: 1 } });
  await modern(daemon.url, 'tools/call', { name: 'far', arguments: { a: 1 } }, { endpoint: '/mcp/s' });
  assert.deepEqual(hits, []);
});

test(req('what a modern server refuses for want of a capability is a 400 with its own words',
  'streamable-http-missing-capability-400', 'meta-server-no-undeclared-client-capabilities'), async (t) => {
  const dir = temporary(t);
  const data = { requiredCapabilities: { sampling: {} } };
  const error = JSON.stringify({ code: -32021, message: 'Missing required client capability', data });
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { era: 'modern', tools: [PING],
    errors: { ping: error } }) } }, { dir });
  for (const [endpoint, name] of [['/mcp', 's__ping'], ['/mcp/s', 'ping']]) {
    const answer = await modern(daemon.url, 'tools/call', { name, arguments: {} }, { endpoint });
    assert.equal(answer.status, 400);
    assert.equal(answer.message.error.code, -32021);
    assert.deepEqual(answer.message.error.data, data);
  }
});

test('a server that makes a task of a call whose client takes none has answered wrongly', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [PING] });
  upstream.on('tools/call', { result: '{"resultType":"task","taskId":"1","status":"working","ttlMs":1000}' });
  const daemon = await Daemon.start(t, { servers: { s: { url: upstream.url } } });
  const { message } = await modern(daemon.url, 'tools/call', { name: 's__ping', arguments: {} });
  assert.equal(message.error?.data.code, 'upstream.bad_frame', JSON.stringify(message));
  const called = await daemon.rest('/v1/tools/s__ping/call', { method: 'POST',
    headers: { 'content-type': 'application/json' }, body: '{"arguments":{}}' });
  assert.equal(called.json().error?.code, 'upstream.bad_frame', called.text);
});

// `mcpx connect`, line by line.
function connect(t, daemon) {
  const child = spawn(binary('mcpx'), ['connect', '--url', daemon.url],
    { env: daemonEnvironment(daemon.dir), stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const lines = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { lines, ended: new Promise((resolve) => { child.on('close', resolve); }),
    write: (line) => child.stdin.write(`${line}\n`),
    say: (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'),
    close: () => child.stdin.end() };
}

for (const revision of LEGACY) {
  test(`batches and lines that are none over stdio, ${revision}`, async (t) => {
    const daemon = await Daemon.start(t, { servers: { s: tiny() } });
    const client = connect(t, daemon);
    client.say({ id: 'i', method: 'initialize', params: { protocolVersion: revision, capabilities: {},
      clientInfo: { name: 'e2e', version: '1' } } });
    await eventually('it is open', () => client.lines.length === 1);
    client.say({ method: 'notifications/initialized' });
    const ping = (id) => ({ jsonrpc: '2.0', id, method: 'ping' });
    client.write(JSON.stringify([ping(1), { jsonrpc: '2.0', method: 'notifications/x' }, ping('b')]));
    client.write('garbage');
    client.say({ id: 'last', method: 'tools/list' });
    await eventually('the last one', () => client.lines.some((line) => JSON.parse(line).id === 'last'));
    client.close();
    await client.ended;
    const said = client.lines.slice(1).map((line) => JSON.parse(line));
    const batch = said.filter(Array.isArray);
    if (revision === '2025-03-26') {
      assert.equal(batch.length, 1);
      // In any order (JSON-RPC 2.0, section 6).
      const sorted = batch[0].toSorted((x, y) => String(x.id).localeCompare(String(y.id)));
      assert.deepEqual(sorted, [1, 'b'].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
    } else {
      assert.deepEqual(batch, []);
      for (const id of [1, 'b']) assert.equal(said.find((m) => m.id === id).error.code, -32600);
    }
    const nameless = said.filter((m) => !Array.isArray(m) && m.id === undefined);
    assert.equal(nameless.length, revision === '2025-11-25' ? 1 : 0, 'its schema has no errors without an id before');
  });
}

test(req('over stdio each message is one line, whatever the other side\'s looked like, and nothing else is said',
  'stdio-no-embedded-newlines', 'stdio-server-stdout-only-mcp', 'stdio-server-silent-after-cancel',
  'transport-custom-preserve-patterns-and-metadata'), async (t) => {
  const dir = temporary(t);
  const spread = '{\n  "resultType": "complete",\n  "content": [\n  ]\n}';
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [PING, { ...PING, name: 'slow' }] });
  upstream.on('tools/call', { result: spread });
  upstream.once('tools/call', () => {});  // never answered
  const daemon = await Daemon.start(t, { servers: { s: { url: upstream.url },
    io: scripted(dir, 'io', { tools: [PING] }) } }, { dir });
  const client = connect(t, daemon);
  const ask = (id, name) => client.say({ id, method: 'tools/call',
    params: { name, arguments: {}, _meta: modernMeta() } });
  ask('a', 's__slow');
  await eventually('it is under way', () => upstream.received('tools/call').length === 1);
  client.say({ method: 'notifications/cancelled', params: { requestId: 'a', reason: 'enough' } });
  ask('b', 's__ping');
  await eventually('the other one is answered', () => client.lines.some((line) => JSON.parse(line).id === 'b'));
  client.close();
  await client.ended;
  for (const line of client.lines) assert.equal(JSON.parse(line).jsonrpc, '2.0', line);
  assert.deepEqual(client.lines.map((line) => JSON.parse(line).id), ['b'], 'nothing of what was cancelled');

  // And to a server: what an HTTP client spread over lines arrives as one.
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
    params: { name: 'ping', arguments: { deep: [1, { a: 2 }] } } }, null, 2);
  const session = await Session.open(daemon.url, { endpoint: '/mcp/io' });
  const answer = await session.call(null, null, { text });
  assert.equal(answer.message.result.content[0].text, 'ping:{"deep":[1,{"a":2}]}');
});

test(req('errors have the codes that the specification has for them, and a tool\'s own stay results',
  'tools-result-iserror-for-tool-errors', 'tools-result-lookup-errors-protocol', 'prompts-errors-32602-32603',
  'resources-no-empty-contents-for-missing', 'resources-sec-validate-uris', 'logging-errors-setlevel',
  'logging-invalid-loglevel-reject-request', 'errors-method-not-found-for-unadvertised-capability',
  'lifecycle-initialization-first-interaction'), async (t) => {
  const dir = temporary(t);
  const failed = '{"content":[{"type":"text","text":"no"}],"isError":true}';
  const daemon = await Daemon.start(t, { servers: { all: scripted(dir, 'all', { ...OFFERS,
    results: { ping: failed } }) } }, { dir });
  const early = await request(daemon.url, { path: '/mcp', method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' });
  assert.equal(early.status, 400, 'nothing before initialize');
  const session = await Session.open(daemon.url);
  for (const call of [(method, params) => session.call(method, params),
    (method, params) => modern(daemon.url, method, params)]) {
    const own = await call('tools/call', { name: 'all__ping', arguments: {} });
    assert.equal(own.message.result.isError, true);
    for (const [method, params] of [['tools/call', { name: 'all__none', arguments: {} }],
      ['prompts/get', { name: 'all__none' }], ['prompts/get', {}], ['tools/call', {}]]) {
      assert.equal((await call(method, params)).message.error.code, -32602, method);
    }
    for (const uri of ['mcpx://nobody/test://a', 'not a uri', '', 'test://a']) {
      const answer = await call('resources/read', { uri });
      assert.ok([-32002, -32602].includes(answer.message.error?.code), `${uri}: ${answer.text}`);
    }
  }
  assert.equal((await session.call('logging/setLevel', { level: 'loud' })).message.error.code, -32602);
  const loud = await modern(daemon.url, 'tools/list', {}, { meta: { 'io.modelcontextprotocol/logLevel': 'loud' } });
  assert.equal(loud.message.error.code, -32602, loud.text);
});

test(req('names are exact, unique and in a fixed order', 'tools-name-case-sensitive', 'tools-name-unique-in-server',
  'tools-list-deterministic-order', 'tools-list-may-be-empty-change'), async (t) => {
  const dir = temporary(t);
  const named = (...names) => names.map((name) => ({ ...PING, name }));
  const daemon = await Daemon.start(t, { servers: { b: scripted(dir, 'b', { tools: named('z', 'Z', 'a') }),
    a: scripted(dir, 'a', { tools: named('z', 'm', 'z') }), none: scripted(dir, 'none', { tools: [] }) } }, { dir });
  const list = async (endpoint) =>
    (await modern(daemon.url, 'tools/list', {}, { endpoint })).message.result.tools.map((tool) => tool.name);
  const names = await list('/mcp');
  assert.deepEqual(names, ['b__z', 'b__Z', 'b__a', 'a__z', 'a__m']);
  for (let i = 0; i < 5; i++) assert.deepEqual(await list('/mcp'), names);
  assert.deepEqual(await list('/mcp/none'), []);
  for (const name of ['b__z', 'b__Z']) {
    const answer = await modern(daemon.url, 'tools/call', { name, arguments: {} });
    assert.equal(answer.message.result.content[0].text, `${name.slice(3)}:{}`);
  }
});

test(req('a request stands for itself: nothing is kept of an earlier one, whatever connection it came on',
  'meta-server-no-infer-caps-from-prior', 'lifecycle-stateless-no-connection-reuse-required',
  'lifecycle-stateless-multiple-conversations', 'versioning-dual-era-both-concurrently',
  'versioning-dual-era-server-selects-by-opening'), async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { era: 'modern', tools: [PING] }) } }, { dir });
  const key = 'io.modelcontextprotocol/clientCapabilities';
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const params = { name: 's__ping', arguments: {} };
  const session = await Session.open(daemon.url, { capabilities: { roots: {} } });
  for (const capabilities of [{ sampling: {} }, {}, { elicitation: { url: {} } }, {}]) {
    const answer = await request(daemon.url, { path: '/mcp', method: 'POST', agent,
      headers: modernHeaders('tools/call', params), body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: { ...params, _meta: modernMeta({ [key]: capabilities }) } }) });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['mcp-session-id'], undefined);
    assert.deepEqual(received(dir, 's', 'tools/call').at(-1).params._meta[key], capabilities);
    await session.call('tools/call', params);
    assert.deepEqual(received(dir, 's', 'tools/call').at(-1).params._meta[key], { roots: {} });
  }
});

test(req('what a client gives up is given up at the server, and gets no answer',
  'cancellation-server-should-stop-free-no-response', 'cancellation-processing-should-cease',
  'streamable-http-stop-cancelled-work', 'streamable-http-silent-after-cancel', 'cancellation-receiver-may-ignore',
  'streamable-http-x-accel-buffering'), async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { tools: [PING],
    silent: ['tools/call'] }) } }, { dir });
  const cancelled = () => received(dir, 's', 'notifications/cancelled').map((m) => m.params.requestId);
  const asked = () => received(dir, 's', 'tools/call').map((m) => m.id);
  const params = { name: 's__ping', arguments: {} };
  // Modern: the connection goes. Legacy: a notification says so, of a request on another connection.
  const outgoing = http.request(new URL('/mcp', daemon.url), { method: 'POST', agent: false,
    headers: modernHeaders('tools/call', params) });
  outgoing.on('error', () => {});
  outgoing.end(JSON.stringify({ jsonrpc: '2.0', id: 'm', method: 'tools/call', params: { ...params, _meta: modernMeta() } }));
  await eventually('it is under way', () => asked().length === 1);
  outgoing.destroy();
  await eventually('it is given up', () => cancelled().length === 1);
  const session = await Session.open(daemon.url);
  const pending = session.call('tools/call', params, { id: 'old' });
  await eventually('it is under way', () => asked().length === 2);
  const cancel = (requestId) => session.post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled',
    params: { requestId, reason: 'enough' } }));
  for (const id of ['nobody', 7, 'old', 'old']) assert.equal((await cancel(id)).status, 202);
  const answer = await pending;
  assert.equal(answer.message, undefined, answer.text);
  await eventually('it is given up', () => cancelled().length === 2);
  assert.deepEqual(cancelled(), asked());
  const stream = await session.stream();
  assert.equal(stream.headers['x-accel-buffering'], 'no');
});
