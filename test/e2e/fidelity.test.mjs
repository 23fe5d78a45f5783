// Cases C30-C44: what a server said arrives as it said it, under names that are legal.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, received, scripted, temporary } from './lib/daemon.mjs';
import { HttpUpstream } from './lib/http_upstream.mjs';
import { modern, Session } from './lib/speak.mjs';

const SCHEMA = { type: 'object' };
const tool = (name) => ({ name, inputSchema: SCHEMA });
const text = (answer) => answer.message?.result?.content?.[0]?.text;

test('C30: all pages are read, the one with an empty cursor too', async (t) => {
  const dir = temporary(t);
  const tools = [...Array(250).keys()].map((n) => tool(`t${n}`));
  const daemon = await Daemon.start(t, { servers: { paged: scripted(dir, 'paged',
    { tools, pageSize: 50, cursors: ['a', '', 'c', 'd'] }) } }, { dir });
  const session = await Session.open(daemon.url);
  assert.deepEqual((await session.tools()).map((x) => x.name), tools.map((x) => `paged__${x.name}`));
  assert.ok(received(dir, 'paged', 'tools/list').length >= 5);
});

test('C31: a cursor that repeats forever ends the list, and is reported', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { loop: scripted(dir, 'loop',
    { tools: [tool('x')], sameCursor: true }) } }, { dir });
  const tools = (await modern(daemon.url, 'tools/list')).message.result.tools;
  assert.ok(tools.some((x) => x.name === 'loop__x'), JSON.stringify(tools));
  assert.equal(tools.length, 1, 'the same tool is listed once');
  assert.ok(received(dir, 'loop', 'tools/list').length < 10);
  const shown = await daemon.rest('/v1/servers/loop');
  assert.match(shown.text, /cursor/);
});

// Deliberately not what JSON.stringify would write: order, white space, escapes, numbers, unknowns.
const ODD_TOOL = '{"zebra" : [1.0, 9007199254740993,1e400],"name":"odd","title":"Odd \\u00fcber","_meta":'
  + '{"vendor/x":{"a":null}}, "icons":[{"src":"https://x.example/i.png","sizes":["48x48"]}],'
  + '"annotations":{"readOnlyHint":false,"idempotentHint":true},"description":"d\\/e",'
  + '"outputSchema":{"type":"object","properties":{"n":{"type":"number"}}},'
  + '"inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema",'
  + '"$defs":{"z":{"const":1.50}},"additionalProperties":false},"unknown":{"deep":[false,null]}}';
const ODD_RESULT = '{"_meta":{"vendor/trace":"1"}, "content":[{"type":"text","text":"a\\u0000\\/ \\ud83d\\ude00"},'
  + '{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"audio","data":"aGk=","mimeType":"audio/wav"},'
  + '{"type":"resource","resource":{"uri":"x://1","text":"t","extra":-0}},'
  + '{"type":"resource_link","uri":"x://2","name":"n","size":1.0},{"type":"hologram","beams":[1e400]}],'
  + '"structuredContent":{"n":1.0,"big":9007199254740993,"huge":1e400,"e":1E+2},"isError":false,"more":{}}';

test('C32: a tool definition arrives byte for byte', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { tools: [ODD_TOOL] }) } }, { dir });
  const legacy = await Session.open(daemon.url, { endpoint: '/mcp/s' });
  const own = await legacy.call('tools/list', {});
  assert.ok(own.text.includes(ODD_TOOL), own.text);
  const merged = await (await Session.open(daemon.url)).call('tools/list', {});
  assert.ok(merged.text.includes(ODD_TOOL.replace('"name":"odd"', '"name":"s__odd"')), merged.text);
  const now = await modern(daemon.url, 'tools/list', {}, { endpoint: '/mcp/s' });
  assert.ok(now.text.includes(ODD_TOOL), now.text);
  const oldest = await Session.open(daemon.url, { endpoint: '/mcp/s', revision: '2024-11-05' });
  const [was] = await oldest.tools();
  assert.equal(was.name, 'odd');
  assert.equal(was.description, 'd/e');
  assert.deepEqual(was.inputSchema.$defs, { z: { const: 1.5 } });
});

