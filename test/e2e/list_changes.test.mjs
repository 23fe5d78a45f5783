// Cases C40 and C41 with every way a server can announce a change: what is read again, who is told.
import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { pair, TOOL } from './lib/pair.mjs';
import { req } from './lib/req.mjs';
import { modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { openStream } from './lib/streams.mjs';
import { eventually } from './lib/wait.mjs';

const CHANGED = 'notifications/tools/list_changed';
const told = (stream) => stream.methods().filter((method) => method === CHANGED).length;

// Streams of clients of both eras at one endpoint.
async function listeners(daemon, endpoint) {
  const session = await Session.open(daemon.url, { endpoint });
  const legacy = await session.stream();
  const filter = { notifications: { toolsListChanged: true } };
  const modern = await openStream(daemon.url, { path: endpoint, method: 'POST',
    headers: modernHeaders('subscriptions/listen'), body: JSON.stringify({ jsonrpc: '2.0', id: 'l',
      method: 'subscriptions/listen', params: { ...filter, _meta: modernMeta() } }) });
  await eventually('acknowledged', () => modern.methods().length === 1);
  return { session, streams: { legacy, modern },
    close: () => { legacy.close(); modern.close(); } };
}

for (const era of ['legacy', 'modern']) {
  test(`C40: a ${era} server's thousand list_changed in a second cost a few readings`, async (t) => {
    const { upstream, daemon } = await pair(t, { era });
    await eventually('somebody listens', () => upstream.streams.size > 0);
    const clients = await listeners(daemon, '/mcp');
    const before = upstream.received('tools/list').length;
    for (let sent = 0; sent < 1_000; sent += 20) {
      upstream.tools = [TOOL, { ...TOOL, name: `y${sent}` }];
      for (let i = 0; i < 20; i++) await upstream.push({ jsonrpc: '2.0', method: CHANGED });
      await pause(20);
    }
    const names = async () => (await clients.session.tools()).map((tool) => tool.name);
    await eventually('the last list is shown', async () => (await names()).includes('web__y980'));
    for (const [client, stream] of Object.entries(clients.streams)) {
      await eventually(`a ${client} client is told`, () => told(stream) > 0);
      assert.ok(told(stream) <= 6, `a ${client} client was told ${told(stream)} times`);
    }
    const readings = upstream.received('tools/list').length - before;
    assert.ok(readings <= 6, `read ${readings} times`);
    clients.close();
  });

  test(req(`C41: a ${era} server's list_changed without a change reaches only its own endpoint`,
    'tools-list-changed-means-emit', 'tools-list-changed-notify', 'tools-list-changed-notify-to-listeners',
    'subscriptions-list-changed-via-listen'), async (t) => {
    const { upstream, daemon } = await pair(t, { era });
    await eventually('somebody listens', () => upstream.streams.size > 0);
    const merged = await listeners(daemon, '/mcp');
    const own = await listeners(daemon, '/mcp/web');
    await upstream.push({ jsonrpc: '2.0', method: CHANGED });
    for (const [client, stream] of Object.entries(own.streams)) {
      await eventually(`the ${client} client is told`, () => told(stream) > 0);
    }
    upstream.tools = [TOOL, { ...TOOL, name: 'y' }];
    await upstream.push({ jsonrpc: '2.0', method: CHANGED });
    for (const [client, stream] of Object.entries(merged.streams)) {
      await eventually(`the ${client} client is told of the change`, () => told(stream) > 0);
    }
    await eventually('both are listed', async () => (await merged.session.tools()).length === 2);
    for (const [client, stream] of Object.entries(merged.streams)) {
      assert.equal(told(stream), 1, `the ${client} client of /mcp: ${JSON.stringify(stream.messages)}`);
    }
    merged.close();
    own.close();
  });
}
