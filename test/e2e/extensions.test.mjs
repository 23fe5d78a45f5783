// Extensions of servers: skills (SEP-2640) and MCP Apps on both kinds of endpoint, others on
// /mcp/{server}.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import path from 'node:path';
import test from 'node:test';

import { Daemon, received, scripted, temporary } from './lib/daemon.mjs';
import { root } from './lib/paths.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const SKILLS = 'io.modelcontextprotocol/skills';
const TASKS = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const everything = { command: process.execPath,
  args: [path.join(root, 'test/fixtures/everything/server.mjs'), '--era', 'modern'] };
const sha256 = (text) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const FLAT = { uri: 'skill://flat/SKILL.md', frontmatter: { name: 'flat', description: 'One file.' },
  resources: 'dynamic' };
// A server with skills and without directories, and one that knows of neither.
function others(dir) {
  const complete = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' };
  return {
    flat: scripted(dir, 'flat', { era: 'modern',
      capabilities: { resources: {}, extensions: { [SKILLS]: {} } }, resources: [],
      methods: { 'skills/list': { ...complete, skills: [FLAT] },
        'skills/get': { ...complete, skill: FLAT } } }),
    plain: scripted(dir, 'plain', { tools: [{ name: 'ping', inputSchema: { type: 'object' } }] }),
  };
}
async function ok(daemon, endpoint, method, params, options) {
  const answer = await modern(daemon.url, method, params, { endpoint, ...options });
  assert.ok(answer.message?.result, `${method}: ${answer.text}`);
  return answer.message.result;
}
async function refused(daemon, endpoint, method, params, status, code) {
  const answer = await modern(daemon.url, method, params, { endpoint });
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.message.error?.code, code, answer.text);
}

test('skills of all servers are on /mcp, their files readable and unaltered', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { all: everything, ...others(dir) } }, { dir });
  const { capabilities } = await ok(daemon, '/mcp', 'server/discover', {});
  assert.deepEqual(capabilities.extensions, { [SKILLS]: { directoryRead: true }, [TASKS]: {} });
  assert.ok(capabilities.resources);

  const listed = await ok(daemon, '/mcp', 'skills/list', {});
  assert.equal(listed.resultType, 'complete');
  assert.equal(listed.cacheScope, 'private'); // as one of the servers says
  assert.ok(listed.ttlMs > 0 && listed.ttlMs <= 60_000, 'what is left of it');
  assert.deepEqual(listed.skills.map((skill) => skill.uri), ['skill://mcpx.all/unit-conversion/SKILL.md',
    'skill://mcpx.all/git-bisect/SKILL.md', 'skill://mcpx.flat/flat/SKILL.md']);
  for (const skill of listed.skills.slice(0, 2)) {
    assert.ok(skill.resources.some((file) => file.uri === skill.uri));
    for (const { uri, digest, size } of skill.resources) {
      const { contents } = await ok(daemon, '/mcp', 'resources/read', { uri });
      assert.equal(contents[0].uri, uri);
      assert.equal(sha256(contents[0].text), digest);
      assert.equal(Buffer.byteLength(contents[0].text), size);
    }
    const got = await ok(daemon, '/mcp', 'skills/get', { uri: skill.uri });
    assert.deepEqual(got.skill, skill);
  }
  assert.equal(listed.skills[2].resources, 'dynamic');

  const home = 'skill://mcpx.all/unit-conversion';
  const { resources } = await ok(daemon, '/mcp', 'resources/directory/read', { uri: home });
  assert.deepEqual(resources.map((child) => [child.uri, child.mimeType]),
    [[`${home}/SKILL.md`, 'text/markdown'], [`${home}/references`, 'inode/directory']]);
  const deeper = await ok(daemon, '/mcp', 'resources/directory/read', { uri: resources[1].uri });
  assert.equal(deeper.resources[0].uri, `${home}/references/factors.md`);
});

