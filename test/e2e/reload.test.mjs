// Reload by SIGHUP and POST /v1/reload: what did not change runs on, what did is replaced (case C76).
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { Daemon, daemonEnvironment, received, run, scripted, temporary, tiny } from './lib/daemon.mjs';
import { text, TOOL } from './lib/pair.mjs';
import { binary, libDir } from './lib/paths.mjs';
import { hangUp, listen, processesOf, reload, rewrite, running, told } from './lib/reload.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { modern, Session } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });
const mcpx = (daemon, ...args) => run(binary('mcpx'), args,
  { env: { ...daemonEnvironment(daemon.dir), MCPX_URL: daemon.url } });
const callOf = (daemon, name, args = {}) => modern(daemon.url, 'tools/call', { name, arguments: args });
const names = async (daemon) => (await modern(daemon.url, 'tools/list')).message.result.tools.map((x) => x.name);

test('C76: a reload that changes one of 5 servers leaves the others and every session alone', async (t) => {
  const dir = temporary(t);
  const all = ['a', 'b', 'c', 'd', 'e'];
  const servers = Object.fromEntries(all.map((name) => [name, scripted(dir, name, { tools: [tool('x')] })]));
  const daemon = await Daemon.start(t, { servers }, { dir });
  const before = Object.fromEntries(all.map((name) => [name, processesOf(dir, name)]));
  const merged = await Session.open(daemon.url);
  const own = await Promise.all(all.map((name) => Session.open(daemon.url, { endpoint: `/mcp/${name}` })));
  const streams = { legacy: await merged.stream(), modern: await listen(daemon) };

  // The same command with another script: one tool more.
  scripted(dir, 'c', { tools: [tool('x'), tool('y')] });
  rewrite(daemon, (config) => { config.servers.c.env = { CHANGED: '1' }; });
  assert.match(await hangUp(daemon), /reloaded .*: 4 kept, changed c/);

  for (const name of ['a', 'b', 'd', 'e']) assert.deepEqual(processesOf(dir, name), before[name], name);
  const after = processesOf(dir, 'c');
  assert.equal(after.length, 1, 'the record was begun anew with the script');
  assert.notDeepEqual(after, before.c);
  await eventually('the old process has ended', () => !running(daemon, before.c[0]));
  assert.ok((await merged.tools()).some((x) => x.name === 'c__y'));
  for (const [i, name] of all.entries()) {
    const answer = await own[i].call('tools/call', { name: 'x', arguments: {} });
    assert.equal(text(answer), 'x:{}', `${name}: ${answer.text}`);
    assert.equal(text(await merged.call('tools/call', { name: `${name}__x`, arguments: {} })), 'x:{}');
  }
  assert.equal((await daemon.status()).sessions, 6);

  // Another change, so that a notification too many would have come by the time its own does.
  scripted(dir, 'c', { tools: [tool('x'), tool('y')], prompts: [{ name: 'p' }] });
  rewrite(daemon, (config) => { config.servers.c.env = { CHANGED: '2' }; });
  assert.match(await hangUp(daemon), /4 kept, changed c/);
  for (const [era, stream] of Object.entries(streams)) {
    await eventually(`the ${era} client is told of the prompts`, () => told(stream, 'prompts') > 0);
    assert.deepEqual(['tools', 'prompts', 'resources'].map((kind) => told(stream, kind)), [1, 1, 0],
      `${era}: ${JSON.stringify(stream.messages)}`);
    stream.close();
  }
});

test('C76: a server over HTTP that did not change keeps its session', async (t) => {
  const web = await ScriptedHttpServer.start(t, { tools: [TOOL] });
  const daemon = await Daemon.start(t, { servers: { web: { url: web.url }, small: tiny() } });
  const report = await reload(daemon, (config) => { config.servers.small.call_timeout = '7s'; });
  assert.deepEqual([report.kept, report.changed], [['web'], ['small']]);
  assert.equal(text(await callOf(daemon, 'web__x')), 'x:{}');
  assert.equal(web.received('initialize').length, 1);
});

