// Who is asked what in the place of callers that cannot be, or not everything: every kind, from every
// server, for every caller; in rounds that are shared with the caller; before a call that needs a
// visit first; outside of calls; and when others need the place.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';

import { ALL, ANSWERS, CAPABILITIES, expected, kindOf, modernCaller, said, stdio } from './lib/asking.mjs';
import { questions, serveHttp } from './lib/asking_server.mjs';
import { ask, list, mcpx, post, start, waiting } from './lib/brokered.mjs';
import { daemonEnvironment, temporary } from './lib/daemon.mjs';
import { binary, npmDir } from './lib/paths.mjs';
import { reload } from './lib/reload.mjs';
import { modern, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));
const DECLARE = ['form', 'url', 'sampling', 'sampling.tools'];
const everywhere = async (t) => ({ pipe: stdio('legacy'), web: { url: await serveHttp(t) }, new: stdio('modern') });

async function answer(daemon, kind) {
  const [row] = await waiting(daemon);
  const body = kind === 'form' ? { content: ANSWERS.form.content } : kind === 'url' ? {} : { result: ANSWERS[kind] };
  assert.equal((await post(daemon, row.id, 'accept', body)).status, 200);
  return row;
}

async function overConnect(t, daemon, capabilities) {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const { ResultSchema } = require('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'e2e', version: '1' }, { capabilities });
  await client.connect(new StdioClientTransport({ command: binary('mcpx'),
    args: ['connect', '--url', daemon.url], env: daemonEnvironment(daemon.dir), stderr: 'ignore' }));
  t.after(() => client.close());
  return (name, args) => client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema)
    .then((result) => ({ result }), (error) => ({ error }));
}
async function overSession(daemon, capabilities, endpoint = '/mcp') {
  const session = await Session.open(daemon.url, { capabilities, endpoint });
  return async (name, args) => (await session.call('tools/call', { name, arguments: args })).message;
}
const bare = async (t, daemon) => ({ stdio: await overConnect(t, daemon, {}),
  session: await overSession(daemon, {}), modern: modernCaller(daemon, {}).call });

test('broker: matrix: every kind, from every server, for every caller that declared nothing', async (t) => {
  const daemon = await start(t, { declare: DECLARE }, await everywhere(t));
  for (const [caller, call] of Object.entries(await bare(t, daemon))) {
    for (const server of ['pipe', 'web', 'new']) {
      for (const kind of Object.keys(questions)) {
        await t.test(`${kind} of ${server} for ${caller}`, async () => {
          const outcome = call(`${server}__ask`, { kind });
          if (kind === 'roots') {  // nobody knows them but the client
            const { result, error } = await outcome;
            if (server === 'new') assert.equal(error.code, caller === 'modern' ? -32021 : -32600);
            else assert.deepEqual(said(result), { refused: -32601 });
            return;
          }
          const row = await answer(daemon, kind);
          assert.equal(row.server, server);
          const { result, error } = await outcome;
          assert.ok(result, JSON.stringify(error));
          assert.deepEqual(said(result), { answer: expected(kind) });
        });
      }
    }
  }
  assert.equal((await list(daemon)).length, 0);
});

test('broker: matrix: what is not declared for anybody is refused, and so is all of it on /mcp/{server}', async (t) => {
  const servers = await everywhere(t);
  for (const [what, declare, aggregated] of [['nothing is declared', [], true], ['/mcp/{server}', DECLARE, false]]) {
    await t.test(what, async (s) => {
      const daemon = await start(s, { declare }, servers);
      for (const server of Object.keys(servers)) {
        const [endpoint, name] = aggregated ? ['/mcp', `${server}__ask`] : [`/mcp/${server}`, 'ask'];
        const session = await overSession(daemon, {}, endpoint);
        for (const kind of Object.keys(questions)) {
          const ofModern = await modernCaller(daemon, {}, endpoint).call(name, { kind });
          for (const { result, error } of [await session(name, { kind }), ofModern]) {
            if (server === 'new') assert.ok([-32021, -32600].includes(error.code), JSON.stringify(error));
            else assert.deepEqual(said(result), { refused: -32601 }, `${endpoint} ${kind}`);
          }
        }
      }
      assert.equal((await list(daemon, 'all')).length, 0);
      await daemon.stop();
    });
  }
});

