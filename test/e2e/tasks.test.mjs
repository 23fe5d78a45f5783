// Calls that become tasks: every caller at every server, what is kept, who is told, and what a restart
// leaves. docs/tasks.md has the table.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';

import { openCaller } from './lib/callers.mjs';
import { Daemon, temporary } from './lib/daemon.mjs';
import { root } from './lib/paths.mjs';
import { modern, MODERN, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const TASKS = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const RELATED = 'io.modelcontextprotocol/related-task';
const everything = (era, extra) => ({ command: process.execPath,
  args: [path.join(root, 'test/fixtures/everything/server.mjs'), '--era', era], ...extra });
const start = (t, config = {}, options) => Daemon.start(t, {
  servers: { new: everything('modern'), old: everything('legacy') }, ...config }, options);

const TAKES = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
const yes = { action: 'accept', content: { confirm: true } };
const over = (task) => ['completed', 'failed', 'cancelled'].includes(task.status);

// A client of 2026-07-28 that takes tasks.
function client(daemon, endpoint = '/mcp', { capabilities = TAKES, headers } = {}) {
  const send = (method, params) => modern(daemon.url, method, params,
    { endpoint, headers, meta: { [CAPABILITIES]: capabilities } });
  const result = async (method, params) => {
    const { message, text } = await send(method, params);
    assert.ok(message?.result, `${method}: ${text}`);
    return message.result;
  };
  const get = (taskId) => result('tasks/get', { taskId });
  return { send, result, get,
    call: (name, args = {}) => result('tools/call', { name, arguments: args }),
    until: (taskId, what) => eventually(`task to be ${what}`, async () => {
      const task = await get(taskId);
      if (typeof what === 'string' ? task.status === what : what(task)) return task;
      throw new Error(`is ${JSON.stringify(task)}`);
    }) };
}
const text = (result) => result.content[0].text;

for (const server of ['new', 'old']) {
  for (const endpoint of ['/mcp', `/mcp/${server}`]) {
    const name = (tool) => (endpoint === '/mcp' ? `${server}__${tool}` : tool);
    test(`a client of 2026-07-28 has tasks of a server that is ${server}, on ${endpoint} [req:ext-tasks-createtaskresult-shape]`,
      async (t) => {
        const daemon = await start(t);
        const c = client(daemon, endpoint);
        const created = await c.call(name('slow_compute'), { seconds: 0.3, label: 'x' });
        assert.equal(created.resultType, 'task');
        assert.equal(created.status, 'working');
        assert.match(created.taskId, /^[0-9a-f]{32}$/);
        assert.equal(created.pollIntervalMs, 100);
        assert.ok(created.ttlMs > 0);
        const done = await c.until(created.taskId, over);
        assert.equal(done.status, 'completed');
        assert.equal(done.resultType, 'complete');
        assert.equal(text(done.result), 'Computed x in 0.3 s');
        assert.equal(done.result._meta?.[RELATED], undefined);
        assert.deepEqual(await c.get(created.taskId), done);

        const failing = await c.call(name('failing_job'));
        const failed = await c.until(failing.taskId, over);
        assert.equal(failed.status, 'completed');
        assert.equal(failed.result.isError, true);
        const broken = await c.until((await c.call(name('protocol_error_job'))).taskId, over);
        assert.equal(broken.status, 'failed');
        assert.equal(broken.error.code, -32603);
        assert.equal(broken.error.message, 'The job went down');
        assert.deepEqual(broken.error.data, { where: 'here' });
        assert.equal((await c.call(name('greet'), { name: 'Ada' })).content[0].text, 'Hello, Ada!');
      });

    test(`questions of a task travel in tasks/get and tasks/update, at a server that is ${server}, on ${endpoint} [req:ext-tasks-update]`,
      async (t) => {
        const daemon = await start(t);
        const c = client(daemon, endpoint);
        const { taskId } = await c.call(name('multi_input'));
        const asks = await c.until(taskId, (task) => Object.keys(task.inputRequests ?? {}).length === 2);
        assert.equal(asks.status, 'input_required');
        const keys = Object.keys(asks.inputRequests);
        const messages = keys.map((key) => asks.inputRequests[key].params.message);
        assert.deepEqual(messages.map((m) => m.replace(/.*(First|Second).*/, '$1')), ['First', 'Second']);
        assert.equal(messages.every((m) => m.includes(server)), endpoint === '/mcp');
        const update = (inputResponses) => c.result('tasks/update', { taskId, inputResponses });
        // What nobody asked, and what is no answer, changes nothing.
        assert.deepEqual(await update({ nothing: yes }), { resultType: 'complete' });
        assert.deepEqual(await update({ [keys[0]]: yes }), { resultType: 'complete' });
        const one = await c.until(taskId, (task) => Object.keys(task.inputRequests ?? {}).length === 1);
        assert.deepEqual(Object.keys(one.inputRequests), [keys[1]]);
        await update({ [keys[1]]: { action: 'decline' } });
        const done = await c.until(taskId, over);
        assert.equal(text(done.result), 'Answered: accept, decline');
      });

    test(`a task is cancelled, at a server that is ${server}, on ${endpoint} [req:ext-tasks-cancel-cooperative]`, async (t) => {
      const daemon = await start(t);
      const c = client(daemon, endpoint);
      const { taskId } = await c.call(name('slow_compute'), { seconds: 60 });
      assert.deepEqual(await c.result('tasks/cancel', { taskId }), { resultType: 'complete' });
      assert.equal((await c.until(taskId, over)).status, 'cancelled');
      assert.deepEqual(await c.result('tasks/cancel', { taskId }), { resultType: 'complete' });
    });

    test(`a client of 2025-11-25 has tasks of a server that is ${server}, on ${endpoint} [req:tasks-result-blocks]`, async (t) => {
      const daemon = await start(t);
      const s = await Session.open(daemon.url, { endpoint });
      assert.deepEqual(s.initialized.capabilities.tasks,
        { list: {}, cancel: {}, requests: { tools: { call: {} } } });
      const tools = await s.tools();
      assert.ok(tools.find((tool) => tool.name === name('slow_compute')).execution.taskSupport);
      const ask = async (method, params) => (await s.call(method, params)).message;
      const call = (tool, args = {}) =>
        ask('tools/call', { name: name(tool), arguments: args, task: { ttl: 60_000 } });
      const { task } = (await call('slow_compute', { seconds: 0.3, label: 'y' })).result;
      assert.equal(task.status, 'working');
      assert.ok(task.ttl > 0);
      const { result } = await ask('tasks/result', { taskId: task.taskId });
      assert.equal(text(result), 'Computed y in 0.3 s');
      assert.deepEqual(result._meta[RELATED], { taskId: task.taskId });
      assert.equal((await ask('tasks/get', { taskId: task.taskId })).result.status, 'completed');

      const failing = (await call('failing_job')).result.task.taskId;
      assert.equal((await ask('tasks/result', { taskId: failing })).result.isError, true);
      assert.equal((await ask('tasks/get', { taskId: failing })).result.status, 'failed');
      const broken = (await call('protocol_error_job')).result.task.taskId;
      const { error } = await ask('tasks/result', { taskId: broken });
      assert.deepEqual([error.code, error.message], [-32603, 'The job went down']);

      const slow = (await call('slow_compute', { seconds: 60 })).result.task.taskId;
      assert.equal((await ask('tasks/cancel', { taskId: slow })).result.status, 'cancelled');
      assert.equal((await ask('tasks/cancel', { taskId: slow })).error.code, -32602);
      const listed = (await ask('tasks/list', {})).result.tasks;
      assert.deepEqual(listed.map((one) => [one.taskId, one.status]).sort(), [[task.taskId, 'completed'],
        [failing, 'failed'], [broken, 'failed'], [slow, 'cancelled']].sort());
      assert.equal((await ask('tasks/list', { cursor: 'x' })).error.code, -32602);
      const stranger = await Session.open(daemon.url, { endpoint });
      assert.deepEqual((await stranger.call('tasks/list', {})).message.result.tasks, []);
      assert.equal((await stranger.call('tasks/get', { taskId: slow })).message.error.code, -32602);
    });

    test(`a client that knows no tasks gets plain results of a server that is ${server}, on ${endpoint}`, async (t) => {
      const daemon = await start(t);
      const s = await Session.open(daemon.url, { endpoint, revision: '2025-06-18' });
      assert.equal(s.initialized.capabilities.tasks, undefined);
      const failing = (await s.call('tools/call', { name: name('failing_job'), arguments: {} })).message;
      assert.equal(failing.result?.isError, true, JSON.stringify(failing));
      assert.equal(failing.result._meta?.[RELATED], undefined);
      const optional = await s.call('tools/call', { name: name('slow_compute'),
        arguments: { seconds: 0, label: 'z' } });
      assert.equal(text(optional.message.result), 'Computed z in 0 s');
      assert.equal((await s.call('tasks/list', {})).message.error.code, -32601);

      const plain = client(daemon, endpoint, { capabilities: {} });
      const answer = await plain.send('tools/call', { name: name('failing_job'), arguments: {} });
      if (endpoint === '/mcp') {
        assert.equal(answer.message.result.isError, true, answer.text);
      } else {
        assert.equal(answer.status, 400);
        assert.equal(answer.message.error.code, -32021);
        assert.deepEqual(answer.message.error.data.requiredCapabilities, { extensions: { [TASKS]: {} } });
      }
    });
  }
}

test('what tasks/* are refused for [req:ext-tasks-never-unsolicited]', async (t) => {
  const daemon = await start(t);
  const c = client(daemon);
  const unknown = await c.send('tasks/get', { taskId: 'nothing' });
  assert.equal(unknown.message.error.code, -32602);
  assert.equal(unknown.message.error.data.code, 'task.unknown');
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    const plain = await client(daemon, '/mcp', { capabilities: {} })
      .send(method, { taskId: 'x', inputResponses: {} });
    assert.equal(plain.status, 400);
    assert.equal(plain.message.error.code, -32021);
  }
  for (const method of ['tasks/result', 'tasks/list']) {
    assert.equal((await c.send(method, { taskId: 'x' })).message.error.code, -32601);
  }
  const named = await modern(daemon.url, 'tasks/get', { taskId: 'x' },
    { headers: { 'mcp-name': 'y' }, meta: { [CAPABILITIES]: TAKES } });
  assert.equal(named.status, 400);
  assert.equal(named.message.error.code, -32020);
  const { taskId } = await c.call('new__slow_compute', { seconds: 60 });
  assert.equal((await client(daemon, '/mcp/new').send('tasks/get', { taskId })).message.error.code, -32602);
  const odd = await c.send('tasks/update', { taskId, inputResponses: 1 });
  assert.equal(odd.message.error.code, -32602);
  const greet = await (await Session.open(daemon.url)).call('tools/call',
    { name: 'old__greet', arguments: {}, task: {} });
  assert.equal(greet.message.error.code, -32601);
});

