// Questions that no connected client can answer: kept, answered from elsewhere, raced for, expired,
// and over restarts and kills of the daemon.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';

import { CAPABILITIES, stdio } from './lib/asking.mjs';
import { questions, serveHttp } from './lib/asking_server.mjs';
import { ask, list, mcpx, post, start, waiting } from './lib/brokered.mjs';
import { Daemon, daemonEnvironment, recorded, run, scripted, temporary } from './lib/daemon.mjs';
import { binary, root, upstreams } from './lib/paths.mjs';
import { modern, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually, within } from './lib/wait.mjs';

const said = ({ message }) => JSON.parse(message.result.content[0].text);
const ADA = { action: 'accept', content: { name: 'Ada', colour: 'red' } };

test('broker: a call waits while its question is answered from another terminal', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy'), web: { url: await serveHttp(t) },
    new: stdio('modern') });
  for (const server of ['pipe', 'web', 'new']) {
    await t.test(`of a modern client to ${server}`, async () => {
      const call = ask(daemon, server);
      const [row] = await waiting(daemon);
      assert.equal(row.server, server);
      assert.equal(row.kind, 'form');
      assert.equal(row.target, 'ask');
      assert.equal((await daemon.status()).questions, 1);
      assert.match((await mcpx(daemon, ['status'])).stdout, /questions +1 wait for an answer: mcpx elicit list/);
      const listed = await mcpx(daemon, ['elicit', 'list']);
      assert.match(listed.stdout, new RegExp(row.id));
      const shown = await mcpx(daemon, ['elicit', 'show', row.id]);
      assert.match(shown.stdout, /mcpx elicit answer q-[0-9a-f]+ --set name=VALUE/);
      const answered = await mcpx(daemon, ['elicit', 'answer', row.id, '--set', 'name=Ada']);
      assert.equal(answered.code, 0, answered.stderr);
      assert.deepEqual(said(await call), { answer: ADA });
      assert.equal((await list(daemon)).length, 0);
    });
  }
  await t.test('of a legacy client that declared nothing', async () => {
    const session = await Session.open(daemon.url);
    const call = session.call('tools/call', { name: 'pipe__ask', arguments: { kind: 'form' } });
    const [row] = await waiting(daemon);
    assert.equal((await post(daemon, row.id, 'decline')).status, 200);
    assert.deepEqual(said(await call), { answer: { action: 'decline' } });
  });
  await t.test('a URL, and sampling', async () => {
    const visit = ask(daemon, 'pipe', { kind: 'url' });
    const [url] = await waiting(daemon);
    assert.equal(url.url, 'https://a.example/in?x=%41');
    const yes = await mcpx(daemon, ['elicit', 'answer', url.id, '--accept']);
    assert.equal(yes.code, 0, yes.stderr);
    assert.deepEqual(said(await visit), { answer: { action: 'accept' } });
    const sample = ask(daemon, 'pipe', { kind: 'sampling' });
    const [sampling] = await waiting(daemon);
    const result = { role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'm' };
    assert.equal((await post(daemon, sampling.id, 'accept', { content: {} })).status, 422);
    assert.equal((await post(daemon, sampling.id, 'accept', { result })).status, 200);
    assert.deepEqual(said(await sample), { answer: result });
    // What a model was asked is not kept, nor what anybody answered.
    const { params } = (await daemon.rest(`/v1/elicitations/${sampling.id}`)).json();
    assert.deepEqual(params, {});
  });
  await t.test('who answered what, when, from where', async () => {
    const rows = await list(daemon, 'all');
    assert.equal(rows.length, 6);
    assert.ok(rows.every((row) => row.state === 'answered' && row.answered_at >= row.created_at));
    assert.deepEqual(new Set(rows.map((row) => row.surface)), new Set(['cli', 'rest']));
    assert.ok(!JSON.stringify(rows).includes('Ada'));
  });
});

test('broker: on /mcp/{server}, and where it is not asked for, nothing is declared for a client', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const call = { name: 'ask', arguments: { kind: 'form' } };
  assert.deepEqual(said(await modern(daemon.url, 'tools/call', call, { endpoint: '/mcp/pipe' })),
    { refused: -32601 });
  assert.deepEqual(said(await ask(daemon, 'pipe', { kind: 'roots' })), { refused: -32601 });
});

