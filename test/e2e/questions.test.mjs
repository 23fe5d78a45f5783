// What servers ask while they work on a call, of clients of either era, over every transport: the
// answer arrives, or the refusal that is defined for it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';

import { ALL, ANSWERS, CAPABILITIES, expected, kindOf, modernCaller, said, stdio } from './lib/asking.mjs';
import { questions, serveHttp } from './lib/asking_server.mjs';
import { Daemon, daemonEnvironment } from './lib/daemon.mjs';
import { binary, npmDir, slow } from './lib/paths.mjs';
import { modern, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));

// --- Callers: each calls `ask` with arguments and answers {result} or {error}

function sdkClient() {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const types = require('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'e2e', version: '1' }, { capabilities: ALL });
  const seen = [];
  for (const schema of ['ElicitRequestSchema', 'CreateMessageRequestSchema', 'ListRootsRequestSchema']) {
    client.setRequestHandler(types[schema], (request) => {
      seen.push(request);
      return ANSWERS[kindOf(request)];
    });
  }
  const call = (name, args) => client.request({ method: 'tools/call', params: { name, arguments: args } },
    types.ResultSchema, { timeout: 20_000 * slow }).then((result) => ({ result }), (error) => ({ error }));
  return { client, seen, call };
}
async function overHttp(t, url) {
  const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const caller = sdkClient();
  await caller.client.connect(new StreamableHTTPClientTransport(new URL(url)));
  t.after(() => caller.client.close());
  return caller;
}
async function overStdio(t, daemon) {
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const caller = sdkClient();
  await caller.client.connect(new StdioClientTransport({ command: binary('mcpx'),
    args: ['connect', '--url', daemon.url], env: daemonEnvironment(daemon.dir), stderr: 'ignore' }));
  t.after(() => caller.client.close());
  return caller;
}
// --- The matrix

test('questions: every kind, from every server, to every client that can be asked', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy'),
    web: { url: await serveHttp(t) }, new: stdio('modern') } });
  const callers = { 'sdk over http': await overHttp(t, `${daemon.url}/mcp`),
    'sdk over mcpx connect': await overStdio(t, daemon), modern: modernCaller(daemon, ALL) };
  for (const [name, caller] of Object.entries(callers)) {
    for (const server of ['pipe', 'web', 'new']) {
      for (const kind of Object.keys(questions)) {
        await t.test(`${kind} of ${server} to ${name}`, async () => {
          caller.seen.length = 0;
          const { result, error } = await caller.call(`${server}__ask`, { kind });
          assert.ok(result, JSON.stringify(error));
          const answer = server === 'new' && name === 'modern' ? ANSWERS[kind] : expected(kind);
          assert.deepEqual(said(result), { answer });
          assert.equal(caller.seen.length, 1);
          const { params } = caller.seen[0];
          if (kind === 'url') assert.equal(params.url, questions.url.params.url);
          if (kind === 'form') assert.deepEqual(params.requestedSchema, questions.form.params.requestedSchema);
        });
      }
    }
  }
});

test('questions: a client that declared nothing is asked nothing, and the server is told so', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy'),
    web: { url: await serveHttp(t) }, new: stdio('modern') } });
  const session = await Session.open(daemon.url);
  for (const kind of Object.keys(questions)) {
    for (const server of ['pipe', 'web']) {
      const call = { name: `${server}__ask`, arguments: { kind } };
      const legacy = await session.call('tools/call', call);
      assert.deepEqual(said(legacy.message.result), { refused: -32601 });
      const bare = await modernCaller(daemon, {}).call(call.name, call.arguments);
      assert.deepEqual(said(bare.result), { refused: -32601 });
    }
    const refused = await modernCaller(daemon, {}).call('new__ask', { kind });
    assert.equal(refused.error.code, -32021);
    assert.deepEqual(refused.error.data.requiredCapabilities, { [kind]: {} });
  }
});

test('questions: C52: a mode that was not declared is refused', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy'), web: { url: await serveHttp(t) },
    new: stdio('modern') } });
  const lacking = { form: { elicitation: { url: {} } }, url: { elicitation: { form: {} } },
    tools: { sampling: {} }, roots: { sampling: {} }, sampling: { roots: {} } };
  for (const [kind, capabilities] of Object.entries(lacking)) {
    const session = await Session.open(daemon.url, { capabilities });
    for (const server of ['pipe', 'web']) {
      const call = { name: `${server}__ask`, arguments: { kind } };
      const ofModern = (await modernCaller(daemon, capabilities).call(call.name, call.arguments)).result;
      const ofLegacy = (await session.call('tools/call', call)).message.result;
      // Of a kind of which something was declared, the parameters are at fault.
      const refused = ['form', 'url', 'tools'].includes(kind) ? -32602 : -32601;
      for (const result of [ofModern, ofLegacy]) assert.deepEqual(said(result), { refused }, `${kind} of ${server}`);
    }
    const { error } = await modernCaller(daemon, capabilities).call('new__ask', { kind });
    assert.equal(error.code, -32021);
    const legacy = (await session.call('tools/call', { name: 'new__ask', arguments: { kind } })).message;
    assert.equal(legacy.error.code, -32600);
  }
});