test('a task belongs to its principal [req:tasks-bind-auth-context]', async (t) => {
  const digest = (token) => createHash('sha256').update(token).digest('hex');
  const tokens = { a: 'a'.repeat(32), b: 'b'.repeat(32), root: 'r'.repeat(32) };
  const daemon = await start(t, { listen: { tokens: Object.fromEntries(Object.entries(tokens)
    .map(([name, token]) => [name, { sha256: digest(token), ...(name === 'root' && { admin: true }) }])) } },
  { token: tokens.root });
  const as = (name) => ({ authorization: `Bearer ${tokens[name]}` });
  const { taskId } = await client(daemon, '/mcp', { headers: as('a') })
    .call('new__slow_compute', { seconds: 60 });
  assert.equal((await client(daemon, '/mcp', { headers: as('a') }).get(taskId)).status, 'working');
  const other = await client(daemon, '/mcp', { headers: as('b') }).send('tasks/get', { taskId });
  assert.equal(other.message.error.code, -32602);
  // Sessions of one principal share theirs.
  const first = await Session.open(daemon.url, { headers: as('a') });
  const made = (await first.call('tools/call',
    { name: 'old__slow_compute', arguments: { seconds: 60 }, task: {} })).message.result.task;
  const ids = async (session) => (await session.call('tasks/list', {})).message.result.tasks.map((x) => x.taskId);
  assert.deepEqual(await ids(await Session.open(daemon.url, { headers: as('a') })), [made.taskId]);
  assert.deepEqual(await ids(await Session.open(daemon.url, { headers: as('b') })), []);
});

