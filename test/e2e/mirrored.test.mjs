// Modern servers over HTTP: arguments mirrored into header fields, tools that ask for it wrongly, and
// lists that are read again when they should be.
import assert from 'node:assert/strict';
import test from 'node:test';

import { openCaller } from './lib/callers.mjs';
import { Daemon } from './lib/daemon.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { modern, MODERN, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const annotated = (name, annotation, type = 'string') => ({ name, inputSchema: { type: 'object',
  properties: { region: { type, 'x-mcp-header': annotation }, n: { type: 'integer', 'x-mcp-header': 'N' } } } });
const SQL = annotated('sql', 'Region');
const listed = async (daemon, endpoint = '/mcp') =>
  (await modern(daemon.url, 'tools/list', {}, { endpoint })).message.result.tools.map((tool) => tool.name);

test('callers of either era: the upstream gets its arguments mirrored'
  + ' [req:streamable-http-x-mcp-header-client-must-mirror]', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [SQL] });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  const args = { region: 'Zürich', n: 42, other: 'x' };
  const params = { name: 'web__sql', arguments: args };
  const refused = await modern(daemon.url, 'tools/call', params);
  assert.equal(refused.message.error?.code, -32020, refused.text);
  const answer = await modern(daemon.url, 'tools/call', params,
    { headers: { 'mcp-param-region': '=?base64?WsO8cmljaA==?=', 'mcp-param-n': '42' } });
  assert.equal(answer.message.result?.content[0].text, `sql:${JSON.stringify(args)}`, answer.text);
  const session = await Session.open(daemon.url);
  const legacy = await session.call('tools/call', params);
  assert.equal(legacy.message.result?.content[0].text, `sql:${JSON.stringify(args)}`, legacy.text);

  const calls = upstream.received('tools/call');
  assert.equal(calls.length, 2);
  for (const { headers } of calls) {
    assert.equal(headers['mcp-name'], 'sql');
    assert.equal(headers['mcp-param-region'], '=?base64?WsO8cmljaA==?=');
    assert.equal(headers['mcp-param-n'], '42');
    assert.equal(headers['mcp-param-other'], undefined);
  }
  for (const { headers, message } of upstream.requests) {
    assert.equal(headers['mcp-method'], message.method);
    assert.equal(headers['mcp-protocol-version'], '2026-07-28');
  }
});

test('a client on stdio, which has no header fields, calls a tool that asks for some', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [SQL, { ...SQL, name: 'plain' }] });
  const daemon = await Daemon.start(t, { lists: { page_size: 1 }, servers: { web: { url: upstream.url } } });
  const caller = await openCaller(t, daemon, MODERN, 'stdio');
  const call = (name, args) => caller.request('tools/call', { name: `web__${name}`, arguments: args });
  for (const args of [{ region: 'Zürich', n: 42 }, { region: 'eu' }, {}]) {
    const { message } = await call('sql', args);
    assert.equal(message.result?.content[0].text, `sql:${JSON.stringify(args)}`, JSON.stringify(message));
  }
  assert.deepEqual(upstream.received('tools/call').map(({ headers }) => headers['mcp-param-region']),
    ['=?base64?WsO8cmljaA==?=', 'eu', undefined]);
  // What it asks for by now.
  upstream.tools = [{ ...SQL, inputSchema: { type: 'object', properties: { z: { type: 'string', 'x-mcp-header': 'Zone' } } } }];
  await eventually('a subscription', () => upstream.streams.size === 1);
  await upstream.push({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await eventually('the new schema', async () => {
    const { message } = await call('sql', { region: 'eu', z: 'a' });
    return message.result && upstream.received('tools/call').at(-1).headers['mcp-param-zone'] === 'a';
  });
});

test('what a tool asks for is checked from the first call on, before the list is there', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [SQL] });
  let listed;
  upstream.once('tools/list', async (exchange) => {
    await new Promise((resolve) => { listed = resolve; });
    await exchange.byRule();
  });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } }, { waitReady: false });
  await eventually('its list is asked for', () => listed);
  const early = modern(daemon.url, 'tools/call', { name: 'web__sql', arguments: { region: 'eu' } });
  await eventually('the call is there', async () => (await daemon.status()).connections >= 2);
  listed();
  assert.equal((await early).message.error?.code, -32020);
  assert.equal(upstream.received('tools/call').length, 0);
});

