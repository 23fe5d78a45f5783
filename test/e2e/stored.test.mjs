// Cases C11 and C13 with what an earlier daemon learned: stored lists are served at once, eras are known.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Daemon, limit, received, scripted, temporary, tiny } from './lib/daemon.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const names = async (daemon) => (await modern(daemon.url, 'tools/list')).message.result.tools.map((x) => x.name);

// Two servers, one of each transport; `hold` makes neither answer before it is let go.
async function world(t) {
  const dir = temporary(t);
  const web = await ScriptedHttpServer.start(t, { tools: [tool('w')], prompts: [{ name: 'p' }] });
  const script = { tools: [tool('l')], resources: [{ uri: 'x://r', name: 'r' }] };
  const servers = (extra) => ({ web: { url: web.url }, local: scripted(dir, 'local', { ...script, ...extra }) });
  return { dir, web, servers };
}

test('C13: the next daemon lists what the last one learned, before any server answers', async (t) => {
  const { dir, web, servers } = await world(t);
  const first = await Daemon.start(t, { servers: servers() }, { dir });
  assert.deepEqual((await names(first)).sort(), ['local__l', 'web__w']);
  await first.stop();

  web.on('*', (exchange) => exchange.connection.gone);
  const second = await Daemon.start(t, { ready_wait: '20s',
    servers: servers({ delay: { initialize: 20_000, 'server/discover': 20_000 } }) },
  { dir, waitReady: false });
  const asked = Date.now();
  assert.deepEqual((await names(second)).sort(), ['local__l', 'web__w']);
  const session = await Session.open(second.url);
  assert.deepEqual((await session.prompts()).map((p) => p.name), ['web__p']);
  assert.equal((await session.list('resources/list', 'resources')).length, 1);
  assert.ok(Date.now() - asked < limit(5_000), 'nothing waited for a server');
  for (const server of await second.servers()) assert.equal(server.state, 'starting', server.name);
});

test('C13: what changed while no daemon ran is shown, and told', async (t) => {
  const { dir, web, servers } = await world(t);
  const first = await Daemon.start(t, { servers: servers() }, { dir });
  await first.stop();

  web.tools = [tool('w'), tool('new')];
  let go;
  const gate = new Promise((resolve) => { go = resolve; });
  web.on('tools/list', async (exchange) => { await gate; return exchange.byRule(); });
  const second = await Daemon.start(t, { servers: servers() }, { dir, waitReady: false });
  const session = await Session.open(second.url);
  const stream = await session.stream();
  assert.deepEqual((await session.tools()).map((x) => x.name).sort(), ['local__l', 'web__w']);
  await second.waitServer('local', 'ready');
  await eventually('the list is asked for', () => web.received('tools/list').length > 1);
  const told = () => stream.methods().filter((m) => m === 'notifications/tools/list_changed').length;
  const before = told();
  go();
  await eventually('the new tool', async () =>
    (await session.tools()).map((x) => x.name).sort().join() === 'local__l,web__new,web__w');
  await eventually('a list_changed', () => told() > before);
  stream.close();
});

test('a known era is not asked for again, until it is refuted', async (t) => {
  const { dir, web, servers } = await world(t);
  const first = await Daemon.start(t, { servers: servers() }, { dir });
  await first.stop();
  const second = await Daemon.start(t, { servers: servers() }, { dir });
  assert.equal(web.received('server/discover').length, 1);
  assert.equal(web.received('initialize').length, 2);
  await second.stop();
  assert.equal(received(dir, 'local', 'server/discover').length, 0, 'of the second start');

  // The server is updated: initialize is no method of it any more.
  web.era = 'modern';
  const third = await Daemon.start(t, { servers: servers() }, { dir });
  assert.equal((await third.server('web')).protocol, '2026-07-28');
  assert.deepEqual((await names(third)).sort(), ['local__l', 'web__w']);
});

test('C11, C13: a daemon that was killed leaves what its servers listed to the next one', async (t) => {
  const dir = temporary(t);
  const slow = (script) => ({ slow: scripted(dir, 'slow', script) });
  const first = await Daemon.start(t, { servers: slow({ tools: [tool('a'), tool('b')] }) }, { dir });
  await first.assertGone(await first.crash());

  // The same configuration; what the server does is in the script that it reads when it starts.
  const servers = slow({ tools: [tool('a'), tool('c')], delay: { initialize: 20_000 } });
  const second = await Daemon.start(t, { servers }, { dir, waitReady: false });
  assert.deepEqual(await names(second), ['slow__a', 'slow__b']);
  const shown = await second.server('slow');
  assert.equal(shown.from_store, true);
  assert.equal(shown.tools, 2);
});

test('another configuration of a server does not inherit its lists', async (t) => {
  const dir = temporary(t);
  const script = { tools: [tool('a')] };
  const first = await Daemon.start(t, { servers: { slow: scripted(dir, 'slow', script) } }, { dir });
  assert.deepEqual(await names(first), ['slow__a']);
  await first.stop();
  const other = scripted(dir, 'slow', { ...script, delay: { initialize: 20_000 } }, { env: { NEW: '1' } });
  const second = await Daemon.start(t, { servers: { slow: other, quick: tiny() } },
    { dir, waitReady: false });
  await second.waitServer('quick', 'ready');
  assert.deepEqual(await names(second), ['quick__ping']);
});