test('changes of tasks are told on listen streams [req:ext-tasks-notifications-via-listen]', async (t) => {
  const daemon = await start(t);
  const c = client(daemon);
  const { taskId } = await c.call('new__confirm_delete', { filename: 'f' });
  const listen = (capabilities, taskIds) => openStream(daemon.url, { path: '/mcp', method: 'POST',
    headers: modernHeaders('subscriptions/listen'),
    body: JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen',
      params: { notifications: { taskIds }, _meta: modernMeta({ [CAPABILITIES]: capabilities }) } }) });
  const refused = await modern(daemon.url, 'subscriptions/listen', { notifications: { taskIds: [taskId] } });
  assert.equal(refused.message.error.code, -32021);

  const stream = await listen(TAKES, [taskId, 'nothing']);
  t.after(() => stream.close());
  const told = () => stream.messages.filter((m) => m.method === 'notifications/tasks');
  const first = await eventually('acknowledgement', () => stream.messages[0]);
  assert.deepEqual(first.params.notifications, { taskIds: [taskId] });
  const asked = await c.until(taskId, 'input_required');
  const key = Object.keys(asked.inputRequests)[0];
  await c.result('tasks/update', { taskId, inputResponses: { [key]: yes } });
  await c.until(taskId, over);
  const last = await eventually('the end', () => told().find((m) => m.params.status === 'completed'));
  assert.equal(last.params.taskId, taskId);
  assert.equal(text(last.params.result), 'Deleted f');
  assert.equal(last.params._meta['io.modelcontextprotocol/subscriptionId'], 'l');
  // Who listens late is told what there is to know.
  const late = await listen(TAKES, [taskId]);
  t.after(() => late.close());
  await eventually('the end once more', () =>
    late.messages.find((m) => m.method === 'notifications/tasks' && m.params.status === 'completed'));
});

