// Cases C70-C75: who may ask, what may be seen, and what the configuration says.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { Daemon, daemonEnvironment, recorded, run, scripted, temporary, tiny } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { HttpUpstream } from './lib/http_upstream.mjs';
import { binary } from './lib/paths.mjs';
import { req } from './lib/req.mjs';
import { modern, Session } from './lib/speak.mjs';

const tool = (name) => ({ name, inputSchema: { type: 'object' } });

test(req('C70: foreign origins and hosts are refused on every route',
  'streamable-http-server-validate-origin', 'streamable-http-server-403-invalid-origin'), async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  const routes = [['GET', '/v1/health'], ['GET', '/v1/status'], ['GET', '/v1/servers'],
    ['GET', '/v1/servers/s'], ['GET', '/v1/tools'], ['POST', '/v1/tools/s__ping/call'],
    ['GET', '/mcp'], ['POST', '/mcp'], ['DELETE', '/mcp'], ['POST', '/mcp/s'], ['OPTIONS', '/mcp'],
    ['GET', '/'], ['GET', '/no/such/route']];
  const own = `127.0.0.1:${daemon.port}`;
  const bad = [{ origin: 'http://evil.example' }, { origin: 'null' },
    { origin: `http://evil.example:${daemon.port}` }, { origin: `https://127.0.0.1.evil.example` },
    { host: `evil.example:${daemon.port}` }, { host: 'evil.example' },
    { host: `localhost.evil.example:${daemon.port}`, origin: 'http://localhost' }];
  for (const [method, where] of routes) {
    for (const headers of bad) {
      const answer = await request(daemon.url, { path: where, method, body: method === 'POST' ? '{}' : undefined,
        headers: { host: own, 'content-type': 'application/json', ...headers } });
      assert.equal(answer.status, 403, `${method} ${where} ${JSON.stringify(headers)}: ${answer.text}`);
    }
  }
  for (const headers of [{}, { host: `localhost:${daemon.port}` }, { host: `[::1]:${daemon.port}` },
    { origin: daemon.url }, { origin: 'http://localhost:6274' }]) {
    const answer = await request(daemon.url, { path: '/v1/health', headers });
    assert.equal(answer.status, 200, JSON.stringify(headers));
  }
});

test('C71: no secret value appears in any log line, route or error', async (t) => {
  const dir = temporary(t);
  const secrets = { env: 'tok-env-1f9c2d', reference: 'tok-ref-77aa01', argument: 'tok-arg-5d6e7f',
    header: 'tok-hdr-abcdef01', url: 'tok-url-0badcafe' };
  const upstream = await HttpUpstream.start(t);
  const leaky = scripted(dir, 'leaky', { startup: {
    stderr: Object.values(secrets).map((s) => `cannot log in with ${s}`), exit: 4 } });
  const daemon = await Daemon.start(t, { log: { level: 'trace' }, servers: {
    leaky: { ...leaky, args: [...leaky.args, `--token=${secrets.argument}`],
      env: { API_TOKEN: secrets.env, OTHER: '${env:MCPX_TEST_REFERENCE}' } },
    web: { url: `${upstream.url}?api_key=${secrets.url}`,
      headers: { Authorization: `Bearer ${secrets.header}` } },
    gone: { url: `http://127.0.0.1:1/mcp?api_key=${secrets.url}`,
      headers: { 'X-Api-Key': secrets.header } },
    unknown: { command: '/no/such/program', args: ['--api-key', secrets.argument] },
  } }, { dir, env: { MCPX_TEST_REFERENCE: secrets.reference } });
  const seen = [];
  const keep = (answer) => seen.push(answer.text, JSON.stringify(answer.headers));
  for (const where of ['/v1/health', '/v1/status', '/v1/servers', '/v1/tools', '/v1/servers/leaky',
    '/v1/servers/web', '/v1/servers/gone', '/v1/servers/unknown', '/v1/servers/nobody', '/']) {
    keep(await daemon.rest(where));
  }
  for (const name of ['leaky', 'web', 'gone', 'unknown']) {
    keep(await modern(daemon.url, 'tools/list', {}, { endpoint: `/mcp/${name}` }));
    keep(await modern(daemon.url, 'tools/call', { name: 'echo', arguments: {} }, { endpoint: `/mcp/${name}` }));
    keep(await daemon.rest(`/v1/tools/${name}__echo/call`, { method: 'POST', body: '{}',
      headers: { 'content-type': 'application/json' } }));
  }
  assert.ok(upstream.requests.some((r) => r.headers.authorization === `Bearer ${secrets.header}`),
    'the server itself gets its token');
  await daemon.stop();
  seen.push(daemon.log());
  const everything = seen.join('\n');
  assert.ok(everything.includes('cannot log in with'), 'stderr is shown');
  for (const [what, secret] of Object.entries(secrets)) {
    const at = everything.indexOf(secret);
    assert.ok(at < 0, `${what} token in: ${everything.slice(Math.max(0, at - 200), at + 60)}`);
  }
});

