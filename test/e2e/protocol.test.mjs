// Case C58 and the HTTP face of both eras: what is refused, with which status and code.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, scripted, temporary, tiny } from './lib/daemon.mjs';
import { req } from './lib/req.mjs';
import { LEGACY, modern, MODERN, modernMeta, Session } from './lib/speak.mjs';

const CALL = { name: 's__ping', arguments: {} };
const body = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });

test(req('C58: a modern request without its envelope is refused with the right code',
  'meta-server-rejects-missing-required-field', 'errors-header-mismatch-http-400',
  'streamable-http-protocol-version-header-matches-meta', 'streamable-http-unsupported-version-400',
  'streamable-http-server-rejects-header-body-mismatch', 'streamable-http-header-mismatch-400-jsonrpc',
  'streamable-http-header-names-case-insensitive'),
  async (t) => {
    const daemon = await Daemon.start(t, { servers: { s: tiny() } });
    const rows = [
      ['no _meta', { text: body(1, 'tools/call', CALL) }, -32602],
      ['_meta without a version', { text: body(1, 'tools/call', { ...CALL,
        _meta: { ...modernMeta(), 'io.modelcontextprotocol/protocolVersion': undefined } }) }, -32602],
      ['_meta without capabilities', { text: body(1, 'tools/call', { ...CALL,
        _meta: { ...modernMeta(), 'io.modelcontextprotocol/clientCapabilities': undefined } }) }, -32602],
      ['another version in _meta', { meta: { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' } }, -32020],
      ['no Mcp-Name', { headers: { 'mcp-name': null } }, -32020],
      ['another Mcp-Name', { headers: { 'mcp-name': 's__other' } }, -32020],
      ['no Mcp-Method', { headers: { 'mcp-method': null } }, -32020],
      ['another Mcp-Method', { headers: { 'mcp-method': 'tools/list' } }, -32020],
      ['a method in another case', { headers: { 'mcp-method': 'Tools/Call' } }, -32020],
      ['an unknown version', { headers: { 'mcp-protocol-version': '2031-01-01' },
        meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' } }, -32022],
    ];
    for (const [what, options, code] of rows) {
      const answer = await modern(daemon.url, 'tools/call', CALL, options);
      assert.equal(answer.status, 400, `${what}: ${answer.text}`);
      assert.equal(answer.message?.error?.code, code, `${what}: ${answer.text}`);
      assert.equal(answer.message.id, 1, what);
      assert.ok(answer.message.error.message.length > 5, what);
      if (code === -32022) {
        assert.ok(answer.message.error.data.supported.includes(MODERN));
        assert.equal(answer.message.error.data.requested, '2031-01-01');
      }
    }
    const good = await modern(daemon.url, 'tools/call', CALL, {
      headers: { 'mcp-name': null, 'MCP-NAME': ' s__ping ' } });
    assert.equal(good.message.result?.content[0].text, 'pong', good.text);
  });

test(req('modern: legacy and unknown methods answer 404 and -32601', 'streamable-http-unknown-method-404'), async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'unknown/method']) {
    const answer = await modern(daemon.url, method, {}, { id: 'x-1' });
    assert.equal(answer.status, 404, `${method}: ${answer.text}`);
    assert.equal(answer.message.error.code, -32601);
    assert.equal(answer.message.id, 'x-1');
  }
});

test('modern: discover and results carry what the revision asks for', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  const found = (await modern(daemon.url, 'server/discover')).message.result;
  assert.ok(found.supportedVersions.includes(MODERN));
  assert.ok(found.capabilities.tools);
  const listed = await modern(daemon.url, 'tools/list');
  const list = listed.message.result;
  assert.ok(list, listed.text);
  assert.equal(list.resultType, 'complete');
  assert.ok(Number.isInteger(list.ttlMs) && list.ttlMs >= 0);
  assert.ok(['private', 'public'].includes(list.cacheScope), list.cacheScope);
  const call = (await modern(daemon.url, 'tools/call', CALL)).message.result;
  assert.equal(call.resultType, 'complete');
  assert.equal(call._meta['io.modelcontextprotocol/serverInfo'].name.length > 0, true);
});

for (const revision of LEGACY) {
  test(req(`legacy ${revision}: a session from initialize to DELETE`,
    'streamable-http-session-id-visible-ascii'), async (t) => {
    const dir = temporary(t);
    const daemon = await Daemon.start(t, { servers: { s: tiny(), p: scripted(dir, 'p',
      { prompts: [{ name: 'hi' }], resources: [{ uri: 'x://1', name: 'one' }],
        templates: [{ uriTemplate: 'x://{id}', name: 't' }] }) } }, { dir });
    const session = await Session.open(daemon.url, { revision });
    assert.equal(session.initialized.protocolVersion, revision);
    assert.match(session.id, /^[\x21-\x7e]+$/);
    const list = await session.call('tools/list', {});
    assert.deepEqual(list.message.result.tools.map((x) => x.name), ['s__ping']);
    for (const word of ['resultType', 'ttlMs', 'cacheScope']) {
      assert.ok(!(word in list.message.result), `${word} in ${revision}`);
    }
    assert.equal((await session.call('tools/call', CALL)).message.result.content[0].text, 'pong');
    assert.deepEqual((await session.call('ping')).message.result, {});
    const all = await session.call('resources/list', {});
    const { resources } = all.message.result;
    assert.equal(resources.length, 1, all.text);
    const read = await session.call('resources/read', { uri: resources[0].uri });
    assert.equal(read.message.result.contents[0].uri, resources[0].uri);
    assert.equal((await session.call('prompts/get', { name: 'p__hi' })).message.result.messages.length, 1);
    const unknown = await session.call('unknown/method');
    assert.equal(unknown.message.error.code, -32601);
    assert.equal(unknown.status, 200);
    assert.ok((await session.close()).status < 300);
    assert.equal((await session.call('ping')).status, 404);
  });
}

test(req('legacy: unknown and missing sessions, and versions nobody knows',
  'streamable-http-server-400-missing-session', 'streamable-http-server-404-terminated-session',
  'streamable-http-server-400-unsupported-version-header'), async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  const session = await Session.open(daemon.url);
  const ping = (headers) => session.call('ping', undefined, { headers });
  assert.equal((await ping({ 'mcp-session-id': 'no-such-session' })).status, 404);
  assert.equal((await ping({ 'mcp-session-id': null })).status, 400);
  assert.equal((await ping({ 'mcp-protocol-version': '1999-01-01' })).status, 400);
  assert.equal((await ping({})).status, 200);
  const strange = await Session.open(daemon.url, { revision: '2099-01-01' });
  assert.equal(strange.initialized.protocolVersion, '2025-11-25', 'offers the latest it has');
});

test('http: what is no JSON-RPC is refused, and the connection serves on', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  const session = await Session.open(daemon.url);
  for (const text of ['{', '[]', '7', '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', '\xff', '']) {
    const answer = await session.post(text);
    assert.equal(answer.status, 400, `${text}: ${answer.status} ${answer.text}`);
  }
  assert.equal((await session.call('ping')).status, 200);
  assert.equal((await daemon.rest('/mcp/nobody', { method: 'POST', body: '{}',
    headers: { 'content-type': 'application/json' } })).status, 404);
});