test('changes of tasks are told on the stream of their session', async (t) => {
  const daemon = await start(t);
  const s = await Session.open(daemon.url);
  const stream = await s.stream();
  t.after(() => stream.close());
  const made = (await s.call('tools/call',
    { name: 'old__slow_compute', arguments: { seconds: 0.2 }, task: {} })).message.result.task;
  const last = await eventually('the end', () => stream.messages.find((m) =>
    m.method === 'notifications/tasks/status' && m.params.status === 'completed'));
  assert.equal(last.params.taskId, made.taskId);
  assert.equal(last.params.result, undefined);
});

test('a call that takes longer than tasks.after becomes a task, a quick one does not', async (t) => {
  const daemon = await start(t, { tasks: { after: '200ms' }, servers: { old: everything('legacy') } });
  const { capabilities } = await client(daemon).result('server/discover', {});
  assert.deepEqual(capabilities.extensions[TASKS], {});
  const c = client(daemon);
  assert.equal((await c.call('old__test_simple_text')).resultType, 'complete');
  const slow = await c.call('old__test_reconnection');
  assert.equal(slow.resultType, 'task');
  const done = await c.until(slow.taskId, over);
  assert.match(text(done.result), /^Reconnection test/);
  // What it asks makes it one at once.
  const asking = await c.call('old__test_elicitation', { message: 'Who?' });
  assert.equal(asking.resultType, 'task');
  const asked = await c.until(asking.taskId, 'input_required');
  const [key, request] = Object.entries(asked.inputRequests)[0];
  assert.match(request.params.message, /Who\?/);
  await c.result('tasks/update', { taskId: asking.taskId, inputResponses: {
    [key]: { action: 'accept', content: { username: 'ada', email: 'a@b.c' } } } });
  assert.match(text((await c.until(asking.taskId, over)).result), /ada/);
  // A client that takes none waits.
  assert.equal((await client(daemon, '/mcp', { capabilities: {} }).call('old__test_reconnection')).resultType, 'complete');
  // One that is cancelled is cancelled at its server.
  const stopped = await c.call('old__test_reconnection');
  await c.result('tasks/cancel', { taskId: stopped.taskId });
  assert.equal((await c.get(stopped.taskId)).status, 'cancelled');
});