test('broker: what a server asks outside of any call waits too', async (t) => {
  const dir = temporary(t);
  const asked = JSON.stringify({ jsonrpc: '2.0', id: 'own-1', ...questions.form });
  const daemon = await start(t, {}, { odd: scripted(dir, 'odd', {
    tools: [{ name: 'x', inputSchema: { type: 'object' } }], noise: { 'tools/list': [asked] } }) }, { dir });
  const [row] = await waiting(daemon);
  assert.equal(row.server, 'odd');
  assert.equal(row.target, undefined);
  assert.equal((await post(daemon, row.id, 'accept', { content: { name: 'Ada' } })).status, 200);
  const answer = await eventually('the server is answered', () => recorded(dir, 'odd')
    .filter((e) => e.at === 'line').map((e) => JSON.parse(e.text)).find((m) => m.id === 'own-1'));
  assert.deepEqual(answer.result, ADA);
});

test('broker: of two who answer one counts, and the other is told', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const call = ask(daemon);
  const [{ id }] = await waiting(daemon);
  const answers = await Promise.all(['decline', 'cancel', 'decline', 'cancel'].map((action) => post(daemon, id, action)));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409, 409]);
  const late = answers.find((a) => a.status === 409).json();
  assert.equal(late.error.code, 'broker.settled');
  assert.ok(['decline', 'cancel'].includes(said(await call).answer.action));
  const cli = await mcpx(daemon, ['elicit', 'decline', id]);
  assert.equal(cli.code, 1);
  assert.match(cli.stderr, /is settled/);
});

test('broker: what nobody answers expires, and a call that is cancelled takes its question along', async (t) => {
  const daemon = await start(t, { timeout: '1s' }, { pipe: stdio('legacy') });
  assert.deepEqual(said(await ask(daemon)), { answer: { action: 'cancel' } });
  assert.equal((await list(daemon, 'expired')).length, 1);
  const patient = await start(t, {}, { pipe: stdio('legacy') });
  const gone = new AbortController();
  const call = fetch(`${patient.url}/v1/tools/pipe__ask/call`, { method: 'POST', signal: gone.signal,
    headers: { 'content-type': 'application/json' }, body: JSON.stringify({ arguments: { kind: 'form' } }) });
  await waiting(patient);
  gone.abort();
  await assert.rejects(call);
  await waiting(patient, 0);
  assert.equal((await list(patient, 'withdrawn')).length, 1);
});

test('broker: policy and rules answer without anybody', async (t) => {
  const daemon = await start(t, { policy: 'decline', rules: [
    { field: 'name', server: 'a', answer: 'accept', content: { name: 'Rule' } },
    { mode: 'url', answer: 'cancel' }] }, { a: stdio('legacy'), b: stdio('legacy') });
  assert.deepEqual(said(await ask(daemon, 'a')),
    { answer: { action: 'accept', content: { name: 'Rule', colour: 'red' } } });
  assert.deepEqual(said(await ask(daemon, 'b')), { answer: { action: 'decline' } });
  assert.deepEqual(said(await ask(daemon, 'a', { kind: 'url' })), { answer: { action: 'cancel' } });
  const surfaces = (await list(daemon, 'all')).map((row) => row.answered_by).sort();
  assert.deepEqual(surfaces, ['broker.policy', 'broker.rules[1]', 'broker.rules[2]']);
});

test('broker: mcpx call leaves a question with exit code 75, and the result is had later', async (t) => {
  const daemon = await start(t, { declare: [] }, { pipe: stdio('legacy') });
  const left = await mcpx(daemon, ['call', 'pipe__ask', '--arg', 'kind=form']);
  assert.equal(left.code, 75, left.stderr);
  const [{ id }] = await list(daemon);
  const command = left.stderr.match(/mcpx (elicit answer q-\S+ --set name=)VALUE/);
  assert.ok(command && command[1].includes(id), left.stderr);
  const take = left.stderr.match(/mcpx (call --take c-\S+)/)[1].split(' ');
  const again = await mcpx(daemon, take);
  assert.equal(again.code, 75, again.stderr);
  const answered = await mcpx(daemon, [...command[1].split(' ').slice(0, -1), 'name=Ada']);
  assert.equal(answered.code, 0, answered.stderr);
  const taken = await mcpx(daemon, take);
  assert.equal(taken.code, 0, taken.stderr);
  assert.deepEqual(JSON.parse(taken.stdout), { answer: ADA });
  assert.equal((await mcpx(daemon, take)).code, 1);
  const json = await mcpx(daemon, ['call', 'pipe__ask', '--arg', 'kind=form', '--json']);
  assert.equal(json.code, 75);
  assert.equal(JSON.parse(json.stdout).questions[0].kind, 'form');
});

