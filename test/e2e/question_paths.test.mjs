// Questions and what belongs to them on the less usual ways: clients of HTTP+SSE, batches, news about
// roots and elicitations; and very many calls that wait at once.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';

import { ALL, ANSWERS, CAPABILITIES, expected, kindOf, said, stdio } from './lib/asking.mjs';
import { questions, serveHttp } from './lib/asking_server.mjs';
import { Daemon, temporary } from './lib/daemon.mjs';
import { npmDir, slow } from './lib/paths.mjs';
import { modern, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));
const call = (id, name, args) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

test('questions: a client of HTTP+SSE is asked on its stream', async (t) => {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
  const types = require('@modelcontextprotocol/sdk/types.js');
  const daemon = await Daemon.start(t, { listen: { legacy_sse: true }, threads: 2,
    servers: { pipe: stdio('legacy'), web: { url: await serveHttp(t) }, new: stdio('modern') } });
  const client = new Client({ name: 'e2e', version: '1' }, { capabilities: ALL });
  for (const schema of ['ElicitRequestSchema', 'CreateMessageRequestSchema', 'ListRootsRequestSchema']) {
    client.setRequestHandler(types[schema], (request) => ANSWERS[kindOf(request)]);
  }
  await client.connect(new SSEClientTransport(new URL('/sse', daemon.url)));
  t.after(() => client.close());
  for (const server of ['pipe', 'web', 'new']) {
    for (const kind of Object.keys(questions)) {
      const result = await client.request({ method: 'tools/call', params: { name: `${server}__ask`,
        arguments: { kind } } }, types.ResultSchema, { timeout: 20_000 * slow });
      assert.deepEqual(said(result), { answer: expected(kind) }, `${kind} of ${server}`);
    }
  }
});

test('questions: elements of a batch are asked on its stream', async (t) => {
  const daemon = await Daemon.start(t, { servers: { web: { url: await serveHttp(t) }, new: stdio('modern') } });
  const session = await Session.open(daemon.url, { revision: '2025-03-26', capabilities: { sampling: {}, roots: {} } });
  const stream = await openStream(daemon.url, { path: '/mcp', method: 'POST', headers: session.headers(),
    body: JSON.stringify([call('a', 'web__ask', { kind: 'sampling' }), call('b', 'new__ask', { kind: 'roots' }),
      call('c', 'web__ask', { kind: 'form' })]) });
  const asked = () => stream.messages.filter((m) => m.method && m.id !== undefined);
  await eventually('both questions', () => asked().length === 2);
  for (const question of asked()) {
    await session.post(JSON.stringify([{ jsonrpc: '2.0', id: question.id, result: ANSWERS[kindOf(question)] }]));
  }
  await stream.ended;
  const answers = new Map(stream.events.filter(({ data }) => data.startsWith('['))
    .flatMap(({ data }) => JSON.parse(data)).map((answer) => [answer.id, answer.result]));
  assert.deepEqual(said(answers.get('a')), { answer: expected('sampling') });
  assert.deepEqual(said(answers.get('b')), { answer: expected('roots') });
  assert.deepEqual(said(answers.get('c')), { refused: -32601 });  // 2025-03-26 has no elicitation
});

test('roots: that they changed reaches the server that has an instance for the session', async (t) => {
  const dir = temporary(t);
  const file = (name) => path.join(dir, name);
  const server = (name, extra) => ({ ...stdio('legacy', extra),
    args: [...stdio('legacy').args, file(name)] });
  const daemon = await Daemon.start(t, { servers: { own: server('own', { scope: 'session' }),
    shared: server('shared') } });
  const told = await Session.open(daemon.url, { capabilities: { roots: { listChanged: true } } });
  for (const name of ['own', 'shared']) {
    const { message } = await told.call('tools/call', { name: `${name}__ask`, arguments: { kind: 'form' } });
    assert.deepEqual(said(message.result), { refused: -32601 });
  }
  await told.notify('notifications/roots/list_changed');
  await eventually('the server heard', () => existsSync(file('own')) && readFileSync(file('own'), 'utf8') === 'changed');
  assert.ok(!existsSync(file('shared')), 'a server that was not promised to hear of it');
});