test('a session that waits for the result of a task is asked what the task asks [req:tasks-input-request-related-task]',
  async (t) => {
    const daemon = await start(t);
    for (const server of ['new', 'old']) {
      const s = await Session.open(daemon.url, { capabilities: { elicitation: { form: {} } } });
      const made = (await s.call('tools/call', { name: `${server}__confirm_delete`,
        arguments: { filename: 'g' }, task: {} })).message.result.task;
      const waiting = await openStream(daemon.url, { path: '/mcp', method: 'POST', headers: s.headers(),
        body: JSON.stringify({ jsonrpc: '2.0', id: 'r', method: 'tasks/result',
          params: { taskId: made.taskId } }) });
      t.after(() => waiting.close());
      const question = await eventually('the question', () =>
        waiting.messages.find((m) => m.method === 'elicitation/create'));
      assert.deepEqual(question.params._meta[RELATED], { taskId: made.taskId });
      assert.equal((await s.call('tasks/get', { taskId: made.taskId })).message.result.status, 'input_required');
      await s.post(JSON.stringify({ jsonrpc: '2.0', id: question.id, result: yes }));
      const answer = await eventually('the result', () => waiting.messages.find((m) => m.id === 'r'));
      assert.equal(text(answer.result), 'Deleted g');
    }
  });

test('tasks of one server that ask at the same time are told apart', async (t) => {
  const daemon = await start(t, { servers: { old: everything('legacy', { instances: { max: 2 } }) } });
  const c = client(daemon);
  const answers = [];
  for (const filename of ['one', 'two', 'three']) {
    const { taskId } = await c.call('old__confirm_delete', { filename });
    answers.push([taskId, filename, filename === 'two' ? { action: 'decline' } : yes]);
  }
  for (const [taskId, filename, answer] of answers) {
    const asked = await c.until(taskId, 'input_required');
    const [[key, request]] = Object.entries(asked.inputRequests);
    assert.match(request.params.message, new RegExp(`Delete ${filename}`));
    await c.result('tasks/update', { taskId, inputResponses: { [key]: answer } });
  }
  for (const [taskId, filename, { action }] of answers) {
    const done = await c.until(taskId, over);
    assert.equal(text(done.result), `${action === 'accept' ? 'Deleted' : 'Kept'} ${filename}`);
  }
});

test('kill -9: what was finished is there, what a server still works on goes on or has failed [req:ext-tasks-durable-before-response]',
  async (t) => {
    const dir = temporary(t);
    const daemon = await start(t, { tasks: { after: '100ms' } }, { dir });
    const c = client(daemon);
    const finished = [];
    for (let i = 0; i < 5; i++) {
      const { taskId } = await c.call('new__slow_compute', { seconds: 0, label: `n${i}` });
      finished.push([taskId, await c.until(taskId, over)]);
    }
    const s = await Session.open(daemon.url);
    const kept = (await s.call('tools/call', { name: 'old__slow_compute',
      arguments: { seconds: 0, label: 'kept' }, task: {} })).message.result.task.taskId;
    await s.call('tasks/result', { taskId: kept });
    const running = (await c.call('new__slow_compute', { seconds: 60 })).taskId;
    const own = (await c.call('old__test_reconnection')).taskId;
    await daemon.crash();
    daemon.spawn();
    await daemon.waitListening();
    await daemon.waitReady();
    for (const [taskId, task] of finished) assert.deepEqual(await c.get(taskId), task);
    const again = await s.call('tasks/result', { taskId: kept });
    assert.equal(text(again.message.result), 'Computed kept in 0 s');
    // Its server went with the daemon, so the task did too: that is what is said of it.
    const lost = await c.until(running, over);
    assert.equal(lost.status, 'failed');
    assert.equal(lost.error.data.code, 'task.lost');
    const interrupted = await c.until(own, over);
    assert.equal(interrupted.error.data.code, 'task.interrupted');
  });