test('questions: roots of the configuration stand before those of the client', async (t) => {
  const daemon = await Daemon.start(t, { roots: ['/srv/own'], servers: { pipe: stdio('legacy'),
    web: { url: await serveHttp(t) }, new: stdio('modern') } });
  const caller = await overHttp(t, `${daemon.url}/mcp`);
  for (const server of ['pipe', 'web', 'new']) {
    const { result, error } = await caller.call(`${server}__ask`, { kind: 'roots' });
    assert.ok(result, JSON.stringify(error));
    assert.deepEqual(said(result), { answer: { roots: [{ uri: 'file:///srv/own' }] } });
  }
  assert.equal(caller.seen.length, 0);
});

// --- On the wire, legacy

// A call whose stream is read while it lasts.
async function openCall(session, id, args, name = 'pipe__ask') {
  return openStream(session.base, { path: session.endpoint, method: 'POST', headers: session.headers(),
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }) });
}
const asked = (stream) => eventually('a question', () =>
  stream.messages.find((m) => m.method && m.id !== undefined));
const answered = (stream, id) => eventually('the answer', () =>
  stream.messages.find((m) => m.id === id && m.result));

test('questions: C55: ids of the server, of mcpx and of the client are never confused', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy') } });
  const session = await Session.open(daemon.url, { capabilities: ALL });
  const other = await Session.open(daemon.url, { capabilities: ALL });
  const stream = await openCall(session, 1, { kind: 'form' });
  const question = await asked(stream);
  assert.notEqual(question.id, 1);
  assert.match(question.params.message, /pipe.*Name\?/);
  // Answers of somebody else, and to nothing, change nothing.
  const say = (from, id, name) => from.post(JSON.stringify({ jsonrpc: '2.0', id,
    result: { action: 'accept', content: { name } } }));
  assert.equal((await say(other, question.id, 'wrong session')).status, 202);
  assert.equal((await say(session, 1, 'wrong id')).status, 202);
  assert.equal((await say(session, question.id.replace(/.$/, '9999'), 'unknown')).status, 202);
  assert.equal((await say(session, question.id, 'right')).status, 202);
  assert.equal((await say(session, question.id, 'twice')).status, 202);
  const { result } = await answered(stream, 1);
  assert.equal(said(result).answer.content.name, 'right');
});

test('questions: C54: of two clients at one shared server each is asked for its own call', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy') } });
  const first = await overHttp(t, `${daemon.url}/mcp`);
  const second = await overHttp(t, `${daemon.url}/mcp`);
  await first.call('pipe__ask', { kind: 'form' });  // from now on one instance for each call
  first.seen.length = 0;
  const results = await Promise.all([first.call('pipe__ask', { kind: 'form' }),
    second.call('pipe__ask', { kind: 'url' })]);
  assert.deepEqual(results.map(({ result }) => said(result)),
    [{ answer: expected('form') }, { answer: expected('url') }]);
  assert.deepEqual([first.seen.map(kindOf), second.seen.map(kindOf)], [['form'], ['url']]);
});

test('questions: the time a question takes is not the call\'s', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy', { call_timeout: '2s' }),
    web: { url: await serveHttp(t), call_timeout: '2s' } } });
  const warm = await overHttp(t, `${daemon.url}/mcp`);
  for (const server of ['pipe', 'web']) {
    // The instance for such a client is there: its start is part of a call's time.
    await eventually('an instance', async () =>
      (await warm.call(`${server}__ask`, { kind: 'roots' })).result, 30_000);
    const session = await Session.open(daemon.url, { capabilities: ALL });
    const stream = await openCall(session, 5, { kind: 'form' }, `${server}__ask`);
    const question = await asked(stream);
    await new Promise((resolve) => { setTimeout(resolve, 2_500); });
    await session.post(JSON.stringify({ jsonrpc: '2.0', id: question.id, result: ANSWERS.form }));
    assert.deepEqual(said((await answered(stream, 5)).result), { answer: expected('form') });
  }
});