// A program on a terminal of its own: {shown(), type(line), ended}.
function onTerminal(t, daemon, args) {
  const command = [binary('mcpx'), ...args, '--url', daemon.url].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qfec', command, '/dev/null'],
    { env: daemonEnvironment(daemon.dir), stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  let shown = '';
  child.stdout.on('data', (data) => { shown += data; });
  let read = 0;
  // Once `prompt` is shown, after what was answered last.
  const type = async (prompt, line) => {
    await eventually(`'${prompt}' is shown`, () => shown.indexOf(prompt, read) >= 0);
    read = shown.length;
    child.stdin.write(`${line}\r`);
  };
  return { type, shown: () => shown, ended: new Promise((resolve) => { child.on('exit', resolve); }) };
}

test('broker: on a terminal mcpx call asks who made the call, and mcpx elicit answer whoever it is', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const caller = onTerminal(t, daemon, ['call', 'pipe__ask', '--arg', 'kind=form']);
  await caller.type('[a] fill in the form', 'a');
  await caller.type('name: ', 'Ad');
  await caller.type('colour ["red"]: ', 'blue');
  await caller.type('send it? [y/N]', 'n');  // seen, and typed again
  await caller.type('[a] fill in the form', 'a');
  await caller.type('name: ', 'Ada');
  await caller.type('colour ["red"]: ', '');
  await caller.type('send it? [y/N]', 'y');
  assert.equal(await within('the call is done', 10_000, caller.ended), 0, caller.shown());
  assert.match(caller.shown(), /"answer":\{"action":"accept","content":\{"name":"Ada","colour":"red"\}\}/);
  assert.match(caller.shown(), /server\S* +pipe/);

  const call = ask(daemon, 'pipe', { kind: 'url' });
  const [{ id }] = await waiting(daemon);
  const visitor = onTerminal(t, daemon, ['elicit', 'answer', id]);
  await visitor.type('[a] accept', 'x');
  await visitor.type('[a] accept', 'd');
  assert.equal(await within('it is answered', 10_000, visitor.ended), 0, visitor.shown());
  assert.match(visitor.shown(), /https:\/\/a\.example\/in\?x=%41/);
  assert.match(visitor.shown(), /host\S* +a\.example/);
  assert.deepEqual(said(await call), { answer: { action: 'decline' } });
});

test('broker: mcpx call --wait waits for whoever answers', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const call = mcpx(daemon, ['call', 'pipe__ask', '--arg', 'kind=form', '--wait']);
  const [{ id }] = await waiting(daemon);
  const typed = await mcpx(daemon, ['elicit', 'answer', id, '--content', '-'], { input: '{"name":"Ada"}' });
  assert.equal(typed.code, 0, typed.stderr);
  const done = await call;
  assert.equal(done.code, 0, done.stderr);
  assert.deepEqual(JSON.parse(done.stdout), { answer: ADA });
});