test('broker: a caller that declared some of it is asked that itself', async (t) => {
  const daemon = await start(t, { declare: DECLARE }, await everywhere(t));
  for (const server of ['pipe', 'web', 'new']) {
    const caller = modernCaller(daemon, { elicitation: { form: {} } });
    const form = await caller.call(`${server}__ask`, { kind: 'form' });
    assert.equal(said(form.result).answer.content.name, 'Ada');
    assert.deepEqual(caller.seen.map(kindOf), ['form']);
    for (const kind of ['url', 'sampling', 'tools']) {
      const call = caller.call(`${server}__ask`, { kind });
      await answer(daemon, kind);
      assert.deepEqual(said((await call).result), { answer: ANSWERS[kind] });
    }
    assert.equal(caller.seen.length, 1);
  }
});

test('broker: of one round each is asked what it can answer, and the server gets all of it', async (t) => {
  const daemon = await start(t, { declare: DECLARE }, { new: stdio('modern') });
  for (const state of [true, false]) {
    const params = { name: 'new__ask', arguments: { kinds: ['form', 'sampling', 'url'], state } };
    const send = async (more) => (await modern(daemon.url, 'tools/call', { ...params, ...more },
      { meta: { [CAPABILITIES]: { elicitation: { form: {} } } } })).message;
    const first = send({});
    for (const row of await waiting(daemon, 2)) {
      const body = row.kind === 'url' ? {} : { result: ANSWERS.sampling };
      assert.equal((await post(daemon, row.id, 'accept', body)).status, 200);
    }
    const { result, error } = await first;
    assert.equal(result?.resultType, 'input_required', JSON.stringify(error));
    assert.deepEqual(Object.keys(result.inputRequests), ['form']);
    // What somebody else answered is sealed, and is not the caller's to say.
    assert.ok(!result.requestState.includes('assistant'));
    const inputResponses = { form: ANSWERS.form, url: { action: 'decline' } };
    const retry = { requestState: result.requestState, inputResponses };
    const done = await send(retry);
    assert.ok(done.result, JSON.stringify(done.error));
    const { got } = said(done.result);
    assert.deepEqual(got, { form: ANSWERS.form, sampling: ANSWERS.sampling, url: { action: 'accept' } });
    assert.equal(said(done.result).requestState !== undefined, state);
    assert.equal((await send(retry)).error.data.code, 'ask.state_used');
  }
});

test('broker: a call that needs a visit first is made again after it (C56)', async (t) => {
  const dir = temporary(t);
  const daemon = await start(t, {}, { pipe: stdio('legacy'), web: { url: await serveHttp(t) } });
  const callers = { ...await bare(t, daemon), 'modern with forms': modernCaller(daemon, { elicitation: {} }).call };
  for (const [caller, call] of Object.entries(callers)) {
    for (const server of ['pipe', 'web']) {
      const note = path.join(dir, `${caller} ${server}`);
      const outcome = call(`${server}__ask`, { kind: 'urls', note });
      const [row] = await waiting(daemon);
      assert.equal(row.kind, 'url');
      assert.equal(row.url, questions.url.params.url);
      writeFileSync(note, 'there');
      assert.equal((await post(daemon, row.id, 'accept')).status, 200);
      const { result, error } = await outcome;
      assert.ok(result, `${caller} ${server}: ${JSON.stringify(error)}`);
      assert.equal(said(result), 'visited');
      const declined = call(`${server}__ask`, { kind: 'urls' });
      const [again] = await waiting(daemon);
      assert.equal((await post(daemon, again.id, 'decline')).status, 200);
      assert.match((await declined).error.message, /did not visit the URL/);
    }
  }
});

test('broker: a call by hand that needs a visit first is left with what to do, and made again (C56)', async (t) => {
  const note = path.join(temporary(t), 'note');
  const daemon = await start(t, { declare: [] }, { pipe: stdio('legacy') });
  const left = await mcpx(daemon, ['call', 'pipe__ask', '--arg', 'kind=urls', '--arg', `note=${note}`]);
  assert.equal(left.code, 75, left.stderr);
  const [{ id, url }] = await list(daemon);
  assert.equal(url, questions.url.params.url);
  writeFileSync(note, 'there');
  assert.equal((await mcpx(daemon, ['elicit', 'answer', id, '--accept'])).code, 0);
  const taken = await mcpx(daemon, left.stderr.match(/mcpx (call --take c-\S+)/)[1].split(' '));
  assert.equal(taken.code, 0, taken.stderr);
  assert.match(taken.stdout, /visited/);
});

