// What a daemon remembers: its servers' lists and eras outlive it, whatever ended it.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, limit, received, scripted, temporary, tiny } from './lib/daemon.mjs';
import { modern, Session } from './lib/speak.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const names = async (daemon) =>
  (await modern(daemon.url, 'tools/list')).message.result?.tools.map((x) => x.name);

// The configuration stays the same; what its server does is in the script it reads when it starts.
const slowServer = (dir, script) => ({ slow: scripted(dir, 'slow', script) });

for (const signal of ['SIGTERM', 'SIGKILL']) {
  test(`C11, C13: after ${signal} the next daemon lists at once what the last one knew`, async (t) => {
    const dir = temporary(t);
    const first = await Daemon.start(t, { servers: slowServer(dir, { tools: [tool('a'), tool('b')] }) }, { dir });
    assert.deepEqual(await names(first), ['slow__a', 'slow__b']);
    if (signal === 'SIGKILL') await first.assertGone(await first.crash());
    else await first.stop();

    const servers = slowServer(dir, { tools: [tool('a'), tool('c')], delay: { initialize: 20_000 } });
    const second = await Daemon.start(t, { servers }, { dir, waitReady: false });
    const asked = Date.now();
    const session = await Session.open(second.url);
    assert.deepEqual((await session.tools()).map((x) => x.name), ['slow__a', 'slow__b']);
    assert.deepEqual(await names(second), ['slow__a', 'slow__b']);
    assert.ok(Date.now() - asked < limit(1_000), `${Date.now() - asked} ms`);
    const shown = await second.server('slow');
    assert.equal(shown.state, 'starting');
    assert.equal(shown.from_store, true);
    // The era was remembered too: nothing was probed.
    assert.deepEqual(received(dir, 'slow').map((m) => m.method), ['initialize']);
  });
}

test('a list that changed while nobody looked is announced once it was read', async (t) => {
  const dir = temporary(t);
  const first = await Daemon.start(t, { servers: slowServer(dir, { tools: [tool('a')] }) }, { dir });
  assert.deepEqual(await names(first), ['slow__a']);
  await first.stop();
  const second = await Daemon.start(t, { servers: slowServer(dir, { tools: [tool('b')] }) }, { dir });
  assert.deepEqual(await names(second), ['slow__b']);
  assert.equal((await second.server('slow')).from_store, false);
});

test('another configuration of a server does not inherit its lists', async (t) => {
  const dir = temporary(t);
  const first = await Daemon.start(t, { servers: slowServer(dir, { tools: [tool('a')] }) }, { dir });
  assert.deepEqual(await names(first), ['slow__a']);
  await first.stop();
  const server = scripted(dir, 'slow', { tools: [tool('a')], delay: { initialize: 20_000 } }, { env: { NEW: '1' } });
  const second = await Daemon.start(t, { servers: { slow: server, quick: tiny() } },
    { dir, waitReady: false });
  await second.waitServer('quick', 'ready');
  assert.deepEqual(await names(second), ['quick__ping']);
});
