// Nothing that was acknowledged is lost, and nothing is left behind: the daemon killed at random points
// right after answers, and very many calls that wait for somebody at once.
import assert from 'node:assert/strict';
import http from 'node:http';
import test from 'node:test';

import { expected, said, stdio } from './lib/asking.mjs';
import { serveHttp } from './lib/asking_server.mjs';
import { ask, list, post, start, waiting } from './lib/brokered.mjs';
import { slow } from './lib/paths.mjs';
import { modernHeaders, modernMeta } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const SEED = Number(process.env.MCPX_E2E_SEED ?? 20260728);

// Reproducible, so that a run that fails can be had again.
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test(`broker: killed at random points, no answer that was acknowledged is lost (seed ${SEED})`, async (t) => {
  const calls = 8;
  const next = random(SEED);
  const daemon = await start(t, {}, { pipe: stdio('legacy'), web: { url: await serveHttp(t) },
    new: stdio('modern') }, {}, { log: { level: 'info' } });
  const acknowledged = new Map();  // question: what it was answered
  const sent = new Set();          // what was acknowledged, and what was kept but the answer to that is lost
  // One at a time where calls can only be told apart once the server has asked.
  const begin = (i) => ask(daemon, i % calls === 0 ? 'pipe' : ['web', 'new'][i % 2], { kind: 'form', i });
  for (let round = 0; round < 6; round++) {
    const numbers = Array.from({ length: calls }, (_, i) => round * calls + i);
    const lost = Promise.all(numbers.map((i) => begin(i).catch(() => undefined)));
    const rows = await waiting(daemon, calls);
    const kill = new Promise((resolve) => { setTimeout(() => resolve(daemon.crash()), next() * 25); });
    const answers = await Promise.all(rows.map(async (row) => {
      const name = `answer-${row.id}`;
      sent.add(name);
      const told = await post(daemon, row.id, 'accept', { content: { name } }).catch(() => undefined);
      return told?.status === 200 && { id: row.id, name };
    }));
    await kill;
    await lost;
    daemon.spawn();
    await daemon.waitListening();
    await daemon.waitReady();
    for (const { id, name } of answers.filter(Boolean)) acknowledged.set(id, name);
    for (const { id } of answers.filter(Boolean)) {
      const kept = (await daemon.rest(`/v1/elicitations/${id}`)).json();
      assert.equal(kept.state, 'answered', `${id}: ${JSON.stringify(kept)}`);
      assert.equal(kept.action, 'accept');
    }
    // The same calls again: what was answered and never got there is not asked again.
    const undelivered = (await list(daemon, 'answered')).filter((row) => !row.delivered);
    const again = numbers.map((i) => begin(i));
    const settled = Promise.all(again);
    let done = false;
    settled.finally(() => { done = true; }).catch(() => {});
    await eventually('every call is answered', async () => {
      for (const row of await list(daemon)) await post(daemon, row.id, 'decline');
      return done;
    }, 20_000);
    const got = (await settled).map(({ message }) => said(message.result).answer);
    const accepted = got.filter((answer) => answer.action === 'accept');
    for (const { content } of accepted) assert.ok(sent.has(content.name), content.name);
    // A call to a modern server was made again by the daemon itself; the others are here.
    const mine = undelivered.filter((row) => row.server !== 'new').map((row) => acknowledged.get(row.id));
    for (const name of mine.filter(Boolean)) {
      assert.ok(accepted.some(({ content }) => content.name === name), `${name} was lost`);
    }
    await waiting(daemon, 0);
  }
  assert.ok(acknowledged.size > 0);
});

// A client that is gone before its call is over.
function vanish(daemon, args, until) {
  const params = { name: 'web__ask', arguments: args };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
    params: { ...params, _meta: modernMeta({}) } });
  return new Promise((resolve, reject) => {
    const outgoing = http.request(new URL('/mcp', daemon.url), { method: 'POST', agent: false,
      headers: modernHeaders('tools/call', params) });
    outgoing.on('error', () => {}).on('response', (incoming) => incoming.on('error', () => {}).resume())
      .on('close', resolve).end(body, () => until().then(() => outgoing.destroy(), reject));
  });
}

test(`broker: 200 calls that wait for somebody, answered, refused, expired and abandoned, leave nothing (seed ${SEED})`, async (t) => {
  const count = 200;
  const next = random(SEED);
  // The server itself gives up after a minute.
  const daemon = await start(t, { timeout: `${Math.min(15 * slow, 40)}s`, questions: count, per_server: count },
    { web: { url: await serveHttp(t) } }, {}, { threads: 2, log: { level: 'info' } });
  const fates = Array.from({ length: count }, () =>
    ['answer', 'answer', 'decline', 'twice', 'expire', 'vanish'][Math.floor(next() * 6)]);
  let leave;
  const left = new Promise((resolve) => { leave = resolve; });
  const calls = fates.map((fate, i) => {
    const args = { kind: 'form', i };
    return fate === 'vanish' ? vanish(daemon, args, () => left)
      : ask(daemon, 'web', args, { timeout: 120_000 * slow });
  });
  const rows = await waiting(daemon, count);
  // Which call a question is of is not told: fates are dealt out to the rows, but for those who leave.
  leave();
  await waiting(daemon, count - fates.filter((fate) => fate === 'vanish').length);
  const still = new Set((await list(daemon)).map((row) => row.id));
  const staying = rows.filter((row) => still.has(row.id));
  const dealt = fates.filter((fate) => fate !== 'vanish');
  const ends = await Promise.all(staying.map(async ({ id }, at) => {
    const accept = () => post(daemon, id, 'accept', { content: { name: 'Ada' } });
    switch (dealt[at]) {
      case 'answer': assert.equal((await accept()).status, 200); return 'accept';
      case 'decline': assert.equal((await post(daemon, id, 'decline')).status, 200); return 'decline';
      case 'twice': {
        const both = await Promise.all([accept(), accept()]);
        assert.deepEqual(both.map((a) => a.status).sort(), [200, 409]);
        return 'accept';
      }
      default: return 'cancel';
    }
  }));
  const outcomes = (await Promise.all(calls)).filter(Boolean).map(({ message }) => said(message.result).answer);
  for (const answer of outcomes.filter(({ action }) => action === 'accept')) assert.deepEqual(answer, expected('form'));
  const tally = (actions) => actions.reduce((sum, a) => ({ ...sum, [a]: (sum[a] ?? 0) + 1 }), {});
  assert.deepEqual(tally(outcomes.map(({ action }) => action)), tally(ends));
  await waiting(daemon, 0);
  await daemon.waitServer('web', (s) => s.in_flight === 0);
  const states = tally((await list(daemon, 'all')).map((row) => row.state));
  assert.deepEqual(states, { answered: ends.filter((e) => e !== 'cancel').length,
    expired: ends.filter((e) => e === 'cancel').length, withdrawn: fates.length - dealt.length });
  // No answer is kept once its call is over.
  await eventually('every answer is delivered', async () =>
    (await list(daemon, 'answered')).every((row) => row.delivered));
  // And it serves on.
  const call = ask(daemon, 'web');
  const [row] = await waiting(daemon);
  await post(daemon, row.id, 'decline');
  assert.deepEqual(said((await call).message.result), { answer: { action: 'decline' } });
});