test('clients of mcpx connect have tasks', async (t) => {
  const daemon = await start(t);
  const stdio = await openCaller(t, daemon, MODERN, 'stdio');
  const ask = async (method, params) =>
    (await stdio.request(method, params, { meta: { [CAPABILITIES]: TAKES } })).message.result;
  const { taskId } = await ask('tools/call', { name: 'new__slow_compute', arguments: { label: 's' } });
  const done = await eventually('the end', async () => {
    const task = await ask('tasks/get', { taskId });
    return over(task) && task;
  });
  assert.equal(text(done.result), 'Computed s in 0 s');
  assert.deepEqual(await ask('tasks/cancel', { taskId }), { resultType: 'complete' });
  const legacy = await openCaller(t, daemon, '2025-11-25', 'stdio');
  const made = (await legacy.request('tools/call', { name: 'old__slow_compute', arguments: { label: 'l' },
    task: {} })).message.result.task;
  const { message } = await legacy.request('tasks/result', { taskId: made.taskId });
  assert.equal(text(message.result), 'Computed l in 0 s');
});

// A server of 2026-07-28 over HTTP with one tool, whose calls are tasks that end when `done` is set. It
// answers nothing to the methods in `silent`; with `insists` it does without tasks for nobody, and asks.
async function remote(t) {
  const server = { seen: [], done: false, cancelled: [], silent: new Set(), insists: false };
  const shape = (taskId) => ({ taskId, status: server.done ? 'completed' : 'working',
    createdAt: '2026-07-28T10:00:00Z', lastUpdatedAt: '2026-07-28T10:00:00Z', ttlMs: null, pollIntervalMs: 50,
    ...(server.done && { result: { resultType: 'complete', content: [{ type: 'text', text: taskId }] } }) });
  const cached = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' };
  const results = {
    'server/discover': () => ({ ...cached, supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { [TASKS]: {} } } }),
    'tools/list': () => ({ ...cached, tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
    'tools/call': ({ _meta, requestState, inputResponses }) => {
      if (!server.insists) return { resultType: 'task', ...shape('theirs/1') };
      if (!_meta[CAPABILITIES].extensions?.[TASKS]) {
        return { error: { code: -32021, message: 'Missing required client capability',
          data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } } };
      }
      if (requestState === undefined) {
        return { resultType: 'input_required', requestState: 'theirs', inputRequests: { q: {
          method: 'elicitation/create', params: { mode: 'form', message: 'Sure?',
            requestedSchema: { type: 'object', properties: { confirm: { type: 'boolean' } } } } } } };
      }
      assert.deepEqual([requestState, inputResponses], ['theirs', { q: yes }]);
      return { resultType: 'task', ...shape('theirs/2') };
    },
    'tasks/get': ({ taskId }) => ({ resultType: 'complete', ...shape(taskId) }),
    'tasks/cancel': ({ taskId }) => (server.cancelled.push(taskId), { resultType: 'complete' }),
  };
  const listening = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id, method, params } = JSON.parse(body);
    server.seen.push({ method, params, headers: request.headers });
    if (server.silent.has(method)) return;
    const result = results[method]?.(params);
    const answer = !result ? { error: { code: -32601, message: 'Method not found' } }
      : result.error ? result : { result };
    response.writeHead(!result ? 404 : result.error ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => { listening.on('listening', resolve); });
  t.after(() => { listening.closeAllConnections(); listening.close(); });
  return Object.assign(server, { url: `http://127.0.0.1:${listening.address().port}/mcp` });
}