test('what is checked is what the tool asks for by now, on both kinds of endpoint'
  + ' [req:streamable-http-server-validates-param-headers]', async (t) => {
  const plain = { name: 'sql', inputSchema: { type: 'object' } };
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [plain] });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  await eventually('a subscription', () => upstream.streams.size === 1);
  const call = (endpoint, headers) => modern(daemon.url, 'tools/call',
    { name: endpoint === '/mcp' ? 'web__sql' : 'sql', arguments: { region: 'eu' } }, { endpoint, headers });
  for (const endpoint of ['/mcp', '/mcp/web']) assert.ok((await call(endpoint)).message.result);
  upstream.tools = [SQL];
  await upstream.push({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  for (const endpoint of ['/mcp', '/mcp/web']) {
    await eventually('the new schema', async () => (await call(endpoint)).message.error?.code === -32020);
    const wrong = await call(endpoint, { 'mcp-param-region': 'us' });
    assert.equal(wrong.status, 400);
    assert.equal(wrong.message.error.code, -32020);
    assert.ok((await call(endpoint, { 'mcp-param-region': 'eu' })).message.result);
  }
});

test('a tool whose annotations are invalid is left out and reported, its neighbours are not'
  + ' [req:tools-x-mcp-header-reject-excludes][req:tools-x-mcp-header-reject-log]'
  + '[req:tools-x-mcp-header-not-empty][req:tools-x-mcp-header-tchar][req:tools-x-mcp-header-unique-ci]'
  + '[req:tools-x-mcp-header-primitive-only][req:streamable-http-x-mcp-header-constraints]', async (t) => {
  const bad = [annotated('empty', ''), annotated('space', 'My Region'), annotated('object', 'Data', 'object'),
    annotated('number', 'Score', 'number'), annotated('twice', 'n')];
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [...bad, SQL] });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  assert.deepEqual(await listed(daemon), ['web__sql']);
  assert.deepEqual(await listed(daemon, '/mcp/web'), ['sql']);
  const { remarks } = await daemon.server('web');
  for (const { name } of bad) {
    assert.ok(remarks.some((remark) => remark.includes(`'${name}'`)), `${name}: ${remarks}`);
    assert.match(daemon.log(), new RegExp(`warning.*'${name}' was left out`));
  }
});

test('a schema that changed without a word is learnt from the refusal'
  + ' [req:streamable-http-client-relist-on-header-mismatch]', async (t) => {
  const plain = { name: 'sql', inputSchema: { type: 'object' } };
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [plain] });
  upstream.on('tools/call', (exchange) => {
    if (exchange.request.headers['mcp-param-region'] === 'eu') return exchange.result({ content: [] });
    return exchange.error({ code: -32020, message: 'Header mismatch' }, { status: 400 });
  });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  upstream.tools = [SQL];
  const session = await Session.open(daemon.url);
  const answer = await session.call('tools/call', { name: 'web__sql', arguments: { region: 'eu' } });
  assert.deepEqual(answer.message.result?.content, [], answer.text);
  assert.equal(upstream.received('tools/call').length, 2);
});

test('C41: what a modern server announces over its subscription reaches the lists', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', tools: [SQL] });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  await eventually('a subscription', () => upstream.streams.size === 1);
  upstream.tools = [SQL, { name: 'new', inputSchema: { type: 'object' } }];
  await upstream.push({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await eventually('the new tool', async () => (await listed(daemon)).includes('web__new'));
  // The stream breaks and something changes meanwhile: it is opened again, the list read again.
  upstream.tools = [SQL];
  for (const stream of upstream.streams) stream.reset();
  await eventually('the old list', async () => (await listed(daemon)).length === 1);
  assert.equal(upstream.received('subscriptions/listen').length, 2);
});

test('a list without announcements is read again when it is stale, by whoever asks for it'
  + ' [req:caching-stale-refetch]', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', capabilities: { tools: {} } });
  const list = (tools, ttlMs) => ({ result: { resultType: 'complete', tools, ttlMs, cacheScope: 'private' } });
  upstream.on('tools/list', list([SQL], 0));
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  upstream.on('tools/list', list([SQL, { name: 'new', inputSchema: { type: 'object' } }], 3_600_000));
  await eventually('the new tool', async () => (await listed(daemon)).includes('web__new'));
  const asked = upstream.received('tools/list').length;
  const { result } = (await modern(daemon.url, 'tools/list')).message;
  assert.equal(result.cacheScope, 'private');
  assert.ok(result.ttlMs > 3_000_000 && result.ttlMs <= 3_600_000, 'what is left of it');
  await listed(daemon, '/mcp/web');
  assert.equal(upstream.received('tools/list').length, asked, 'fresh for an hour');
  assert.equal(upstream.received('subscriptions/listen').length, 0);
});

test('a server that dawdles over a stale list does not hold up the others', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { era: 'modern', capabilities: { tools: {} } });
  upstream.on('tools/list', { result: { resultType: 'complete', tools: [SQL], ttlMs: 0, cacheScope: 'public' } });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  upstream.on('tools/list', { deliver: { upTo: 0.5, then: 'stall' } });
  const before = upstream.received('tools/list').length;
  await eventually('a list that hangs', async () => {
    assert.deepEqual(await listed(daemon), ['web__sql']);
    return upstream.received('tools/list').length > before;
  });
  assert.deepEqual(await listed(daemon), ['web__sql'], 'and is not waited for again');
});
