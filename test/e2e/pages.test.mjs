// Lists in pages, and lists by client.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, received, scripted, temporary } from './lib/daemon.mjs';
import { req } from './lib/req.mjs';
import { modern, Session } from './lib/speak.mjs';

const INFO = 'io.modelcontextprotocol/clientInfo';
const tools = (count, prefix = 't') => Array.from({ length: count }, (_, i) => (
  { name: `${prefix}${i}`, description: 'A tool', inputSchema: { type: 'object' } }));
const lists = { tools: tools(5), prompts: [{ name: 'p0' }, { name: 'p1' }, { name: 'p2' }],
  resources: [{ uri: 'x:0', name: 'r0' }, { uri: 'x:1', name: 'r1' }, { uri: 'x:2', name: 'r2' }],
  templates: [{ uriTemplate: 'x:{a}', name: 'a' }, { uriTemplate: 'y:{b}', name: 'b' }, { uriTemplate: 'z:{c}', name: 'c' }] };
const LISTS = [['tools/list', 'tools'], ['prompts/list', 'prompts'], ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates']];

async function page(daemon, method, params = {}, { endpoint, client = 'e2e' } = {}) {
  const answer = await modern(daemon.url, method, params,
    { endpoint, meta: { [INFO]: { name: client, version: '1' } } });
  assert.ok(answer.message?.result, answer.text);
  return answer.message.result;
}
async function pages(daemon, method, member, options) {
  const found = [];
  for (let cursor; ;) {
    const result = await page(daemon, method, cursor === undefined ? {} : { cursor }, options);
    assert.ok(result[member].length <= 2);
    found.push(...result[member]);
    assert.equal(result.ttlMs, 0);
    if (result.nextCursor === undefined) return found;
    cursor = result.nextCursor;
  }
}

test(req('a list is sent in pages of the size that is set, to clients of both eras',
  'pagination-invalid-cursor-32602'), async (t) => {
  const dir = temporary(t);
  const servers = { a: scripted(dir, 'a', lists), b: scripted(dir, 'b', lists) };
  const daemon = await Daemon.start(t, { lists: { page_size: 2 }, servers }, { dir });
  for (const endpoint of ['/mcp', '/mcp/b']) {
    const session = await Session.open(daemon.url, { endpoint });
    for (const [method, member] of LISTS) {
      const whole = await page(daemon, method, {}, { endpoint, client: 'codex-mcp-client' });
      assert.equal(whole.nextCursor, undefined, 'a client that reads one page gets all in one');
      assert.deepEqual(await pages(daemon, method, member, { endpoint }), whole[member]);
      assert.deepEqual(await session.list(method, member), whole[member]);
      const bad = await session.call(method, { cursor: 'bm90IG91cnM=' });
      assert.equal(bad.message.error.code, -32602);
      assert.equal(bad.message.error.data.code, 'list.cursor');
      for (const cursor of [7, {}, ['a'], true]) {
        const odd = await session.call(method, { cursor });
        assert.equal(odd.message.error?.data.code, 'list.cursor', odd.text);
      }
      for (const none of ['', null]) {
        assert.deepEqual((await session.call(method, { cursor: none })).message.result[member], whole[member].slice(0, 2));
      }
    }
  }
  const { nextCursor } = await page(daemon, 'tools/list');
  const other = await modern(daemon.url, 'prompts/list', { cursor: nextCursor });
  assert.equal(other.message.error.code, -32602);
});

test('a cursor is good after a restart, of the daemon and of what it lists', async (t) => {
  const dir = temporary(t);
  const config = { lists: { page_size: 3 }, servers: { a: scripted(dir, 'a', lists),
    b: scripted(dir, 'b', lists), c: scripted(dir, 'c', lists) } };
  const first = await Daemon.start(t, config, { dir });
  const before = await page(first, 'tools/list');
  assert.deepEqual(before.tools.map((tool) => tool.name), ['a__t0', 'a__t1', 'a__t2']);
  await first.stop();
  config.servers.a = scripted(dir, 'a', { ...lists, tools: tools(4).toSpliced(2, 1) });
  const second = await Daemon.start(t, config, { dir });
  const after = await page(second, 'tools/list', { cursor: before.nextCursor });
  assert.deepEqual(after.tools.map((tool) => tool.name), ['a__t3', 'b__t0', 'b__t1']);
});

test('a client is shown names that it can take, and calls by them', async (t) => {
  const dir = temporary(t);
  const long = 'a_name_of_a_tool_that_is_long_but_not_too_long_yet';
  const daemon = await Daemon.start(t, {
    clients: { 'my-agent*': { names: { max: 20, charset: 'word' } } },
    servers: { 'my-tools': scripted(dir, 'my-tools', { tools: [{ name: long, inputSchema: {} },
      { name: `${long}2`, inputSchema: {} }] }) } }, { dir });
  const shown = async (client) => (await page(daemon, 'tools/list', {}, { client })).tools.map((tool) => tool.name);
  const plain = await shown('somebody');
  assert.equal(plain[0], `my-tools__${long}`);
  for (const [client, limit] of [['cursor-vscode', 51], ['claude-code', 49], ['my-agent 2', 20]]) {
    const names = await shown(client);
    assert.equal(new Set(names).size, 2);
    for (const [i, name] of names.entries()) {
      assert.ok(name.length <= limit, `${client}: ${name}`);
      if (client.startsWith('my-agent')) assert.match(name, /^[A-Za-z][A-Za-z0-9_]*$/);
      const called = await modern(daemon.url, 'tools/call', { name, arguments: { i } });
      assert.ok(called.message.result, called.text);
      assert.equal(received(dir, 'my-tools', 'tools/call').at(-1).params.name, i ? `${long}2` : long);
    }
  }
  assert.deepEqual(await shown('somebody'), plain);
});

test('C72: a tool that a filter hides is not listed, not callable, not completable', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { ...lists,
    capabilities: { tools: {}, prompts: {}, completions: {} } }, { tools: { deny: ['t1'] } }) } }, { dir });
  for (const [endpoint, name] of [['/mcp', 's__t1'], ['/mcp/s', 't1']]) {
    const session = await Session.open(daemon.url, { endpoint });
    const names = (await session.tools()).map((tool) => tool.name);
    assert.equal(names.length, 4);
    assert.ok(!names.includes(name));
    for (const call of [session.call('tools/call', { name, arguments: {} }),
      modern(daemon.url, 'tools/call', { name, arguments: {} }, { endpoint })]) {
      const { error } = (await call).message;
      assert.equal(error.code, -32602);
      assert.equal(error.data.code, 'tool.unknown');
      assert.ok(!error.data.remedy.includes("'" + name), error.data.remedy);
    }
    for (const type of ['ref/tool', 'ref/prompt']) {
      const answer = await session.call('completion/complete',
        { ref: { type, name }, argument: { name: 'a', value: 'x' } });
      if (type === 'ref/tool') assert.equal(answer.message.error.code, -32602);
    }
  }
  assert.equal(received(dir, 's', 'tools/call').length, 0);
  assert.ok(received(dir, 's', 'completion/complete').every((m) => m.params.ref.type === 'ref/prompt'));
});
