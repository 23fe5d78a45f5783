// Subscriptions to resources, end to end: clients of both eras, servers of both eras over both
// transports; who is told, under which URI, and what a server that was lost is told again.
import assert from 'node:assert/strict';
import process from 'node:process';
import test from 'node:test';

import { Daemon, received, scripted, startsOf, temporary } from './lib/daemon.mjs';
import { pair } from './lib/pair.mjs';
import { reload } from './lib/reload.mjs';
import { modern, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const UPDATED = 'notifications/resources/updated';
const TAG = 'io.modelcontextprotocol/subscriptionId';
const A = 'test://a';
const resource = (uri) => ({ uri, name: uri });
const RESOURCES = [resource(A), resource('test://b')];
const TOUCH = { name: 'touch', inputSchema: { type: 'object' } };

// URIs a stream was told of.
const told = (stream) => stream.messages.filter((m) => m.method === UPDATED).map((m) => m.params.uri);

// A subscriptions/listen for these URIs that was acknowledged; `honoured` says with what.
async function listen(daemon, uris, { endpoint = '/mcp', id = 'l', filter = {} } = {}) {
  const stream = await openStream(daemon.url, { path: endpoint, method: 'POST',
    headers: modernHeaders('subscriptions/listen'), body: JSON.stringify({ jsonrpc: '2.0', id,
      method: 'subscriptions/listen', params: {
        notifications: { ...filter, resourceSubscriptions: uris }, _meta: modernMeta() } }) });
  await eventually('acknowledged', () => stream.messages.length > 0);
  assert.equal(stream.messages[0].method, 'notifications/subscriptions/acknowledged');
  stream.honoured = stream.messages[0].params.notifications;
  return stream;
}
// A session with its GET stream that has subscribed to the URI.
async function subscriber(daemon, uri, { endpoint = '/mcp', revision } = {}) {
  const session = await Session.open(daemon.url, { endpoint, revision });
  session.events = await session.stream();
  const answer = await session.call('resources/subscribe', { uri });
  assert.deepEqual(answer.message.result, {}, answer.text);
  return session;
}

// One server "files" in its own process; touch(uri) has it say that the resource was updated.
async function files(t, era, script = {}, settings = {}, config = {}) {
  const dir = temporary(t);
  const server = scripted(dir, 'files', { era, subscribe: true, tools: [TOUCH], resources: RESOURCES,
    ...script }, settings);
  const daemon = await Daemon.start(t, { ...config, servers: { files: server, ...config.servers } }, { dir });
  const asked = (method) => received(dir, 'files', method).map((m) => m.params);
  return { daemon, dir, server, asked,
    starts: () => startsOf(dir, 'files'),
    touch: (uri) => modern(daemon.url, 'tools/call', { name: 'touch', arguments: { uri } },
      { endpoint: '/mcp/files' }),
    // What the server was asked for and has not been told to forget.
    watches: () => {
      if (era === 'modern') {
        const last = asked('subscriptions/listen').at(-1);
        return last?.notifications.resourceSubscriptions ?? [];
      }
      const uris = new Map();
      for (const m of received(dir, 'files')) {
        if (m.method === 'resources/subscribe') uris.set(m.params.uri, true);
        if (m.method === 'resources/unsubscribe') uris.delete(m.params.uri);
      }
      return [...uris.keys()];
    } };
}

for (const era of ['legacy', 'modern']) {
  test(`a ${era} server's update reaches those who asked, in their own words `
    + '[req:subscriptions-resources-updated-only-if-subscribed] [req:resources-subscribe-via-listen]',
  async (t) => {
    const { daemon, asked, touch, watches } = await files(t, era);
    const shown = `mcpx://files/${A}`;
    const old = await subscriber(daemon, shown, { revision: '2024-11-05' });
    assert.equal(old.initialized.capabilities.resources.subscribe, true);
    const own = await subscriber(daemon, A, { endpoint: '/mcp/files' });
    const fresh = await listen(daemon, [shown, 'mcpx://nobody/test://x'], { id: 7 });
    assert.deepEqual(fresh.honoured, { resourceSubscriptions: [shown] });
    const fromServer = await listen(daemon, [A], { endpoint: '/mcp/files', id: 'own' });
    const other = await subscriber(daemon, 'mcpx://files/test://b');
    const silent = await Session.open(daemon.url);
    silent.events = await silent.stream();
    const lists = await listen(daemon, [], { filter: { toolsListChanged: true } });

    await touch(A);
    await eventually('all are told', () => [old.events, own.events, fresh, fromServer]
      .every((stream) => told(stream).length === 1));
    assert.deepEqual(told(old.events), [shown]);
    assert.deepEqual(told(own.events), [A]);
    assert.deepEqual(told(fresh), [shown]);
    assert.equal(fresh.messages[1].params._meta[TAG], 7);
    assert.deepEqual(told(fromServer), [A]);
    assert.equal(fromServer.messages[1].params._meta[TAG], 'own');
    assert.equal(old.events.messages.at(-1).params._meta, undefined);

    // One subscription for all of them, until the last has gone.
    if (era === 'legacy') assert.equal(asked('resources/subscribe').filter((p) => p.uri === A).length, 1);
    assert.deepEqual((await old.call('resources/unsubscribe', { uri: shown })).message.result, {});
    await own.close();
    fresh.close();
    await touch('test://b');
    await eventually('the other is told', () => told(other.events).length === 1);
    await touch(A);
    await eventually('the one that stayed is told', () => told(fromServer).length === 2);
    assert.deepEqual(told(old.events), [shown]);
    assert.deepEqual(watches().sort(), [A, 'test://b']);
    fromServer.close();
    await eventually('nobody watches it any more', () => !watches().includes(A));
    assert.deepEqual(watches(), ['test://b']);
    assert.deepEqual(told(other.events), ['mcpx://files/test://b']);
    assert.equal(silent.events.messages.length + told(lists).length, 0);
  });

  test(`a ${era} server that is killed is subscribed to again, and its clients hear of it`, async (t) => {
    const { daemon, starts, touch, asked } = await files(t, era);
    const client = await subscriber(daemon, `mcpx://files/${A}`);
    const stream = await listen(daemon, [A, 'test://b'], { endpoint: '/mcp/files' });
    const method = era === 'legacy' ? 'resources/subscribe' : 'subscriptions/listen';
    const before = asked(method).length;
    process.kill(starts().at(-1).pid, 'SIGKILL');
    await eventually('another runs', () => starts().length === 2);
    await eventually('each is told once that it may have missed something',
      () => told(client.events).length === 1 && told(stream).length === 2);
    assert.deepEqual(told(stream).sort(), [A, 'test://b']);
    if (era === 'legacy') {
      assert.deepEqual(asked(method).slice(before).map((p) => p.uri).sort(), [A, 'test://b']);
    } else {
      assert.deepEqual(asked(method).at(-1).notifications.resourceSubscriptions.sort(), [A, 'test://b']);
    }
    await daemon.waitServer('files', 'ready');
    await touch(A);
    await eventually('told of an update again', () => told(client.events).length === 2);
  });

  test(`an HTTP server of the ${era} era that restarts is subscribed to again`, async (t) => {
    const { upstream, daemon } = await pair(t, { era, subscribe: true, resources: RESOURCES });
    const client = await subscriber(daemon, `mcpx://web/${A}`);
    const stream = await listen(daemon, [A], { endpoint: '/mcp/web' });
    const update = { jsonrpc: '2.0', method: UPDATED, params: { uri: A } };
    await eventually('somebody listens', () => upstream.streams.size > 0);
    await upstream.push(update);
    await eventually('both are told', () => told(client.events).length > 0 && told(stream).length > 0);
    const method = era === 'legacy' ? 'resources/subscribe' : 'subscriptions/listen';
    const before = upstream.received(method).length;
    const seen = told(stream).length;
    await upstream.restart();
    if (era === 'legacy') await modern(daemon.url, 'tools/call', { name: 'echo' }, { endpoint: '/mcp/web' });
    await eventually('subscribed again', () => upstream.received(method).length > before);
    await eventually('told that something may be missed', () => told(stream).length > seen);
    await eventually('somebody listens again', () => upstream.streams.size > 0);
    const again = told(client.events).length;
    await upstream.push(update);
    await eventually('told again', () => told(client.events).length > again);
    assert.deepEqual([...new Set(told(client.events))], [`mcpx://web/${A}`]);
  });

  test(`what a ${era} server refuses is an error, or left out of the acknowledgement `
    + '[req:subscriptions-ack-reports-agreed-subset]', async (t) => {
    const { daemon } = await files(t, era, { unwatchable: ['test://b'] });
    const session = await Session.open(daemon.url);
    const answer = await session.call('resources/subscribe', { uri: 'mcpx://files/test://b' });
    assert.ok(answer.message.error, answer.text);
    if (era === 'legacy') {
      assert.equal(answer.message.error.code, -32002);
      assert.equal(answer.message.error.data.uri, 'mcpx://files/test://b');
    } else {
      assert.equal(answer.message.error.data.code, 'upstream.not_subscribed');
    }
    const stream = await listen(daemon, ['test://b', A], { endpoint: '/mcp/files',
      filter: { toolsListChanged: true, promptsListChanged: true } });
    assert.deepEqual(stream.honoured, { toolsListChanged: true, resourceSubscriptions: [A] });
  });
}

test('a server without subscriptions does not offer them', async (t) => {
  const dir = temporary(t);
  const plain = scripted(dir, 'plain', { tools: [TOUCH], resources: RESOURCES });
  const daemon = await Daemon.start(t, { servers: { plain } }, { dir });
  for (const [endpoint, uri, code] of [['/mcp', `mcpx://plain/${A}`, -32601], ['/mcp/plain', A, -32601]]) {
    const session = await Session.open(daemon.url, { endpoint });
    assert.equal(session.initialized.capabilities.resources.subscribe, undefined);
    const answer = await session.call('resources/subscribe', { uri });
    assert.equal(answer.message.error.code, code, answer.text);
  }
  const stream = await listen(daemon, [A], { endpoint: '/mcp/plain' });
  assert.deepEqual(stream.honoured, {});
});

test('beside a server that offers subscriptions, one that does not says so', async (t) => {
  const dir = temporary(t);
  const plain = scripted(dir, 'plain', { tools: [TOUCH], resources: RESOURCES });
  const { daemon } = await files(t, 'legacy', {}, {}, { servers: { plain } });
  const session = await Session.open(daemon.url);
  const answer = await session.call('resources/subscribe', { uri: `mcpx://plain/${A}` });
  assert.equal(answer.message.error.data.code, 'upstream.no_subscriptions', answer.text);
  const stream = await listen(daemon, [`mcpx://plain/${A}`, `mcpx://files/${A}`]);
  assert.deepEqual(stream.honoured, { resourceSubscriptions: [`mcpx://files/${A}`] });
});

test('limits.subscriptions bounds a session, and what a listen is granted', async (t) => {
  const { daemon, asked } = await files(t, 'legacy', {}, {}, { limits: { subscriptions: 1 } });
  const session = await subscriber(daemon, A, { endpoint: '/mcp/files' });
  const twice = await session.call('resources/subscribe', { uri: A });
  assert.deepEqual(twice.message.result, {});
  const refused = await session.call('resources/subscribe', { uri: 'test://b' });
  assert.equal(refused.message.error.data.code, 'session.subscriptions', refused.text);
  assert.match(refused.message.error.message, /limits\.subscriptions/);
  await session.call('resources/unsubscribe', { uri: A });
  const room = await session.call('resources/subscribe', { uri: 'test://b' });
  assert.deepEqual(room.message.result, {});
  const stream = await listen(daemon, [A, 'test://b'], { endpoint: '/mcp/files' });
  assert.deepEqual(stream.honoured, { resourceSubscriptions: [A] });
  assert.equal(asked('resources/subscribe').length, 3);
});

test('a subscription keeps its server from being stopped when idle', async (t) => {
  const dir = temporary(t);
  const idle = { idle_stop: '1s' };
  const script = { subscribe: true, tools: [TOUCH], resources: RESOURCES };
  const daemon = await Daemon.start(t, { servers: { files: scripted(dir, 'files', script, idle),
    other: scripted(dir, 'other', script, idle) } }, { dir });
  const session = await subscriber(daemon, A, { endpoint: '/mcp/files' });
  await modern(daemon.url, 'tools/call', { name: 'touch', arguments: { uri: A } }, { endpoint: '/mcp/other' });
  await daemon.waitServer('other', 'idle');
  assert.equal((await daemon.server('files')).state, 'ready');
  await session.close();
  await daemon.waitServer('files', 'idle');
});

test('with scope session each client hears of its own instance', async (t) => {
  const { daemon, dir } = await files(t, 'legacy', {}, { scope: 'session' });
  const [one, two] = [await subscriber(daemon, A, { endpoint: '/mcp/files' }),
    await subscriber(daemon, A, { endpoint: '/mcp/files' })];
  await one.call('tools/call', { name: 'touch', arguments: { uri: A } });
  await eventually('the one is told', () => told(one.events).length === 1);
  await two.call('tools/call', { name: 'touch', arguments: { uri: A } });
  await eventually('the other is told', () => told(two.events).length === 1);
  assert.equal(told(one.events).length, 1);
  assert.equal(startsOf(dir, 'files').length, 3);
  // Its instance is lost: it gets another that is subscribed to.
  const pids = startsOf(dir, 'files').map((start) => start.pid);
  process.kill(pids[1], 'SIGKILL');
  await eventually('another instance', () => startsOf(dir, 'files').length === 4);
  await eventually('its client is told', () => told(one.events).length + told(two.events).length === 3);
  await one.close();
  await two.close();
  await daemon.waitServer('files', (server) => server.instances === 1);
});

test('a server that takes the place of another at a reload is subscribed to', async (t) => {
  const { daemon, starts, touch, watches } = await files(t, 'legacy');
  const client = await subscriber(daemon, A, { endpoint: '/mcp/files' });
  const stream = await listen(daemon, ['mcpx://files/test://b']);
  const report = await reload(daemon, (config) => { config.servers.files.env = { OTHER: '1' }; });
  assert.deepEqual(report.changed, ['files']);
  await eventually('the other one runs', () => starts().length === 2);
  await eventually('each client is told that it may have missed something',
    () => told(client.events).length === 1 && told(stream).length === 1);
  await touch(A);
  await eventually('told of an update of the new one', () => told(client.events).length === 2);
  await client.close();
  stream.close();
  await eventually('nobody watches', () => watches().length === 0);
});

test('the subscriptions of a session outlive the daemon', async (t) => {
  const { daemon, dir, server, watches } = await files(t, 'legacy');
  const client = await subscriber(daemon, A, { endpoint: '/mcp/files' });
  assert.deepEqual((await client.call('resources/subscribe', { uri: 'test://b' })).message.result, {});
  assert.deepEqual((await client.call('resources/unsubscribe', { uri: 'test://b' })).message.result, {});
  const merged = await subscriber(daemon, 'mcpx://files/test://b');
  await daemon.assertGone(await daemon.crash());

  const next = await Daemon.start(t, { servers: { files: server } }, { dir });
  for (const session of [client, merged]) {
    session.base = next.url;
    session.events = await session.stream();
  }
  // What it may have missed meanwhile is news, once.
  await eventually('each is told what it may have missed',
    () => told(client.events).length === 1 && told(merged.events).length === 1);
  assert.deepEqual([told(client.events), told(merged.events)], [[A], ['mcpx://files/test://b']]);
  await modern(next.url, 'tools/call', { name: 'touch', arguments: { uri: A } }, { endpoint: '/mcp/files' });
  await eventually('told of an update', () => told(client.events).length === 2);
  assert.equal(told(merged.events).length, 1);
  assert.deepEqual((await client.call('resources/unsubscribe', { uri: A })).message.result, {});
  await eventually('only the other one is watched', () => watches().join() === 'test://b');
});