test('broker: what is asked after a call is nobody\'s, and waits', async (t) => {
  const dir = temporary(t);
  const daemon = await start(t, {}, { pipe: stdio('legacy'), web: { url: await serveHttp(t) } });
  // One who is there and could be asked is not: it is not its call.
  const caller = modernCaller(daemon, ALL);
  for (const server of ['pipe', 'web']) {
    const note = path.join(dir, server);
    const { result } = await modernCaller(daemon, {}).call(`${server}__ask`, { kind: 'form', after: true, note });
    assert.equal(said(result), 'later');
    const row = await answer(daemon, 'form');
    assert.equal(row.server, server);
    assert.equal(row.target, undefined);
    assert.equal(row.client, undefined);
    const told = await eventually('the server is answered', () => existsSync(note) && readFileSync(note, 'utf8'));
    assert.deepEqual(JSON.parse(told), { answer: expected('form') });
  }
  assert.equal(caller.seen.length, 0);
});

test('broker: a call whose question waits for somebody gives way to others that need its place', async (t) => {
  // One place besides the first instance.
  const daemon = await start(t, {}, { pipe: stdio('legacy', { instances: { max: 2 }, call_timeout: '4s' }) });
  const caller = modernCaller(daemon, ALL);
  await eventually('an instance', async () => (await caller.call('pipe__ask', { kind: 'form' })).result, 30_000);
  const first = ask(daemon, 'pipe', { kind: 'form' });
  const [{ id }] = await waiting(daemon);
  const second = ask(daemon, 'pipe', { kind: 'form' });
  await waiting(daemon, 2);
  const { result, error } = await caller.call('pipe__ask', { kind: 'form' });
  assert.ok(result, JSON.stringify(error));
  assert.deepEqual(said(result), { answer: expected('form') });
  assert.deepEqual(said((await second).message.result), { answer: { action: 'cancel' } });
  assert.equal((await list(daemon, 'withdrawn')).length, 1);
  // The first instance is nobody's place; its question waits on.
  assert.equal((await post(daemon, id, 'decline')).status, 200);
  assert.deepEqual(said((await first).message.result), { answer: { action: 'decline' } });
});

test('broker: a legacy client that lost its connection and stays away is asked nothing more', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') }, {}, { ask: { timeout: '1s' } });
  const session = await Session.open(daemon.url, { capabilities: ALL });
  const stream = await openStream(daemon.url, { path: '/mcp', method: 'POST', headers: session.headers(),
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call',
      params: { name: 'pipe__ask', arguments: { kind: 'form' } } }) });
  await eventually('it is asked', () => stream.methods().includes('elicitation/create'));
  const { id: place } = stream.events.findLast((event) => event.id);
  stream.close();
  const row = await answer(daemon, 'form');
  assert.equal(row.target, 'ask');
  // When it comes back after all, it hears that the question is no longer asked, and what came of the call.
  const rest = await openStream(daemon.url, { path: '/mcp',
    headers: { ...session.headers(), accept: 'text/event-stream', 'last-event-id': place } });
  const done = await eventually('the answer', () => rest.messages.find((m) => m.id === 7));
  assert.deepEqual(said(done.result), { answer: expected('form') });
  assert.ok(rest.methods().includes('notifications/cancelled'));
});

test('broker: a reload changes what is asked of whom', async (t) => {
  const daemon = await start(t, { declare: [] }, { pipe: stdio('legacy') });
  assert.deepEqual(said((await ask(daemon)).message.result), { refused: -32601 });
  await reload(daemon, (config) => { config.broker = { declare: ['form'] }; });
  const call = ask(daemon);
  await answer(daemon, 'form');
  assert.deepEqual(said((await call).message.result), { answer: expected('form') });
  const held = ask(daemon);
  const [{ id }] = await waiting(daemon);
  await reload(daemon, (config) => { config.broker.policy = 'decline'; });
  assert.deepEqual(said((await ask(daemon)).message.result), { answer: { action: 'decline' } });
  // What waits already waits on.
  assert.equal((await post(daemon, id, 'cancel')).status, 200);
  assert.deepEqual(said((await held).message.result), { answer: { action: 'cancel' } });
});