for (const where of ['pipe', 'web']) {
  test(`elicitation: its completion reaches the client that was sent there, from ${where}`, async (t) => {
    const daemon = await Daemon.start(t, { threads: 2, servers: { pipe: stdio('legacy'),
      web: { url: await serveHttp(t) } } });
    const session = await Session.open(daemon.url, { capabilities: ALL });
    const other = await Session.open(daemon.url, { capabilities: ALL });
    const [news, others] = [await session.stream(), await other.stream()];
    const stream = await openStream(daemon.url, { path: '/mcp', method: 'POST', headers: session.headers(),
      body: JSON.stringify(call(1, `${where}__ask`, { kind: 'url' })) });
    const question = await eventually('the question', () => stream.messages.find((m) => m.method === 'elicitation/create'));
    assert.equal(question.params.elicitationId, 'id-1');
    await session.post(JSON.stringify({ jsonrpc: '2.0', id: question.id, result: ANSWERS.url }));
    await stream.ended;
    // Of one that was only in an error, too.
    const refused = await session.call('tools/call', { name: `${where}__ask`, arguments: { kind: 'urls' } });
    assert.equal(refused.message.error.code, -32042, refused.text);
    for (const id of ['nobody was sent to', 'id-2', 'id-1']) {
      await session.call('tools/call', { name: `${where}__complete`, arguments: { id } });
    }
    const heard = () => news.messages.filter((m) => m.method === 'notifications/elicitation/complete')
      .map((m) => m.params.elicitationId);
    await eventually('both completions', () => heard().length === 2);
    assert.deepEqual(heard(), ['id-2', 'id-1']);
    assert.ok(!others.methods().includes('notifications/elicitation/complete'));
  });
}

// --- Very many

// Reproducible, so that a run that fails can be had again.
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
// A request whose client is gone before it can have an answer, or just then.
function vanish(daemon, params, after) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
    params: { ...params, _meta: modernMeta({ [CAPABILITIES]: ALL }) } });
  return new Promise((resolve) => {
    const outgoing = http.request(new URL('/mcp', daemon.url), { method: 'POST', agent: false,
      headers: modernHeaders('tools/call', params) });
    outgoing.on('error', () => {}).on('response', (incoming) => incoming.on('error', () => {}).resume())
      .on('close', resolve).end(body, () => setTimeout(() => outgoing.destroy(), after));
  });
}

test('questions: 200 calls that wait, answered, refused, expired and abandoned in any order, leave nothing', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { threads: 2, log: { level: 'info' },
    ask: { state_ttl: `${12 * slow}s`, per_server: 0 }, servers: { web: { url: await serveHttp(t) } } });
  const next = random(20260728);
  const send = async (params) => (await modern(daemon.url, 'tools/call', params,
    { meta: { [CAPABILITIES]: ALL }, timeout: 60_000 })).message;
  const ends = [];
  const one = async (i) => {
    const note = path.join(dir, `${i}`);
    const params = { name: 'web__ask', arguments: { kind: 'form', note } };
    const fate = ['answer', 'answer', 'decline', 'twice', 'expire', 'vanish'][Math.floor(next() * 6)];
    ends.push(fate);
    if (fate === 'vanish') return vanish(daemon, params, next() * 40);
    const { result, error } = await send(params);
    assert.equal(result?.resultType, 'input_required', JSON.stringify(error));
    const [key] = Object.keys(result.inputRequests);
    const retry = (action) => send({ ...params, requestState: result.requestState, inputResponses: {
      [key]: action === 'accept' ? ANSWERS.form : { action } } });
    if (fate === 'expire') {
      const answered = () => existsSync(note) && JSON.parse(readFileSync(note, 'utf8'));
      assert.deepEqual(await eventually('the server is answered', answered, 30_000), { answer: { action: 'cancel' } });
      assert.match((await retry('accept')).error.data.code, /^ask\.state_(expired|used)$/);
    } else if (fate === 'twice') {
      // Two retries race: one goes on, the other is told.
      const both = await Promise.all([retry('accept'), retry('accept')]);
      assert.deepEqual(both.map((m) => (m.result ? 'done' : m.error.data.code)).sort(), ['ask.state_used', 'done']);
    } else {
      const done = await retry(fate === 'answer' ? 'accept' : 'decline');
      assert.deepEqual(said(done.result), { answer: fate === 'answer' ? expected('form') : { action: 'decline' } });
    }
  };
  await Promise.all(Array.from({ length: 200 }, (_, i) => one(i)));
  assert.equal(new Set(ends).size, 5);
  const left = await daemon.waitServer('web', (s) => s.in_flight === 0);
  assert.equal(left.state, 'ready');
  // And it serves on.
  const { result } = await send({ name: 'web__ask', arguments: { kind: 'form' } });
  assert.equal(result.resultType, 'input_required');
});