test('a reload says what it did: the answer, the log and the command line', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { threads: 2, servers: { a: tiny(), b: tiny(), c: tiny() } }, { dir });
  const change = (config) => {
    config.threads = 3;
    config.servers = { z: tiny(), c: config.servers.c, a: { ...config.servers.a, idle_stop: '1h' } };
  };
  const report = await reload(daemon, change);
  assert.deepEqual(report, { kept: ['c'], relisted: [], changed: ['a'], added: ['z'], removed: ['b'],
    restart_needed: ['threads'], warnings: [] });
  assert.match(daemon.log(), /reloaded .*: 1 kept, changed a, added z, removed b, .*threads/);
  assert.deepEqual((await daemon.servers()).map((s) => s.name), ['z', 'c', 'a'], 'the running set, in order');
  assert.deepEqual((await daemon.status()).endpoints, ['/mcp', '/mcp/z', '/mcp/c', '/mcp/a']);

  rewrite(daemon, (config) => { delete config.servers.z; });
  const shown = await mcpx(daemon, 'reload');
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /reloaded[^]*kept +c, a[^]*removed +z[^]*started again[^]*threads/);
  assert.doesNotMatch((await mcpx(daemon, 'servers')).stdout, /^z /m);
  const json = JSON.parse((await mcpx(daemon, 'reload', '--json')).stdout);
  assert.deepEqual([json.kept, json.changed], [['c', 'a'], []]);
  assert.equal((await mcpx(daemon, 'reload', 'now')).code, 2);
  assert.equal((await daemon.rest('/v1/reload')).status, 405);
});

test('a configuration with a mistake, or none at all, changes nothing and says why', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { a: scripted(dir, 'a', { tools: [tool('x')] }) } }, { dir });
  const refused = async (pattern) => {
    const answer = await daemon.rest('/v1/reload', { method: 'POST' });
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.json().error.code, 'config.invalid');
    assert.match(answer.json().problems.join(), pattern);
    const shown = await mcpx(daemon, 'reload');
    assert.equal(shown.code, 1);
    assert.match(shown.stderr, pattern);
    assert.match(await hangUp(daemon), /not reloaded: /);
    assert.equal(text(await callOf(daemon, 'a__x')), 'x:{}');
    assert.equal(processesOf(dir, 'a').length, 1);
  };
  rewrite(daemon, (config) => { config.servers.a.comand = 'x'; config.servers.b = tiny(); });
  await refused(/mcpx\.yaml:\d+:\d+: .*comand.*did you mean/);
  writeFileSync(daemon.config, 'servers: [');
  await refused(/mcpx\.yaml/);
  writeFileSync(daemon.config, '');
  await refused(/is empty/);
  rmSync(daemon.config);
  await refused(/cannot be opened: No such file/);
  assert.deepEqual((await daemon.servers()).map((s) => s.name), ['a']);
});

test('filters and prefixes take effect without a restart of the server', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: {
    a: scripted(dir, 'a', { tools: [tool('x'), tool('y')] }), b: tiny() } }, { dir });
  const own = await listen(daemon, '/mcp/a');
  const report = await reload(daemon, (config) => {
    config.servers.a.tools = { deny: ['y'] };
    config.servers.a.prefix = 'first';
  });
  assert.deepEqual([report.kept, report.relisted, report.changed], [['a', 'b'], ['a'], []]);
  assert.deepEqual(await names(daemon), ['first__x', 'b__ping']);
  assert.equal(text(await callOf(daemon, 'first__x')), 'x:{}');
  const hidden = await modern(daemon.url, 'tools/call', { name: 'y', arguments: {} }, { endpoint: '/mcp/a' });
  assert.equal(hidden.message.error.data.code, 'tool.unknown', hidden.text);
  assert.equal(processesOf(dir, 'a').length, 1);
  await eventually('its own endpoint is told', () => told(own, 'tools') === 1);
  own.close();
});

