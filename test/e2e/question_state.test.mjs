// What a client of 2026-07-28 holds while a server waits for its answers: requestState over
// restarts and between processes, its limits, and calls whose client does not come back.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { ALL, ANSWERS, CAPABILITIES, expected, modernCaller, said, stdio } from './lib/asking.mjs';
import { Daemon, temporary } from './lib/daemon.mjs';
import { modern } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const servers = (extra) => ({ new: stdio('modern'), pipe: stdio('legacy', extra) });
async function send(daemon, params, options = {}) {
  const { message } = await modern(daemon.url, 'tools/call', params,
    { meta: { [CAPABILITIES]: ALL }, ...options });
  return message;
}
const ask = (server, args) => ({ name: `${server}__ask`, arguments: { kind: 'form', ...args } });
// Its first request: what is asked, and the retry that answers it.
async function begin(daemon, params, options) {
  const { result, error } = await send(daemon, params, options);
  assert.equal(result?.resultType, 'input_required', JSON.stringify(error ?? result));
  const answers = Object.keys(result.inputRequests).map((key) => [key, ANSWERS.form]);
  return { ...result, retry: { ...params, requestState: result.requestState,
    inputResponses: Object.fromEntries(answers) } };
}
function refusal(message) {
  assert.equal(message.error?.code, -32602, JSON.stringify(message));
  return message.error.data.code;
}

test('state: what a modern server asks passes under its own keys, its state inside ours', async (t) => {
  const daemon = await Daemon.start(t, { servers: servers() });
  const merged = await begin(daemon, ask('new', { times: 2 }));
  assert.deepEqual(Object.keys(merged.inputRequests), ['question']);
  assert.match(merged.inputRequests.question.params.message, /new.*Name\?/);
  assert.match(merged.requestState, /^mcpx2\./);
  const second = (await send(daemon, merged.retry)).result;
  assert.equal(second.resultType, 'input_required');
  assert.notEqual(second.requestState, merged.requestState);
  const done = await send(daemon, { ...merged.retry, requestState: second.requestState });
  assert.deepEqual(said(done.result), Array(2).fill({ answer: ANSWERS.form }));

  const own = { name: 'ask', arguments: { kind: 'form' } };
  const through = await begin(daemon, own, { endpoint: '/mcp/new' });
  assert.equal(through.inputRequests.question.params.message, 'Name?');
  assert.deepEqual(said((await send(daemon, through.retry, { endpoint: '/mcp/new' })).result),
    { answer: ANSWERS.form });
});

test('state: of a modern server: altered, foreign, used', async (t) => {
  const daemon = await Daemon.start(t, { servers: servers() });
  const { requestState, retry } = await begin(daemon, ask('new'));
  const at = requestState.length - 8;
  const flipped = requestState.slice(0, at) + (requestState[at] === 'A' ? 'B' : 'A') + requestState.slice(at + 1);
  for (const wrong of [`${requestState}x`, flipped, 'W10', '', 7, null]) {
    assert.equal(refusal(await send(daemon, { ...retry, requestState: wrong })), 'ask.state_altered');
  }
  assert.equal(refusal(await send(daemon, { ...retry, arguments: { kind: 'url' } })), 'ask.state_foreign');
  assert.equal(refusal(await send(daemon, { ...retry, name: 'pipe__ask' })), 'ask.state_foreign');
  assert.equal(refusal(await send(daemon, { ...retry, name: 'ask' }, { endpoint: '/mcp/new' })),
    'ask.state_foreign');
  assert.deepEqual(said((await send(daemon, retry)).result), { answer: ANSWERS.form });
  assert.equal(refusal(await send(daemon, retry)), 'ask.state_used');
});

test('state: is good after a restart where nothing waits in mcpx, and once even then', async (t) => {
  const config = { servers: servers() };
  const before = await Daemon.start(t, config);
  const used = await begin(before, ask('new'));
  const fresh = await begin(before, ask('new'));
  const parked = await begin(before, ask('pipe'));
  assert.deepEqual(said((await send(before, used.retry)).result), { answer: ANSWERS.form });
  await before.stop();
  const after = await Daemon.start(t, config, { dir: before.dir, port: before.port });
  assert.deepEqual(said((await send(after, fresh.retry)).result), { answer: ANSWERS.form });
  for (const retry of [used.retry, fresh.retry]) {
    assert.equal(refusal(await send(after, retry)), 'ask.state_used');
  }
  // Its call was in the daemon that is gone.
  assert.equal(refusal(await send(after, parked.retry)), 'ask.state_expired');
});