test('C72: a filtered tool is not listed, not callable, not completable', async (t) => {
  const dir = temporary(t);
  const names = ['read_a', 'read_secret', 'delete_all'];
  const daemon = await Daemon.start(t, { servers: { s: { ...scripted(dir, 's', {
    tools: names.map(tool) }), tools: { allow: ['read_*'], deny: ['*secret*'] } } } }, { dir });
  const session = await Session.open(daemon.url);
  assert.deepEqual((await session.tools()).map((x) => x.name), ['s__read_a']);
  const own = await Session.open(daemon.url, { endpoint: '/mcp/s' });
  assert.deepEqual((await own.tools()).map((x) => x.name), ['read_a']);
  assert.ok(!(await daemon.rest('/v1/tools')).text.includes('secret'));
  for (const hidden of ['read_secret', 'delete_all']) {
    const answers = [await session.call('tools/call', { name: `s__${hidden}`, arguments: {} }),
      await own.call('tools/call', { name: hidden, arguments: {} }),
      await modern(daemon.url, 'tools/call', { name: `s__${hidden}`, arguments: {} }),
      await modern(daemon.url, 'tools/call', { name: hidden, arguments: {} }, { endpoint: '/mcp/s' })];
    for (const answer of answers) {
      assert.equal(answer.message.error?.code, -32602, answer.text);
      assert.ok(!answer.message.result);
    }
    const rest = await daemon.rest(`/v1/tools/s__${hidden}/call`, { method: 'POST', body: '{}',
      headers: { 'content-type': 'application/json' } });
    assert.equal(rest.status, 404, rest.text);
    const complete = await session.call('completion/complete', {
      ref: { type: 'ref/tool', name: `s__${hidden}` }, argument: { name: 'x', value: '' } });
    assert.ok(complete.message.error, complete.text);
  }
  assert.equal(recorded(dir, 's').filter((e) => /secret|delete_all/.test(e.text ?? '')).length, 0,
    'nothing about them reached the server');
});

test('C73: a command outside PATH is reported with the PATH and the setting that extends it', async (t) => {
  const daemon = await Daemon.start(t, { servers: { away: { command: 'mcpx-test-not-in-path' } } },
    { env: { PATH: '/usr/bin:/bin' } });
  const { error } = await daemon.server('away');
  assert.ok(error.message.includes('/usr/bin:/bin'), error.message);
  assert.ok(error.message.includes('mcpx-test-not-in-path'), error.message);
  assert.match(error.remedy, /\bpath\b/, error.remedy);
});

test('C73: that setting does extend it', async (t) => {
  const dir = temporary(t);
  writeFileSync(path.join(dir, 'mcpx-test-server'), `#!/bin/sh\nexec /bin/sh ${tiny().args[0]}\n`, { mode: 0o755 });
  const daemon = await Daemon.start(t, { path: [dir], servers: { near: { command: 'mcpx-test-server' } } },
    { dir, env: { PATH: '/usr/bin:/bin' } });
  assert.equal((await daemon.server('near')).state, 'ready');
});

test('C74: a variable set for a server leaves the allowed rest in place', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { s: scripted(dir, 's', { tools: [tool('x')], recordEnv: true },
    { env: { ONE: '1' } }) } }, { dir, env: { DAEMON_SECRET: 'not-for-servers', LC_ALL: 'C' } });
  const { env } = recorded(dir, 's')[0];
  assert.equal(env.ONE, '1');
  assert.equal(env.HOME, dir);
  assert.equal(env.PATH, process.env.PATH);
  assert.ok(env.LANG && env.LC_ALL);
  assert.equal(env.DAEMON_SECRET, undefined);
  assert.equal((await daemon.server('s')).state, 'ready');
});

test('C75: both spellings load; mistakes are reported at their place with a suggestion', async (t) => {
  const dir = temporary(t);
  const check = async (name, text) => {
    const file = path.join(dir, name);
    writeFileSync(file, text);
    const answer = await run(binary('mcpxd'), ['--check', '--config', file], { env: daemonEnvironment(dir) });
    return { ...answer, all: answer.stdout + answer.stderr };
  };
  const client = await check('client.json', '{"mcpServers": {"a": {"command": "true", "args": ["x"]}}}');
  assert.equal(client.code, 0, client.all);
  const own = await check('own.yaml', 'servers:\n  a:\n    command: "true"\n    args: [x]\n');
  assert.equal(own.code, 0, own.all);
  const typo = await check('typo.yaml', 'servers:\n  a:\n    comand: "true"\n');
  assert.notEqual(typo.code, 0);
  assert.match(typo.all, /typo\.yaml:3:5: .*comand/);
  assert.match(typo.all, /\bcommand\b/);
  const type = await check('type.yaml', 'servers:\n  a:\n    command: "true"\n    args: 7\n');
  assert.notEqual(type.code, 0);
  assert.match(type.all, /type\.yaml:4:\d+: .*args/);
  const twice = await check('twice.yaml', 'threads: 1\nthreads: 2\n');
  assert.notEqual(twice.code, 0);
  assert.match(twice.all, /twice\.yaml:2:1: /);
});