test('kill -9: the task of a server that lives on goes on, under an id of its own there', async (t) => {
  const server = await remote(t);
  const daemon = await start(t, { servers: { far: { url: server.url } }, tasks: { ttl_max: '1h' } });
  const c = client(daemon);
  const created = await c.call('far__work');
  assert.equal(created.ttlMs, 3_600_000);  // its server sets no limit, so mcpx does
  const { taskId } = created;
  assert.equal((await c.get(taskId)).status, 'working');
  await daemon.crash();
  daemon.spawn();
  await daemon.waitListening();
  assert.equal((await c.get(taskId)).status, 'working');
  server.done = true;
  const done = await c.until(taskId, over);
  assert.equal(text(done.result), 'theirs/1');
  const polls = server.seen.filter((one) => one.method === 'tasks/get');
  assert.ok(polls.every((one) => one.headers['mcp-name'] === 'theirs/1' && one.params.taskId === 'theirs/1'));
  assert.ok(polls.every((one) => one.params._meta[CAPABILITIES].extensions[TASKS]));
  server.done = false;
  const again = await c.call('far__work');
  await c.result('tasks/cancel', { taskId: again.taskId });
  assert.deepEqual(server.cancelled, ['theirs/1']);
});

test('a server that does not answer for its tasks keeps nobody: neither a listen nor the end of mcpx',
  async (t) => {
    const server = await remote(t);
    const daemon = await start(t, { servers: { new: everything('modern'), far: { url: server.url } } });
    const c = client(daemon);
    server.silent.add('tasks/get').add('tasks/cancel');
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await c.call('far__work')).taskId);
    const ended = (await c.call('new__slow_compute', { label: 'e' })).taskId;
    await c.until(ended, over);
    await eventually('a poll', () => server.seen.some(({ method }) => method === 'tasks/get'));
    const stream = await openStream(daemon.url, { path: '/mcp', method: 'POST',
      headers: modernHeaders('subscriptions/listen'),
      body: JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params: {
        notifications: { taskIds: [...ids, ended, ended, ...ids, ended] },
        _meta: modernMeta({ [CAPABILITIES]: TAKES }) } }) });
    t.after(() => stream.close());
    const acknowledged = await eventually('acknowledgement', () => stream.messages[0]);
    assert.deepEqual(acknowledged.params.notifications.taskIds.toSorted(), [...ids, ended].toSorted());
    await eventually('the end that was before', () => stream.messages.length > 1);
    c.send('tasks/cancel', { taskId: ids[0] }).catch(() => {});  // hears nothing either
    await eventually('it to be passed on', () => server.seen.some(({ method }) => method === 'tasks/cancel'));
    await daemon.stop();
    const told = stream.messages.filter(({ method }) => method === 'notifications/tasks');
    assert.deepEqual(told.map(({ params }) => params.taskId), [ended]);
  });

test('a server that insists on tasks may ask before it makes one', async (t) => {
  const server = await remote(t);
  Object.assign(server, { insists: true, done: true });
  const daemon = await start(t, { servers: { far: { url: server.url } } });
  const c = client(daemon, '/mcp', { capabilities: { elicitation: { form: {} } } });
  const asked = await c.call('far__work');
  assert.equal(asked.resultType, 'input_required');
  const answered = await c.result('tools/call', { name: 'far__work', arguments: {},
    requestState: asked.requestState, inputResponses: { [Object.keys(asked.inputRequests)[0]]: yes } });
  assert.equal(text(answered), 'theirs/2');

  const s = await Session.open(daemon.url, { capabilities: { elicitation: { form: {} } } });
  const stream = await openStream(daemon.url, { path: '/mcp', method: 'POST', headers: s.headers(),
    body: JSON.stringify({ jsonrpc: '2.0', id: 'c', method: 'tools/call',
      params: { name: 'far__work', arguments: {} } }) });
  t.after(() => stream.close());
  const question = await eventually('the question', () =>
    stream.messages.find(({ method }) => method === 'elicitation/create'));
  await s.post(JSON.stringify({ jsonrpc: '2.0', id: question.id, result: yes }));
  const answer = await eventually('the answer', () => stream.messages.find(({ id }) => id === 'c'));
  assert.equal(text(answer.result), 'theirs/2');
});