test('C33: a result arrives byte for byte', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's',
    { tools: [tool('odd')], results: { odd: ODD_RESULT } }) } }, { dir });
  const legacy = await Session.open(daemon.url, { endpoint: '/mcp/s' });
  const answer = await legacy.call('tools/call', { name: 'odd', arguments: {} });
  assert.ok(answer.text.includes(`"result":${ODD_RESULT}`), answer.text);
  const content = /"content":(\[.*\]),"structured/.exec(ODD_RESULT)[1];
  const structured = /"structuredContent":(\{.*?\})/.exec(ODD_RESULT)[1];
  const now = await modern(daemon.url, 'tools/call', { name: 'odd', arguments: {} }, { endpoint: '/mcp/s' });
  for (const part of [content, structured, '"more":{}']) {
    assert.ok(now.text.includes(part), `${part} in ${now.text}`);
  }
});

test('C33: arguments arrive byte for byte', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { tools: [tool('x')] }) } }, { dir });
  const odd = '{"z" : 1.0,"a":9007199254740993,"huge":1e400,"s":"\\u00e9\\/","list":[ null,false ]}';
  const session = await Session.open(daemon.url);
  const body = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"s__x","arguments":${odd}}}`;
  assert.equal((await session.call('tools/call', {}, { text: body })).status, 200);
  const { readFileSync } = await import('node:fs');
  const log = readFileSync(`${dir}/s.record.jsonl`, 'utf8').split('\n').filter(Boolean).map(JSON.parse);
  const line = log.find((e) => e.text?.includes('"tools/call"')).text;
  assert.ok(line.includes(`"arguments":${odd}`), line);
});

test('C34: request ids come back exactly, and equal ids of two clients never cross', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's',
    { tools: [tool('x')], delay: { 'tools/call': 100 } }) } }, { dir });
  const one = await Session.open(daemon.url);
  const two = await Session.open(daemon.url);
  for (const id of ['7', '"7"', '9007199254740993', '""', `"${'i'.repeat(300)}"`, '-1', '"\\u00e9"']) {
    const answer = await one.call('', {}, {
      text: `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"s__x","arguments":{}}}` });
    assert.ok(answer.raw.includes(`"id":${id}`), `${id}: ${answer.raw}`);
  }
  const rounds = [...Array(10).keys()].flatMap((n) => [[one, `one-${n}`], [two, `two-${n}`]]);
  const answers = await Promise.all(rounds.map(([session, who]) => session.call('tools/call',
    { name: 's__x', arguments: { who } }, { id: 7 })));
  rounds.forEach(([, who], at) => {
    assert.equal(answers[at].message.id, 7);
    assert.equal(text(answers[at]), `x:{"who":"${who}"}`);
  });
});

test('C35: absent, null and empty arguments reach the server as an object', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { tools: [tool('x')] }) } }, { dir });
  const session = await Session.open(daemon.url);
  for (const part of ['', ',"arguments":null', ',"arguments":{}']) {
    const answer = await session.call('', {}, {
      text: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__x"${part}}}` });
    assert.ok(answer.message.result, `${part}: ${answer.text}`);
  }
  const calls = received(dir, 's', 'tools/call');
  assert.equal(calls.length, 3);
  for (const { params } of calls) {
    assert.deepEqual(params.arguments, {});
    assert.equal(params.name, 'x');
    assert.deepEqual(Object.keys(params).filter((k) => !['name', 'arguments', '_meta'].includes(k)), []);
  }
});

test('C36: an error of the server reaches the caller unwrapped', async (t) => {
  const dir = temporary(t);
  const error = '{"code":-32050,"message":"my own words","data":{"n":1.0,"list":[null]}}';
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's',
    { tools: [tool('x')], errors: { x: error } }) } }, { dir });
  const legacy = await (await Session.open(daemon.url)).call('tools/call', { name: 's__x', arguments: {} });
  const now = await modern(daemon.url, 'tools/call', { name: 's__x', arguments: {} });
  for (const answer of [legacy, now]) assert.ok(answer.raw.includes(`"error":${error}`), answer.raw);
});

