// The fault harness, for a few seconds and from seeds that stay the same. test/e2e/faults/run.mjs
// runs it for longer, from any seed.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Harness } from './faults/harness.mjs';
import { documentedCodes, judge, responseIn, Violation } from './faults/invariants.mjs';
import { contentOf, fill } from './faults/echo.mjs';
import { Random } from './faults/random.mjs';

const SEEDS = process.env.MCPX_FAULT_SEED ? [Number(process.env.MCPX_FAULT_SEED)] : [3, 20, 77];
const SECONDS = 4;
// So that the back-off afterwards stays short.
const MILD = { pace: 250, starts: 0.1 };

test('faults: 64 callers, upstreams that fail in every way, one right answer each', async (t) => {
  const harness = await Harness.start(t);
  const outcomes = {};
  const memory = [];
  for (const seed of SEEDS) {
    t.diagnostic(`seed ${seed}; again: node test/e2e/faults/run.mjs --seed ${seed} --seconds ${SECONDS}`);
    const round = await harness.round(seed, SECONDS, MILD);
    memory.push(round.memory);
    for (const [server, row] of Object.entries(round.report.outcomes)) {
      for (const [outcome, count] of Object.entries(row)) {
        outcomes[server] ??= {};
        outcomes[server][outcome] = (outcomes[server][outcome] ?? 0) + count;
      }
    }
  }
  harness.assertMemory(memory[0], memory.at(-1));
  t.diagnostic(`resident KiB after each round: ${memory.join(', ')}`);
  // The faults have to have had an effect, and the servers their share of calls.
  for (const [server, row] of Object.entries(outcomes)) {
    t.diagnostic(`${server}: ${JSON.stringify(row)}`);
    assert.ok(row.ok > 0, `${server} answered nothing: ${JSON.stringify(row)}`);
    const failures = Object.keys(row).filter((outcome) => outcome.includes('.'));
    assert.equal(failures.length > 0, server.startsWith('victim'), `${server}: ${JSON.stringify(row)}`);
  }
});

test('faults: the judge sees what it is there for', () => {
  const call = { server: 's', arguments: { nonce: 'n', size: 3, payload: '' } };
  const http = (...messages) => ({ status: 200, headers: { 'content-type': 'text/event-stream' },
    text: messages.map((m) => `data: ${JSON.stringify(m)}\n\n`).join('') });
  const good = { jsonrpc: '2.0', id: 1, result: { content: contentOf('s', call.arguments) } };
  const judged = (...messages) => judge(call, http(...messages), responseIn(http(...messages), 1, 't'));
  const progress = (token, done) => ({ method: 'notifications/progress',
    params: { progressToken: token, progress: done } });
  const failure = (data, message = 'server s failed') => ({ id: 1, error: { code: -31010, message, data } });
  const data = { code: 'upstream.timeout', server: 's', remedy: 'wait' };
  assert.equal(judged(good), 'ok');
  assert.equal(judged(progress('t', 1), progress('t', 2), good), 'ok');
  assert.equal(judged(failure(data)), 'upstream.timeout');
  const bad = {
    'another id': [{ ...good, id: 2 }], 'the id as a text': [{ ...good, id: '1' }], 'two responses': [good, good],
    'the content of another call': [{ id: 1, result: { content: contentOf('s', { ...call.arguments, nonce: 'm' }) } }],
    'a content cut short': [{ id: 1, result: { content: contentOf('s', { ...call.arguments, size: 2 }) } }],
    'another server': [{ id: 1, result: { content: contentOf('t', call.arguments) } }],
    'both members': [{ ...good, error: {} }], 'neither member': [{ id: 1 }],
    "another's progress": [progress('u', 1), good], 'progress that goes back': [progress('t', 2), progress('t', 1), good],
    'progress after the end': [good, progress('t', 1)], 'a request': [{ id: 7, method: 'ping' }, good],
    'an unknown code': [failure({ ...data, code: 'upstream.surprise' })],
    'another server to blame': [failure({ ...data, server: 't' })],
    'no remedy': [failure({ ...data, remedy: '' })], 'a message that says nothing': [failure(data, 'failed')],
    "another's error": [{ id: 1, error: { code: -32050, message: 'x', data: { nonce: 'm' } } }],
  };
  for (const [what, messages] of Object.entries(bad)) assert.throws(() => judged(...messages), Violation, what);
  assert.ok(documentedCodes().has('upstream.exited'));
  assert.ok(!documentedCodes().has('upstream.surprise'));
});

test('faults: random numbers repeat, and their streams differ', () => {
  const draw = (...path) => Array.from({ length: 5 }, ((r) => () => r.next())(new Random(...path)));
  assert.deepEqual(draw(1, 'caller', 2), draw(1, 'caller', 2));
  assert.notDeepEqual(draw(1, 'caller', 2), draw(1, 'caller', 3));
  assert.notDeepEqual(draw(1, 'caller', 2), draw(2, 'caller', 2));
  assert.ok(draw(9).every((n) => n >= 0 && n < 1));
  assert.equal(fill('abc', 1000).length >= 999, true);
});