test('what is no skill and no directory is -32602, and no server is asked what it does not know',
  async (t) => {
    const dir = temporary(t);
    const daemon = await Daemon.start(t, { servers: { all: everything, ...others(dir) } }, { dir });
    for (const uri of ['skill://mcpx.all/nothing/SKILL.md', 'skill://mcpx.nobody/x/SKILL.md',
      'skill://unqualified/SKILL.md', 'mcpx://plain/x:y']) {
      await refused(daemon, '/mcp', 'skills/get', { uri }, 200, -32602);
    }
    for (const uri of ['skill://mcpx.all/git-bisect/SKILL.md', 'skill://mcpx.flat/flat', 'mcpx://plain/x:y']) {
      await refused(daemon, '/mcp', 'resources/directory/read', { uri }, 200, -32602);
    }
    assert.equal(received(dir, 'flat', 'resources/directory/read').length, 0);
    assert.equal(received(dir, 'plain', 'skills/get').length, 0);
    assert.equal(received(dir, 'plain', 'skills/list').length, 0);
    // Behind an endpoint whose server has no such extension there are no such methods.
    for (const method of ['skills/list', 'skills/get', 'resources/directory/read']) {
      await refused(daemon, '/mcp/plain', method, { uri: 'x:y' }, 404, -32601);
    }
    await refused(daemon, '/mcp/flat', 'resources/directory/read', { uri: 'skill://flat' }, 404, -32601);
  });

test('a pass-through endpoint shows skills under their own URIs, to sessions too', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { all: everything, ...others(dir) } }, { dir });
  const { capabilities } = await ok(daemon, '/mcp/all', 'server/discover', {});
  assert.deepEqual(capabilities.extensions, { [SKILLS]: { directoryRead: true }, [TASKS]: {} });
  const { skills } = await ok(daemon, '/mcp/all', 'skills/list', {});
  assert.equal(skills[0].uri, 'skill://unit-conversion/SKILL.md');
  assert.equal((await ok(daemon, '/mcp/plain', 'server/discover', {})).capabilities.extensions, undefined);

  const session = await Session.open(daemon.url, { endpoint: '/mcp/all' });
  assert.deepEqual(await session.list('skills/list', 'skills'), skills);
  const got = await session.call('skills/get', { uri: skills[0].uri });
  assert.deepEqual(got.message.result?.skill, skills[0]);
  assert.equal(got.message.result.resultType, undefined);
  const none = await session.call('skills/get', { uri: 'skill://none/SKILL.md' });
  assert.equal(none.message.error.code, -32602);
});

test('an Mcp-Name on a method of skills must be its URI, and may be left out', async (t) => {
  const daemon = await Daemon.start(t, { servers: { all: everything } });
  const uri = 'skill://git-bisect/SKILL.md';
  const get = (headers) => modern(daemon.url, 'skills/get', { uri }, { endpoint: '/mcp/all', headers });
  assert.ok((await get({})).message.result);
  assert.ok((await get({ 'mcp-name': uri })).message.result);
  const other = await get({ 'mcp-name': 'skill://other/SKILL.md' });
  assert.equal(other.status, 400);
  assert.equal(other.message.error.code, -32020);
});

const EXTRA = 'com.example/extra';
function extended(dir) {
  return scripted(dir, 'x', { era: 'modern', tools: [{ name: 'ping', inputSchema: { type: 'object' } }],
    capabilities: { tools: {}, experimental: { 'com.example/y': { z: 1 } },
      extensions: { [EXTRA]: { level: 2.0 }, [TASKS]: {} } },
    results: { ping: '{"resultType":"com.example/odd","content":[],"odd":1.0}' },
    methods: { 'com.example/do': '{"resultType":"com.example/done","n":1.0}' } });
}

test('methods of an extension go through /mcp/{server} as they are, and nowhere else', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t,
    { servers: { x: extended(dir), plain: others(dir).plain } }, { dir });
  const { capabilities } = await ok(daemon, '/mcp/x', 'server/discover', {});
  assert.deepEqual(capabilities.extensions, { [EXTRA]: { level: 2 }, [TASKS]: {} });
  assert.deepEqual(capabilities.experimental, { 'com.example/y': { z: 1 } });

  const answer = await modern(daemon.url, 'com.example/do', { deep: [1.5] }, { endpoint: '/mcp/x' });
  assert.match(answer.raw, /"resultType":"com.example\/done","n":1\.0/);
  assert.deepEqual(received(dir, 'x', 'com.example/do')[0].params.deep, [1.5]);
  assert.equal((await ok(daemon, '/mcp/x', 'tools/call', { name: 'ping', arguments: {} })).odd, 1);
  const unknown = await modern(daemon.url, 'com.example/not', {}, { endpoint: '/mcp/x' });
  assert.equal(unknown.status, 404);
  assert.equal(unknown.message.error.code, -32601);
  assert.equal(received(dir, 'x', 'com.example/not').length, 1); // its own answer

  await refused(daemon, '/mcp', 'com.example/do', {}, 404, -32601);
  await refused(daemon, '/mcp/plain', 'com.example/do', {}, 404, -32601);
  await refused(daemon, '/mcp/plain', 'tasks/get', { taskId: 't' }, 404, -32601);
  await refused(daemon, '/mcp/x', 'ping', {}, 404, -32601);
  assert.equal(received(dir, 'x', 'com.example/do').length, 1);
  assert.equal(received(dir, 'plain', 'com.example/do').length, 0);
  assert.equal(received(dir, 'x', 'tasks/get').length, 0);
  assert.equal((await modern(daemon.url, 'tools/call', { name: 'x__ping', arguments: {} }))
    .message.error.data.code, 'upstream.bad_frame');

  const session = await Session.open(daemon.url, { endpoint: '/mcp/x' });
  const legacy = await session.call('com.example/do', {});
  assert.match(legacy.raw, /"n":1\.0/);
  assert.equal((await (await Session.open(daemon.url)).call('com.example/do', {})).message.error.code, -32601);
});