test('a server that is switched off and on again', async (t) => {
  const daemon = await Daemon.start(t, { servers: { a: tiny(), b: tiny() } });
  const own = await Session.open(daemon.url, { endpoint: '/mcp/a' });
  const off = await reload(daemon, (config) => { config.servers.a.enabled = false; });
  assert.deepEqual([off.kept, off.changed, off.removed], [['b'], ['a'], []]);
  assert.deepEqual(await names(daemon), ['b__ping']);
  assert.equal((await own.call('ping')).status, 404);
  assert.equal((await daemon.server('a')).state, 'disabled');
  await eventually('its process has ended', () => daemon.children().length === 2);
  const on = await reload(daemon, (config) => { config.servers.a.enabled = true; });
  assert.deepEqual([on.kept, on.changed], [['b'], ['a']]);
  assert.deepEqual(await names(daemon), ['a__ping', 'b__ping']);
  assert.equal((await own.call('ping')).status, 404, 'its session has ended for good');
  assert.equal(text(await callOf(daemon, 'a__ping')), 'pong');
});

test('limits, the log level and what is secret take effect at once', async (t) => {
  const dir = temporary(t);
  const secret = path.join(dir, 'secret');
  writeFileSync(secret, 'hunter2-first');
  const daemon = await Daemon.start(t, { log: { level: 'info' }, limits: { sessions: 100 }, servers: {
    a: { ...tiny(), env: { TOKEN: `\${file:${secret}}` } }, b: tiny() } }, { dir });
  assert.equal((await reload(daemon)).kept.length, 2, 'the same secret');
  writeFileSync(secret, 'hunter2-second');
  const report = await reload(daemon, (config) => {
    config.log.level = 'debug';
    config.limits.sessions = 1;
  });
  assert.deepEqual([report.kept, report.changed], [['b'], ['a']]);
  const first = await Session.open(daemon.url);
  await Session.open(daemon.url);
  assert.equal((await first.call('ping')).status, 404, 'the one session there may be is the newer one');
  await eventually('debug lines', () => / debug /.test(daemon.log()));
  for (const where of ['/v1/status', '/v1/servers', '/v1/servers/a']) {
    assert.doesNotMatch((await daemon.rest(where)).text, /hunter2/);
  }
  assert.doesNotMatch(daemon.log(), /hunter2/);
});

test('a log file that was moved away is begun anew', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { a: tiny() } }, { dir });
  const file = path.join(dir, 'own.log');
  const shownOn = async () => (await run('cat', [file])).stdout;
  await reload(daemon, (config) => { config.log.file = file; });
  assert.match(await shownOn(), /reloaded/);
  rmSync(file);
  await reload(daemon);
  assert.match(await shownOn(), /reloaded/);
});

test('a removed server: calls under way finish, its endpoint, sessions and streams end', async (t) => {
  const web = await ScriptedHttpServer.start(t, { tools: [TOOL] });
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { web: { url: web.url }, small: tiny(),
    slow: scripted(dir, 'slow', { tools: [TOOL], delay: { 'tools/call': 1_000 } }) } }, { dir });
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  web.calls.x = async () => { await finished; return { content: [{ type: 'text', text: 'done' }] }; };
  const session = await Session.open(daemon.url, { endpoint: '/mcp/web' });
  const stream = await session.stream();
  const subscription = await listen(daemon, '/mcp/web');
  const underWay = [session.call('tools/call', { name: 'x', arguments: {} }), callOf(daemon, 'web__x')];
  const overStdio = callOf(daemon, 'slow__x');
  await eventually('the calls have arrived', () => web.received('tools/call').length === 2
    && received(dir, 'slow', 'tools/call').length === 1);
  const [pid] = processesOf(dir, 'slow');

  const report = await reload(daemon, (config) => { delete config.servers.web; delete config.servers.slow; });
  assert.deepEqual([report.kept, report.removed], [['small'], ['web', 'slow']]);
  assert.deepEqual(await names(daemon), ['small__ping']);
  await stream.ended;
  await subscription.ended;
  const last = subscription.messages.slice(-2);
  assert.equal(last[0].method, 'notifications/cancelled');
  assert.match(last[0].params.reason, /removed/);
  assert.equal(last[1].id, 'l');
  assert.equal((await session.call('ping')).status, 404);
  assert.equal((await modern(daemon.url, 'tools/list', {}, { endpoint: '/mcp/web' })).status, 404);
  assert.equal((await daemon.status()).sessions, 0);
  assert.equal((await daemon.status()).retiring, 2);
  finish();
  for (const answer of await Promise.all(underWay)) assert.equal(text(answer), 'done', answer.text);
  assert.equal(text(await overStdio), 'x:{}');
  await eventually('both have ended', async () => (await daemon.status()).retiring === 0);
  assert.equal(running(daemon, pid), false);
});