test('state: another process that shares the state directory opens it, no other does', async (t) => {
  const state_dir = path.join(temporary(t), 'shared');
  const config = { state_dir, servers: servers() };
  const first = await Daemon.start(t, config);
  const second = await Daemon.start(t, config);
  const stranger = await Daemon.start(t, { servers: servers() });
  const { retry } = await begin(first, ask('new'));
  assert.equal(refusal(await send(stranger, retry)), 'ask.state_altered');
  assert.deepEqual(said((await send(second, retry)).result), { answer: ANSWERS.form });
  const back = await begin(second, ask('new'));
  assert.deepEqual(said((await send(first, back.retry)).result), { answer: ANSWERS.form });
});

test('state: expires with ask.state_ttl, and with it the call that waits', async (t) => {
  const note = path.join(temporary(t), 'note');
  const daemon = await Daemon.start(t, { ask: { state_ttl: '1s' }, servers: servers() });
  const through = await begin(daemon, ask('new'));
  const parked = await begin(daemon, ask('pipe', { note }));
  // C53: nobody comes back, and the server is answered all the same.
  await eventually('the server is answered', () =>
    assert.deepEqual(JSON.parse(readFileSync(note, 'utf8')), { answer: { action: 'cancel' } }) ?? true);
  assert.equal(refusal(await send(daemon, parked.retry)), 'ask.state_expired');
  assert.equal(refusal(await send(daemon, through.retry)), 'ask.state_expired');
  await daemon.waitServer('pipe', (s) => s.in_flight === 0);
});

test('state: a question nobody answers ends with ask.timeout, and the retry brings the outcome', async (t) => {
  const note = path.join(temporary(t), 'note');
  const daemon = await Daemon.start(t, { ask: { timeout: '1s' }, servers: servers() });
  const { retry } = await begin(daemon, ask('pipe', { note }));
  await eventually('the server is answered', () => readFileSync(note, 'utf8'));
  assert.deepEqual(said((await send(daemon, retry)).result), { answer: { action: 'cancel' } });
});

test('questions: ask.rounds bounds what one call asks', async (t) => {
  const daemon = await Daemon.start(t, { ask: { rounds: 2 }, servers: servers() });
  const { result } = await modernCaller(daemon, ALL).call('pipe__ask', { kind: 'form', times: 3 });
  assert.deepEqual(said(result), [{ answer: expected('form') }, { answer: expected('form') },
    { answer: { action: 'cancel' } }]);
});

test('questions: a server that asks more often than it may is answered without', async (t) => {
  const daemon = await Daemon.start(t, { ask: { per_server: 2 }, servers: servers() });
  const caller = modernCaller(daemon, ALL);
  const { result } = await caller.call('pipe__ask', { kind: 'form', times: 3 });
  assert.deepEqual(said(result).map(({ answer }) => answer.action), ['accept', 'accept', 'cancel']);
  assert.equal(caller.seen.length, 2);
});

test('questions: a client that does not come back does not block the pool', async (t) => {
  const note = path.join(temporary(t), 'note');
  // One place besides the first instance, which reads the lists.
  const daemon = await Daemon.start(t, { servers: servers({ instances: { max: 2 }, call_timeout: '4s' }) });
  await eventually('an instance', async () =>
    (await modernCaller(daemon, ALL).call('pipe__ask', { kind: 'form' })).result, 30_000);
  const abandoned = await begin(daemon, ask('pipe', { note }));
  const { result, error } = await modernCaller(daemon, ALL).call('pipe__ask', { kind: 'form' });
  assert.ok(result, JSON.stringify(error));
  assert.deepEqual(said(result), { answer: expected('form') });
  assert.deepEqual(JSON.parse(readFileSync(note, 'utf8')), { answer: { action: 'cancel' } });
  assert.equal(refusal(await send(daemon, abandoned.retry)), 'ask.given_up');
});