test('of the extensions a client declares, those the endpoint carries reach the server', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { x: extended(dir) } }, { dir });
  const declared = { elicitation: { form: {} }, extensions: { [EXTRA]: { a: 1 }, [SKILLS]: {},
    'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
    [TASKS]: {} } };
  const reached = async (endpoint, name) => {
    await modern(daemon.url, 'tools/call', { name, arguments: {} },
      { endpoint, meta: { [CAPABILITIES]: declared } });
    return received(dir, 'x', 'tools/call').at(-1).params._meta[CAPABILITIES];
  };
  const through = structuredClone(declared);
  assert.deepEqual(await reached('/mcp/x', 'ping'), through);
  delete through.extensions[EXTRA];
  assert.deepEqual(await reached('/mcp', 'x__ping'), through);
});

test('an interface of MCP Apps is reached from the tool that names it, on both kinds of endpoint',
  async (t) => {
    const dir = temporary(t);
    const uri = 'ui://clock/face.html';
    const clock = scripted(dir, 'clock', { tools: [{ name: 'now', inputSchema: { type: 'object' },
      _meta: { ui: { resourceUri: uri, visibility: ['model', 'app'] } } }],
    resources: [{ uri, name: 'face', mimeType: 'text/html;profile=mcp-app' }] });
    const daemon = await Daemon.start(t, { servers: { clock } }, { dir });
    for (const [endpoint, shown] of [['/mcp', 'ui://mcpx.clock/clock/face.html'], ['/mcp/clock', uri]]) {
      const { tools } = await ok(daemon, endpoint, 'tools/list', {});
      assert.deepEqual(tools[0]._meta.ui, { resourceUri: shown, visibility: ['model', 'app'] });
      const { resources } = await ok(daemon, endpoint, 'resources/list', {});
      assert.equal(resources[0].uri, shown);
      const { contents } = await ok(daemon, endpoint, 'resources/read', { uri: shown });
      assert.equal(contents[0].uri, shown);
      assert.equal(received(dir, 'clock', 'resources/read').at(-1).params.uri, uri);
    }
  });

// --- What a server says in terms of an extension of its own

const NEWS = 'notifications/com.example/news';
const news = (messages) => messages.filter((m) => m.method === NEWS).map((m) => m.params);
const sent = (answer) => answer.messages().map((m) => JSON.parse(m));

for (const era of ['legacy', 'modern']) {
  test(`a ${era} server's notification of an extension reaches the call and who listens at /mcp/{server}`,
    async (t) => {
      const dir = temporary(t);
      const say = { tools: {}, extensions: { [EXTRA]: {} } };
      const tag = era === 'modern' ? '"_meta":{"io.modelcontextprotocol/subscriptionId":1},' : '';
      const x = scripted(dir, 'x', { era, capabilities: say,
        tools: [{ name: 'ping', inputSchema: { type: 'object' } }],
        notices: { ping: [`{${tag}"n":1.0,"deep":{"a":null}}`] } });
      const plain = scripted(dir, 'plain', { era, tools: [{ name: 'ping', inputSchema: { type: 'object' } }],
        notices: { ping: ['{"n":2}'] } });
      const daemon = await Daemon.start(t, { servers: { x, plain } }, { dir });
      const listening = await Session.open(daemon.url, { endpoint: '/mcp/x' });
      const stream = await listening.stream();
      const merged = await Session.open(daemon.url);
      const elsewhere = await merged.stream();
      const call = { name: 'ping', arguments: {} };

      const fresh = await modern(daemon.url, 'tools/call', call, { endpoint: '/mcp/x' });
      assert.match(fresh.text, /"n":1\.0,"deep":\{"a":null\}/, 'byte for byte, on the stream of the call');
      assert.doesNotMatch(fresh.text, /subscriptionId/, 'a mark of the other hop stays there');
      await eventually('others hear of it', () => news(stream.messages).length === 1);

      const old = await Session.open(daemon.url, { endpoint: '/mcp/x' });
      const own = await old.stream();
      assert.equal(news(sent(await old.call('tools/call', call))).length, 1);
      await eventually('others hear of it', () => news(stream.messages).length === 2);
      assert.deepEqual(news(own.messages), [], 'a client is told once');

      assert.deepEqual(news(sent(await merged.call('tools/call', { ...call, name: 'x__ping' }))), []);
      await modern(daemon.url, 'tools/call', call, { endpoint: '/mcp/plain' });
      await modern(daemon.url, 'tools/call', call, { endpoint: '/mcp/x' });
      await eventually('the last one', () => news(stream.messages).length === 4);
      assert.deepEqual(news(elsewhere.messages), [], '/mcp carries no extensions that it does not know');
      assert.ok(news(stream.messages).every(({ n }) => n === 1), 'nor are they of another server');
    });
}