test('questions: a cancelled call takes its question with it', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy') } });
  const session = await Session.open(daemon.url, { capabilities: ALL });
  const stream = await openCall(session, 7, { kind: 'form' });
  await asked(stream);
  await session.notify('notifications/cancelled', { requestId: 7 });
  await stream.ended;
  assert.ok(!stream.messages.some((m) => m.id === 7));
  const after = await overHttp(t, `${daemon.url}/mcp`);
  assert.deepEqual(said((await after.call('pipe__ask', { kind: 'form' })).result), { answer: expected('form') });
});

// --- Between the eras

test('questions: C51: a legacy client is asked round by round by a modern server', async (t) => {
  const daemon = await Daemon.start(t, { servers: { new: stdio('modern') } });
  const caller = await overHttp(t, `${daemon.url}/mcp`);
  const { result, error } = await caller.call('new__ask', { kind: 'form', times: 3 });
  assert.ok(result, JSON.stringify(error));
  assert.deepEqual(said(result), Array(3).fill({ answer: expected('form') }));
  const endless = await caller.call('new__ask', { kind: 'form', times: 50 });
  assert.match(endless.error.message, /rounds/);
});

test('questions: C50: a modern client is asked by a legacy server in several rounds', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy') } });
  const caller = modernCaller(daemon, ALL);
  const { result, error } = await caller.call('pipe__ask', { kind: 'form', times: 3 });
  assert.ok(result, JSON.stringify(error));
  assert.deepEqual(said(result), Array(3).fill({ answer: expected('form') }));
  assert.equal(caller.seen.length, 3);
  caller.seen.length = 0;
  const together = await caller.call('pipe__ask', { kind: 'form', times: 4, together: true });
  assert.deepEqual(said(together.result), Array(4).fill({ answer: expected('form') }));
  assert.equal(caller.seen.length, 4);
});

test('questions: C50: a requestState that is foreign, altered or used is refused', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy') } });
  const params = { name: 'pipe__ask', arguments: { kind: 'form', a: 1, b: [2] } };
  const send = async (more, options = {}) => (await modern(daemon.url, 'tools/call', { ...params, ...more },
    { meta: { [CAPABILITIES]: ALL }, ...options })).message;
  const first = await send({});
  const { inputRequests, requestState } = first.result;
  const [key] = Object.keys(inputRequests);
  assert.equal(inputRequests[key].params.elicitationId, undefined);
  const inputResponses = { [key]: ANSWERS.form, other: { action: 'accept' } };

  const refused = async (what, message) => {
    assert.equal(message.error?.code, -32602, `${what}: ${JSON.stringify(message)}`);
    return message.error.data.code;
  };
  const at = requestState.length - 8;
  const flipped = requestState.slice(0, at) + (requestState[at] === 'A' ? 'B' : 'A') + requestState.slice(at + 1);
  for (const wrong of [`${requestState}x`, flipped, 'nonsense', '', 7, null]) {
    assert.equal(await refused(wrong, await send({ requestState: wrong, inputResponses })), 'ask.state_altered');
  }
  assert.equal(await refused('arguments', await send({ requestState, inputResponses,
    arguments: { kind: 'form', a: 2, b: [2] } })), 'ask.state_foreign');
  assert.equal(await refused('endpoint', (await modern(daemon.url, 'tools/call',
    { name: 'ask', arguments: params.arguments, requestState, inputResponses },
    { endpoint: '/mcp/pipe', meta: { [CAPABILITIES]: ALL } })).message), 'ask.state_foreign');

  // Without the answer it is asked again, with a new state; the order of members does not count.
  const again = await send({ requestState, inputResponses: { other: {} } });
  assert.equal(again.result.resultType, 'input_required');
  assert.notEqual(again.result.requestState, requestState);
  assert.equal(await refused('replayed', await send({ requestState, inputResponses })), 'ask.state_used');
  const done = await send({ arguments: { b: [2], a: 1, kind: 'form' }, inputResponses,
    requestState: again.result.requestState });
  assert.deepEqual(said(done.result), { answer: expected('form') });
  assert.equal(await refused('over', await send({ requestState: again.result.requestState, inputResponses })),
    'ask.state_used');
});

test('questions: answers sent up front are held for the questions they fit', async (t) => {
  const daemon = await Daemon.start(t, { servers: { pipe: stdio('legacy') } });
  const { message } = await modern(daemon.url, 'tools/call', { name: 'pipe__ask',
    arguments: { kind: 'form' }, inputResponses: { 'elicitation-1': ANSWERS.form } },
  { meta: { [CAPABILITIES]: ALL } });
  assert.deepEqual(said(message.result), { answer: expected('form') });
});