test('calls under way have reload_grace; then they are broken off and the children end', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { reload_grace: '100ms', servers: { small: tiny(),
    mute: scripted(dir, 'mute', { tools: [TOOL], silent: ['tools/call'], ignoreTerm: true }) } }, { dir });
  const mute = callOf(daemon, 'mute__x');
  await eventually('the call has arrived', () => received(dir, 'mute', 'tools/call').length === 1);
  const [pid] = processesOf(dir, 'mute');
  await reload(daemon, (config) => { delete config.servers.mute; });
  const answer = await mute;
  assert.equal(answer.message.error.data.code, 'upstream.stopped', answer.text);
  await eventually('its process has ended', () => !running(daemon, pid));
  assert.equal(text(await callOf(daemon, 'small__ping')), 'pong');
});

test('a server that is slow to take over shows what the one before it had listed', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { ready_wait: '100ms', servers: {
    a: scripted(dir, 'a', { tools: [tool('x')] }) } }, { dir });
  const stream = await listen(daemon);
  scripted(dir, 'a', { tools: [tool('x'), tool('y')], delay: { initialize: 1_500 } });
  await reload(daemon, (config) => { config.servers.a.env = { CHANGED: '1' }; });
  assert.equal((await daemon.server('a')).state, 'starting');
  assert.deepEqual(await names(daemon), ['a__x']);
  assert.equal(text(await callOf(daemon, 'a__x')), 'x:{}', 'the call has waited for it');
  await eventually('its own list', async () => (await names(daemon)).length === 2);
  await eventually('one list_changed', () => told(stream, 'tools') > 0);

  await reload(daemon, (config) => { config.servers.a = { command: 'no-such-program-anywhere' }; });
  await eventually('of one that does not start nothing is shown', async () => (await names(daemon)).length === 0);
  assert.equal((await daemon.server('a')).error.code, 'upstream.spawn_failed');
  await eventually('the client is told', () => told(stream, 'tools') === 2);
  stream.close();
});

// Its lists are private, so the store does not have them either.
test('other time-outs make no other server: it keeps its lists, however often it then fails', async (t) => {
  const dir = temporary(t);
  const a = { era: 'modern', tools: [tool('x')] };
  const daemon = await Daemon.start(t, { ready_wait: '100ms', servers: { a: scripted(dir, 'a', a) } }, { dir });
  assert.deepEqual(await names(daemon), ['a__x']);
  const failedTwice = async () => {
    const { state, failures } = await daemon.server('a');
    return state === 'failed' && failures > 1;
  };
  for (const timeout of ['5s', '6s']) {  // the second heir inherits from one that has nothing of its own
    scripted(dir, 'a', { ...a, startup: { exit: 3 } });
    await reload(daemon, (config) => { config.servers.a.call_timeout = timeout; });
    await eventually('it has failed twice', failedTwice);
    assert.deepEqual(await names(daemon), ['a__x']);
    assert.equal((await callOf(daemon, 'a__x')).message.error.data.code, 'upstream.exited');
  }
  // With another command it is another one, whose lists nobody knows.
  await reload(daemon, (config) => { config.servers.a.env = { CHANGED: '1' }; });
  await eventually('it has failed twice', failedTwice);
  await eventually('nothing is shown of it', async () => (await names(daemon)).length === 0);
});