test('with scope session what an instance says in terms of an extension is for its own session',
  async (t) => {
    const dir = temporary(t);
    const x = scripted(dir, 'x', { capabilities: { tools: {}, extensions: { [EXTRA]: {} } },
      tools: [{ name: 'ping', inputSchema: { type: 'object' } }], notices: { ping: ['{"n":1}'] } },
    { scope: 'session' });
    const daemon = await Daemon.start(t, { servers: { x } }, { dir });
    const [a, b] = [await Session.open(daemon.url, { endpoint: '/mcp/x' }),
      await Session.open(daemon.url, { endpoint: '/mcp/x' })];
    const [first, second] = [await a.stream(), await b.stream()];
    const call = { name: 'ping', arguments: {} };
    assert.equal(news(sent(await a.call('tools/call', call))).length, 1);
    assert.equal(news(sent(await b.call('tools/call', call))).length, 1);
    assert.deepEqual([...news(first.messages), ...news(second.messages)], []);
  });

// What a client says in terms of an extension.
for (const era of ['legacy', 'modern']) {
  test(`a client's notification of an extension reaches the ${era} server of /mcp/{server}`, async (t) => {
    const dir = temporary(t);
    const tools = [{ name: 'ping', inputSchema: { type: 'object' } }];
    const x = scripted(dir, 'x', { era, capabilities: { tools: {}, extensions: { [EXTRA]: {} } }, tools });
    const plain = scripted(dir, 'plain', { era, tools });
    const daemon = await Daemon.start(t, { servers: { x, plain } }, { dir });
    const heard = (name) => received(dir, name, NEWS).map((m) => m.params);
    const old = await Session.open(daemon.url, { endpoint: '/mcp/x' });
    await old.notify(NEWS, { n: 1, _meta: { 'com.example/a': 1 } });
    await eventually('it is there', () => heard('x').length === 1);
    assert.deepEqual(heard('x'), [{ n: 1, _meta: { 'com.example/a': 1 } }]);

    const about = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', [CAPABILITIES]: {} };
    const text = JSON.stringify({ jsonrpc: '2.0', method: NEWS, params: { n: 2, _meta: about } });
    assert.equal((await modern(daemon.url, NEWS, {}, { endpoint: '/mcp/x', text })).status, 202);
    await eventually('so is that', () => heard('x').length === 2);
    assert.deepEqual(heard('x')[1], era === 'modern' ? { n: 2, _meta: about } : { n: 2 },
      'a legacy server is not told what it does not know');

    // Nowhere else: the merged endpoint, and a server that has no extensions.
    const merged = await Session.open(daemon.url);
    const other = await Session.open(daemon.url, { endpoint: '/mcp/plain' });
    await merged.notify(NEWS, { n: 3 });
    await other.notify(NEWS, { n: 4 });
    await merged.call('tools/call', { name: 'x__ping', arguments: {} });
    await other.call('tools/call', { name: 'ping', arguments: {} });
    assert.equal(heard('x').length, 2);
    assert.equal(heard('plain').length, 0);
  });
}

test('with scope session the instance of the session hears what its client says', async (t) => {
  const dir = temporary(t);
  const x = scripted(dir, 'x', { capabilities: { tools: {}, extensions: { [EXTRA]: {} } },
    tools: [{ name: 'ping', inputSchema: { type: 'object' } }] }, { scope: 'session' });
  const daemon = await Daemon.start(t, { servers: { x } }, { dir });
  const session = await Session.open(daemon.url, { endpoint: '/mcp/x' });
  await session.notify(NEWS, { n: 1 });
  await eventually('it is there', () => received(dir, 'x', NEWS).length === 1);
  const log = received(dir, 'x').filter((m) => m.method === 'initialize' || m.method === NEWS);
  assert.deepEqual(log.map((m) => m.method), ['initialize', 'initialize', NEWS], 'an instance of its own was started');
});