test('a call that cannot become a task any more asks its client as any other does', async (t) => {
  const daemon = await start(t, { tasks: { after: '1m', limit: 1 }, servers: { old: everything('legacy') } });
  const c = client(daemon);
  const ask = () => c.call('old__test_elicitation', { message: 'Who?' });
  assert.equal((await ask()).resultType, 'task');
  const asked = await ask();
  assert.equal(asked.resultType, 'input_required');
  const done = await c.result('tools/call', { name: 'old__test_elicitation', arguments: { message: 'Who?' },
    requestState: asked.requestState, inputResponses: { [Object.keys(asked.inputRequests)[0]]:
      { action: 'accept', content: { username: 'ada', email: 'a@b.c' } } } });
  assert.match(text(done), /ada/);
});

test('with its session end the tasks of a legacy client, and no instance is started for them', async (t) => {
  const daemon = await Daemon.start(t, { servers: { new: everything('modern', { scope: 'session' }) } });
  const instances = () => daemon.children().filter((p) => p.command.includes('--era modern')
    && !p.command.includes('mcpx-supervise')).length;
  for (let i = 0; i < 3; i++) {
    const session = await Session.open(daemon.url, { endpoint: '/mcp/new' });
    const { message } = await session.call('tools/call',
      { name: 'slow_compute', arguments: { seconds: 60 }, task: { ttl: 60_000 } });
    assert.equal(message.result?.task.status, 'working', JSON.stringify(message));
    assert.equal((await session.close()).status, 200);
  }
  await eventually('the first instance is the only one', () => instances() === 1);
});

test('a task whose server asks for what its client has not declared has failed', async (t) => {
  const daemon = await start(t);
  const c = client(daemon, '/mcp/new', { capabilities: { extensions: { [TASKS]: {} } } });
  const { taskId } = await c.call('confirm_delete', { filename: 'x' });
  const task = await c.until(taskId, over);
  assert.equal(task.status, 'failed');
  assert.equal(task.inputRequests, undefined);
  assert.equal(task.error.data.code, 'upstream.bad_frame');
});

test('of two that cancel a task at once neither hears that it works on', async (t) => {
  const daemon = await start(t);
  const session = await Session.open(daemon.url, { endpoint: '/mcp/old' });
  for (let i = 0; i < 10; i++) {
    const { message } = await session.call('tools/call',
      { name: 'slow_compute', arguments: { seconds: 60 }, task: { ttl: 60_000 } });
    const { taskId } = message.result.task;
    const answers = await Promise.all([0, 1].map(() => session.call('tasks/cancel', { taskId })));
    for (const answer of answers) {
      const said = answer.message.result?.status ?? answer.message.error?.code;
      assert.ok(['cancelled', -32602].includes(said), answer.text);
    }
    assert.equal((await session.call('tasks/get', { taskId })).message.result.status, 'cancelled');
  }
});

test('tasks expire, and there are only so many of one caller [req:tasks-resource-limits]', async (t) => {
  const daemon = await start(t, { tasks: { ttl: '1s', ttl_max: '1s', limit: 2 } });
  const c = client(daemon);
  const first = await c.call('new__slow_compute', { seconds: 60 });
  assert.equal(first.ttlMs, 1000);
  await c.call('new__slow_compute', { seconds: 60 });
  const third = await c.send('tools/call', { name: 'new__slow_compute', arguments: { seconds: 60 } });
  assert.equal(third.message.error.data.code, 'task.limit');
  await eventually('the task to expire', async () =>
    (await c.send('tasks/get', { taskId: first.taskId })).message.error?.data.code === 'task.unknown');
  assert.equal((await c.call('new__slow_compute', { seconds: 60 })).resultType, 'task');
});