test('a program that cannot run twice takes over when the one before it has ended', async (t) => {
  const dir = temporary(t);
  const alone = `mkdir '${dir}/alone' || exit 1; trap 'rmdir "${dir}/alone"' EXIT; `
    + `/bin/sh '${path.join(libDir, 'tiny_server.sh')}'`;
  const daemon = await Daemon.start(t, { servers: { a: { command: '/bin/sh', args: ['-c', alone] } } }, { dir });
  const stream = await listen(daemon);
  await reload(daemon, (config) => { config.servers.a.env = { CHANGED: '1' }; });
  assert.deepEqual(await names(daemon), ['a__ping']);
  await daemon.waitServer('a', 'ready');
  assert.equal((await daemon.server('a')).starts, 2);
  assert.equal(text(await callOf(daemon, 'a__ping')), 'pong');
  await reload(daemon, (config) => { config.servers.b = { ...tiny(), prefix: 'b' }; });
  await eventually('the client is told of the other one', () => told(stream, 'tools') > 0);
  assert.equal(told(stream, 'tools'), 1, 'and of nothing before');
  stream.close();
});

test('a reload while servers are starting: one start each, and what is replaced ends', async (t) => {
  const dir = temporary(t);
  const slow = (name) => scripted(dir, name, { tools: [tool('x')], delay: { initialize: 1_000 } });
  const daemon = await Daemon.start(t, { ready_wait: '10s', servers: { a: slow('a'), b: slow('b') } },
    { dir, waitReady: false });
  await eventually('both are starting', () => ['a', 'b'].every((n) => processesOf(dir, n).length === 1));
  const [old] = processesOf(dir, 'b');
  const report = await reload(daemon, (config) => { config.servers.b = { ...tiny(), prefix: 'new' }; });
  assert.deepEqual([report.kept, report.changed], [['a'], ['b']]);
  await daemon.waitReady();
  assert.equal(text(await callOf(daemon, 'a__x')), 'x:{}');
  assert.equal(text(await callOf(daemon, 'new__ping')), 'pong');
  assert.equal(processesOf(dir, 'a').length, 1);
  await eventually('the old one has ended', () => !running(daemon, old));
});

test('reloads asked for at once are answered all, and leave one process per server', async (t) => {
  const daemon = await Daemon.start(t, { servers: { a: tiny(), b: tiny() } });
  rewrite(daemon, (config) => { config.servers.b.call_timeout = '5s'; config.servers.c = tiny(); });
  const asked = Array.from({ length: 8 }, () => daemon.rest('/v1/reload', { method: 'POST' }));
  for (let i = 0; i < 3; i++) daemon.process.kill('SIGHUP');
  for (const answer of await Promise.all(asked)) assert.equal(answer.status, 200, answer.text);
  await daemon.waitReady();
  await eventually('one child and its supervisor each', async () =>
    daemon.children().length === 6 && (await daemon.servers()).every((s) => s.children === 1));
});

test('a daemon that is told to stop does not wait for a reload', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { ready_wait: '60s', servers: { a: tiny() } }, { dir });
  rewrite(daemon, (config) => {
    config.servers.mute = scripted(dir, 'mute', { silent: ['initialize', 'server/discover'] });
  });
  const asked = daemon.rest('/v1/reload', { method: 'POST' });
  await eventually('the new server is starting', () => processesOf(dir, 'mute').length === 1);
  await daemon.stop();  // asserts that nothing survives
  assert.equal((await asked).status, 200, 'it was done when it was answered');
});