test("C39: the caller's session id and credentials never reach a server", async (t) => {
  const dir = temporary(t);
  const upstream = await HttpUpstream.start(t);
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url },
    local: scripted(dir, 'local', { tools: [tool('x')] }) } }, { dir });
  const secret = { authorization: 'Bearer caller-token-123', cookie: 'sid=caller-cookie',
    'x-api-key': 'caller-key' };
  const session = await Session.open(daemon.url, { headers: secret });
  for (const name of ['web__echo', 'local__x']) {
    assert.ok((await session.call('tools/call', { name, arguments: {} })).message.result);
    assert.ok((await modern(daemon.url, 'tools/call', { name, arguments: {} }, { headers: secret }))
      .message.result);
  }
  const seen = JSON.stringify([upstream.requests, received(dir, 'local')]);
  assert.ok(upstream.requests.some((r) => r.text.includes('tools/call')));
  for (const word of ['caller-token', 'caller-cookie', 'caller-key', session.id]) {
    assert.ok(!seen.includes(word), `${word} reached a server`);
  }
});

test('C42: names that look alike route to their own servers', async (t) => {
  const dir = temporary(t);
  const said = (name, tools) => scripted(dir, name, { tools: tools.map(tool),
    results: Object.fromEntries(tools.map((x) => [x,
      JSON.stringify({ content: [{ type: 'text', text: `${name}/${x}` }] })])) });
  const daemon = await Daemon.start(t, { servers: { ha: said('ha', ['mcp__go', 'go']),
    'ha-mcp': said('ha-mcp', ['go']), ha__mcp: said('ha__mcp', ['go']),
    b1: said('b1', ['x_y', 'x__y']), b1_x: said('b1_x', ['y']), b1__x: said('b1__x', ['y']) } }, { dir });
  const listed = await (await daemon.rest('/v1/tools')).json();
  const rows = Array.isArray(listed) ? listed : listed.tools;
  assert.equal(rows.length, 8);
  assert.equal(new Set(rows.map((r) => r.name)).size, 8, JSON.stringify(rows));
  for (const row of rows) {
    const answer = await modern(daemon.url, 'tools/call', { name: row.name, arguments: {} });
    assert.equal(text(answer), `${row.server}/${row.original}`, row.name);
  }
});

test('C43: two servers with one prompt name are both usable, and it is reported', async (t) => {
  const dir = temporary(t);
  const greeter = (name, extra) => scripted(dir, name,
    { prompts: [{ name: 'greet' }], tools: [tool('same')] }, extra);
  const daemon = await Daemon.start(t, { servers: { a: greeter('a', { prefix: '' }),
    b: greeter('b', { prefix: '' }) } }, { dir });
  const session = await Session.open(daemon.url);
  const prompts = (await session.prompts()).map((p) => p.name);
  assert.equal(new Set(prompts).size, 2, prompts.join());
  const said = [];
  for (const name of prompts) {
    said.push((await session.call('prompts/get', { name })).message.result.messages[0].content.text);
  }
  assert.deepEqual(said.sort(), ['a/greet', 'b/greet']);
  assert.equal(new Set((await session.tools()).map((x) => x.name)).size, 2);
  assert.match((await daemon.rest('/v1/status')).text, /greet/, 'the collision is reported');
});

test('C44: any name becomes legal, distinct and callable', async (t) => {
  const dir = temporary(t);
  const names = ['a.b', 'a/b', 'a b', 'a_b', 'h\u00e9llo', '\u65e5\u672c', 'x'.repeat(64), `${'x'.repeat(100)}1`,
    `${'x'.repeat(100)}2`, 'A.B', 'a__b', '-', '__'];
  const daemon = await Daemon.start(t, { servers: { odd: scripted(dir, 'odd',
    { tools: names.map(tool) }) } }, { dir });
  const session = await Session.open(daemon.url);
  const listed = (await session.tools()).map((x) => x.name);
  assert.equal(listed.length, names.length);
  assert.equal(new Set(listed).size, names.length, listed.join(' '));
  for (const [at, name] of listed.entries()) {
    assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
    const answer = await session.call('tools/call', { name, arguments: {} });
    assert.equal(text(answer), `${names[at]}:{}`);
  }
  const own = await Session.open(daemon.url, { endpoint: '/mcp/odd' });
  assert.deepEqual((await own.tools()).map((x) => x.name), names);
});