// --- What a client declares

const UI = 'io.modelcontextprotocol/ui';
const SHOWS = { mimeTypes: ['text/html;profile=mcp-app'] };

test('the extensions of a legacy client reach a modern server, as its endpoint carries them', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { x: extended(dir) } }, { dir });
  const declared = { roots: {}, extensions: { [UI]: SHOWS, [EXTRA]: { a: 1 }, [TASKS]: {} } };
  const reached = async (endpoint, name, capabilities) => {
    const session = await Session.open(daemon.url, { endpoint, capabilities });
    await session.call('tools/call', { name, arguments: {} });
    return received(dir, 'x', 'tools/call').at(-1).params._meta[CAPABILITIES];
  };
  assert.deepEqual(await reached('/mcp/x', 'ping', declared),
    { roots: {}, extensions: { [UI]: SHOWS, [EXTRA]: { a: 1 } } });
  assert.deepEqual(await reached('/mcp', 'x__ping', declared), { roots: {}, extensions: { [UI]: SHOWS } });
  assert.deepEqual(await reached('/mcp', 'x__ping', { extensions: { [EXTRA]: {} } }), {});
  assert.deepEqual(await reached('/mcp/x', 'ping', {}), {});
});

test('a server that lists interfaces only for clients that show them lists them', async (t) => {
  const dir = temporary(t);
  const tools = [{ name: 'ping', inputSchema: { type: 'object' } }];
  const daemon = await Daemon.start(t, { servers: { old: scripted(dir, 'old', { tools }),
    new: scripted(dir, 'new', { era: 'modern', tools }),
    own: scripted(dir, 'own', { tools }, { scope: 'session' }) } }, { dir });
  const carried = { [UI]: SHOWS, [SKILLS]: {} };
  assert.deepEqual(received(dir, 'old', 'initialize')[0].params.capabilities.extensions, carried);
  assert.deepEqual(received(dir, 'new', 'tools/list')[0].params._meta[CAPABILITIES].extensions, carried);
  // An instance of one client declares what that one does.
  for (const extensions of [undefined, { [UI]: SHOWS, [EXTRA]: {} }]) {
    const session = await Session.open(daemon.url, { endpoint: '/mcp/own', capabilities: { extensions } });
    await session.call('tools/call', { name: 'ping', arguments: {} });
    assert.deepEqual(received(dir, 'own', 'initialize').at(-1).params.capabilities.extensions, extensions);
  }
});

test('a tool that is only for an app is listed for clients that show apps, and can be called', async (t) => {
  const dir = temporary(t);
  const tool = (name, visibility) => ({ name, inputSchema: { type: 'object' },
    _meta: { ui: { resourceUri: 'ui://clock/face.html', ...(visibility && { visibility }) } } });
  const clock = scripted(dir, 'clock', { tools: [tool('now'), tool('tick', ['app']), tool('both', ['model', 'app'])] });
  const daemon = await Daemon.start(t, { lists: { page_size: 2 }, servers: { clock } }, { dir });
  const all = ['now', 'tick', 'both'];
  const shown = ['now', 'both'];
  for (const [endpoint, prefix] of [['/mcp', 'clock__'], ['/mcp/clock', '']]) {
    const names = (list) => list.map((name) => prefix + name);
    const declares = { [CAPABILITIES]: { extensions: { [UI]: SHOWS } } };
    const page = await ok(daemon, endpoint, 'tools/list', {}, { meta: declares });
    const rest = await ok(daemon, endpoint, 'tools/list', { cursor: page.nextCursor }, { meta: declares });
    assert.deepEqual([...page.tools, ...rest.tools].map((one) => one.name), names(all));
    const plain = await ok(daemon, endpoint, 'tools/list', {});
    assert.deepEqual(plain.tools.map((one) => one.name), names(shown));
    assert.equal(plain.nextCursor, undefined);
    const old = await Session.open(daemon.url, { endpoint });
    assert.deepEqual((await old.tools()).map((one) => one.name), names(shown));
    const app = await Session.open(daemon.url, { endpoint, capabilities: { extensions: { [UI]: SHOWS } } });
    assert.deepEqual((await app.tools()).map((one) => one.name), names(all));
    const called = await ok(daemon, endpoint, 'tools/call', { name: `${prefix}tick`, arguments: {} });
    assert.equal(called.content[0].text, 'tick:{}');
  }
});