test('broker: a call that asks two things at once, waited for by one that leaves and one that stays', async (t) => {
  const daemon = await start(t, {}, { new: stdio('modern') });
  const begun = await daemon.rest('/v1/tools/new__ask/call', { method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: { kinds: ['form', 'url'] }, questions: 'return' }) });
  assert.equal(begun.status, 202, begun.text);
  const { call } = begun.json();
  const rows = await waiting(daemon, 2);
  const wait = (after, seconds = 0) => daemon.rest(`/v1/calls/${call}?wait=${seconds}&after=${after}`);
  const first = (await wait('')).json().questions.map(({ id }) => id);
  assert.deepEqual(first.toSorted(), rows.map(({ id }) => id).toSorted());
  assert.deepEqual((await wait(first[0])).json().questions.map(({ id }) => id), [first[1]]);
  assert.deepEqual((await wait(first[1])).json().questions, [], 'what was told before is not told again');

  // Two that wait; the first to come goes before there is anything to hear.
  const socket = net.connect(daemon.port, '127.0.0.1');
  socket.write(`GET /v1/calls/${call}?wait=60&after=${first[1]} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await eventually('it waits', async () => (await daemon.status()).connections >= 2);
  const { connections } = await daemon.status();
  socket.destroy();
  await eventually('it is gone', async () => (await daemon.status()).connections < connections);
  const stays = wait(first[1], 60);
  const answers = { form: { content: { name: 'Ada' } }, url: {} };
  for (const { id, kind } of rows) assert.equal((await post(daemon, id, 'accept', answers[kind])).status, 200);
  const outcome = await stays;
  assert.equal(outcome.status, 200, outcome.text);
  assert.equal((await wait('')).status, 404, 'it is had once');
});

test('broker: events tell what happens to questions, and go on where a reader stopped', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const follow = (headers) => openStream(daemon.url, { path: '/v1/events', headers });
  const first = await follow({});
  const watch = spawn(binary('mcpx'), ['elicit', 'watch', '--json', '--url', daemon.url],
    { env: daemonEnvironment(daemon.dir), stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => watch.kill());
  let told = '';
  watch.stdout.on('data', (data) => { told += data; });
  const call = ask(daemon);
  const [{ id }] = await waiting(daemon);
  await eventually('the first reader is told', () => first.messages.length === 1);
  assert.equal(first.messages[0].type, 'question.created');
  assert.equal(first.messages[0].question.id, id);
  const place = first.events.find((event) => event.data).id;
  first.close();
  await post(daemon, id, 'decline');
  await call;
  const second = await follow({ 'last-event-id': place });
  await eventually('the second reader goes on', () => second.messages.length === 1);
  assert.equal(second.messages[0].type, 'question.answered');
  assert.equal(second.messages[0].question.action, 'decline');
  second.close();
  const strange = await follow({ 'last-event-id': 'other-7' });
  await eventually('the third is told to look', () => strange.messages.length === 1);
  assert.equal(strange.messages[0].type, 'events.missed');
  const more = ask(daemon);
  const [{ id: next }] = await waiting(daemon);
  await post(daemon, next, 'cancel');
  await more;
  await eventually('the watcher is told', () => told.includes(next) && told.includes('question.answered'));
  await daemon.stop();
  await within('the stream ends with the daemon', 5_000, strange.ended);
});

test('broker: so many may follow the events and no more, until one goes', async (t) => {
  const daemon = await start(t, {}, {});
  const readers = await Promise.all(Array.from({ length: 64 }, () => openStream(daemon.url, { path: '/v1/events' })));
  // What is let in is a stream without an end.
  const status = async () => (await daemon.rest('/v1/events', { timeout: 300 }).catch(() => ({ status: 200 }))).status;
  await eventually('one more is refused', async () => await status() === 503);
  const refused = (await daemon.rest('/v1/events')).json();
  assert.equal(refused.error.code, 'admin.too_many_readers');
  readers.pop().close();
  await eventually('another is let in', async () => await status() === 200);
  for (const reader of readers) reader.close();
});

test('broker: what is asked wrongly over /v1 is refused', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const call = ask(daemon);
  const [{ id }] = await waiting(daemon);
  const raw = (where, options) => daemon.rest(where, options);
  const json = { 'content-type': 'application/json' };
  const cases = [
    [404, '/v1/elicitations/q-0', {}],
    [404, '/v1/elicitations/..%2f..%2fstatus', {}],
    [404, `/v1/elicitations/${id}/accept/more`, { method: 'POST' }],
    [404, `/v1/elicitations/${id}/approve`, { method: 'POST' }],
    [404, '/v1/elicitationsx', {}],
    [405, `/v1/elicitations/${id}/accept`, {}],
    [405, `/v1/elicitations/${id}`, { method: 'POST' }],
    [405, '/v1/events', { method: 'POST' }],
    [400, '/v1/elicitations?state=nonsense', {}],
    [415, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":{}}', headers: { 'content-type': 'text/plain' } }],
    [400, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":', headers: json }],
    [400, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '[]', headers: json }],
    [400, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":[]}', headers: json }],
    [400, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":{},"result":{}}', headers: json }],
    [400, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '['.repeat(100) + ']'.repeat(100), headers: json }],
    [422, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{}', headers: json }],
    [422, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":{"name":7}}', headers: json }],
    [422, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":{"name":"a","x":1}}', headers: json }],
    [422, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{"content":{"name":"a","n\\u0061me":"b"}}', headers: json }],
    [400, `/v1/elicitations/${id}/accept`, { method: 'POST', body: Buffer.from('{"content":{"name":"\xff"}}', 'latin1'), headers: json }],
    [404, `/v1/elicitations/${'q'.repeat(4000)}`, {}],
    [404, '/v1/elicitations/q-%00%1b%5b31m%22', {}],
    [404, `/v1/elicitations/${id.toUpperCase()}`, {}],
    [404, `/v1/elicitations/${id}%00/accept`, { method: 'POST' }],
    [403, `/v1/elicitations/${id}/accept`, { method: 'POST', body: '{}', headers: { ...json, origin: 'https://evil.example' } }],
    [404, '/v1/calls/c-0', {}],
  ];
  for (const [status, where, options] of cases) {
    const answer = await raw(where, options);
    assert.equal(answer.status, status, `${options.method ?? 'GET'} ${where} ${options.body ?? ''}: ${answer.text}`);
    assert.ok(answer.json().error.message);
  }
  assert.equal((await list(daemon)).length, 1);
  await post(daemon, id, 'cancel');
  await call;
});

test('broker: with tokens only an administrator sees questions, and answers them', async (t) => {
  const digest = (token) => createHash('sha256').update(token).digest('hex');
  const daemon = await start(t, {}, { pipe: stdio('legacy') }, { token: 'of-the-administrator' },
    { listen: { tokens: { some: { sha256: digest('of-somebody') },
      root: { sha256: digest('of-the-administrator'), admin: true } } } });
  const call = ask(daemon, 'pipe', { kind: 'form' }, { headers: { authorization: 'Bearer of-somebody' } });
  const [row] = await waiting(daemon);
  assert.equal(row.principal, 'some');
  for (const [authorization, status] of [['Bearer of-somebody', 403], ['Bearer wrong', 401]]) {
    for (const where of ['', `/${row.id}`, `/${row.id}/accept`, '/../events', '/../calls/c-1']) {
      const method = where.endsWith('accept') ? 'POST' : 'GET';
      const answer = await daemon.rest(new URL(`/v1/elicitations${where}`, daemon.url).pathname,
        { method, headers: { authorization } });
      assert.equal(answer.status, status, `${method} ${where}: ${answer.text}`);
      assert.ok(!answer.text.includes('Name?'));
    }
  }
  const answered = await post(daemon, row.id, 'decline');
  assert.equal(answered.json().answered_by, 'root');
  await call;
});

test('broker: what a hostile server asks does nothing to a terminal, nor to a shell', async (t) => {
  const dir = temporary(t);
  const marker = path.join(dir, 'done');
  const field = `x'; touch ${marker}; echo '$(touch ${marker})`;
  const params = { message: 'Hi\u001b]0;owned\u0007\u001b[2J\u202ereversed', requestedSchema: { type: 'object',
    properties: { [field]: { type: 'string', title: '\u001b[31mred' } }, required: [field] } };
  const asked = JSON.stringify({ jsonrpc: '2.0', id: 'own-1', method: 'elicitation/create', params });
  const daemon = await start(t, {}, { odd: scripted(dir, 'odd', {
    tools: [{ name: 'x', inputSchema: { type: 'object' } }], noise: { 'tools/list': [asked] } }) }, { dir });
  const [{ id }] = await waiting(daemon);
  for (const args of [['list'], ['show', id]]) {
    const shown = await mcpx(daemon, ['elicit', ...args]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.doesNotMatch(shown.stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
  const { stdout } = await mcpx(daemon, ['elicit', 'show', id]);
  const command = stdout.match(/answer it with: mcpx (.*)\n/)[1];
  const pasted = await run('sh', ['-c', `${binary('mcpx')} --url ${daemon.url} ${command}`],
    { env: daemonEnvironment(daemon.dir), cwd: dir });
  assert.equal(pasted.code, 0, pasted.stderr);
  assert.ok(!existsSync(marker));
  const answer = await eventually('the server is answered', () => recorded(dir, 'odd')
    .filter((e) => e.at === 'line').map((e) => JSON.parse(e.text)).find((m) => m.id === 'own-1'));
  assert.deepEqual(answer.result.content, { [field]: 'VALUE' });
});

test('broker: mcpx call is asked whatever the policy is for when nobody is there', async (t) => {
  const daemon = await start(t, { policy: 'decline' }, { pipe: stdio('legacy') });
  const left = await mcpx(daemon, ['call', 'pipe__ask', '--arg', 'kind=form']);
  assert.equal(left.code, 75, left.stderr);
  const [{ id }] = await list(daemon);
  assert.equal((await post(daemon, id, 'cancel')).status, 200);
  assert.deepEqual(said(await ask(daemon)), { answer: { action: 'decline' } });
});

test('broker: what somebody answers shows neither in /v1 nor in the log', async (t) => {
  const secret = 'correct-horse-battery';
  const daemon = await start(t, { rules: [{ server: 'pipe', answer: 'ask' }] },
    { pipe: stdio('legacy', { env: { API_KEY: '${env:SECRET}' } }) }, { env: { SECRET: secret } });
  const call = ask(daemon, 'pipe', { kind: 'form' });
  const [{ id }] = await waiting(daemon);
  const shown = await daemon.rest(`/v1/elicitations/${id}`);
  assert.ok(!shown.text.includes(secret));
  await post(daemon, id, 'accept', { content: { name: secret } });
  assert.deepEqual(said(await call).answer.content.name, secret);
  assert.ok(!(await daemon.rest('/v1/elicitations?state=all')).text.includes(secret));
  assert.ok(!daemon.log().includes(secret));
});

test('broker: a kill right after an acknowledged answer loses nothing', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy') });
  const call = ask(daemon, 'pipe', { kind: 'form', times: 2 }).catch(() => undefined);
  const [first] = await waiting(daemon);
  const acknowledged = await post(daemon, first.id, 'accept', { content: { name: 'Ada' } });
  assert.equal(acknowledged.status, 200);
  await daemon.crash();
  await call;
  daemon.spawn();
  await daemon.waitListening();
  await daemon.waitReady();
  const kept = (await daemon.rest(`/v1/elicitations/${first.id}`)).json();
  assert.equal(kept.action, 'accept');
  assert.equal(kept.delivered, false);
  // The same call made again: what was answered is not asked again.
  const again = ask(daemon, 'pipe', { kind: 'form', times: 2 });
  const [second] = await waiting(daemon);
  assert.notEqual(second.id, first.id);
  await post(daemon, second.id, 'decline');
  assert.deepEqual(said(await again), [{ answer: ADA }, { answer: { action: 'decline' } }]);
});

test('broker: over a restart a call to a legacy server is orphaned, one to a modern server is made again', async (t) => {
  const daemon = await start(t, {}, { pipe: stdio('legacy'), new: stdio('modern') });
  // The second could be asked a form itself, but is not.
  const meta = { [CAPABILITIES]: { elicitation: { form: {} } } };
  const calls = [ask(daemon, 'pipe'), ask(daemon, 'new', { kind: 'url' }, { meta })].map((c) => c.catch(() => undefined));
  await waiting(daemon, 2);
  await daemon.stop();
  await Promise.all(calls);
  daemon.spawn();
  await daemon.waitListening();
  await daemon.waitReady();
  const [row] = await waiting(daemon);
  assert.equal(row.server, 'new');
  assert.equal((await list(daemon, 'orphaned')).length, 1);
  assert.equal((await post(daemon, row.id, 'accept')).status, 200);
  await eventually('the call is made again', () => daemon.log().includes('the call of new that waited for answers since before the restart is done'));
});

// README, "Answer what a server asks": its configuration and its commands, as they stand there.
test('broker: the demonstration of the README', async (t) => {
  const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
  const section = readme.split('### Answer what a server asks')[1].split('\n## ')[0];
  const [config, ...commands] = [...section.matchAll(/```(?:yaml|console)\n([\s\S]*?)```/g)].map((m) => m[1]);
  const daemon = await Daemon.start(t, {}, { raw: (port) => `listen: {http: "127.0.0.1:${port}"}\n` +
    config.replace('command: npx', `command: ${process.execPath}`)
      .replace('["-y", "@modelcontextprotocol/server-everything"]', JSON.stringify([upstreams.everything, 'stdio'])) });
  const shell = (text) => run('sh', ['-c', text.replaceAll('http://127.0.0.1:7332', daemon.url)
    .replaceAll(/^mcpx /gm, `${binary('mcpx')} --url ${daemon.url} `)], { env: daemonEnvironment(daemon.dir), cwd: daemon.dir });
  const typed = commands.flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((text) => text.split('\n').filter((line, i, all) => i === 0 || all[i - 1].endsWith('\\')).join('\n'));
  assert.equal(typed.length, 4);
  const [call, listing, showing, answering] = typed;
  const client = shell(call);
  const [{ id }] = await waiting(daemon);
  assert.match((await shell(listing)).stdout, new RegExp(id));
  const named = (text) => text.replace(/q-[0-9a-f]+/, id);
  assert.match((await shell(named(showing))).stdout, /Please provide inputs/);
  const answered = await shell(named(answering));
  assert.equal(answered.code, 0, answered.stderr);
  const result = await within('the client gets its result', 10_000, client);
  assert.match(result.stdout, /Ada/);
});
