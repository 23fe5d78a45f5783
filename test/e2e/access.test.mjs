// Who may come in: tokens, TLS, and how many at once.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import tls from 'node:tls';

import { openCaller } from './lib/callers.mjs';
import { Daemon, daemonEnvironment, run, scripted, startsOf, temporary, tiny } from './lib/daemon.mjs';
import { request } from './lib/http.mjs';
import { HttpUpstream } from './lib/http_upstream.mjs';
import { binary } from './lib/paths.mjs';
import { req } from './lib/req.mjs';
import { LEGACY, MODERN, modern, modernHeaders, modernMeta, Session } from './lib/speak.mjs';
import { eventually, within } from './lib/wait.mjs';

const digest = (token) => createHash('sha256').update(token).digest('hex');
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const ALL = 'token-of-all-endpoints', ONE = 'token-of-one-endpoint', ROOT = 'token-of-the-administrator';
const TOKENS = { all: { sha256: digest(ALL) }, one: { sha256: digest(ONE), endpoints: ['/mcp/s'] },
  root: { sha256: digest(ROOT), admin: true } };
const call = (daemon, headers, options = {}) => modern(daemon.url, 'tools/call',
  { name: options.endpoint ? 'ping' : 's__ping', arguments: {} }, { headers, ...options });

test(req('a token is asked for on every route, and lets in where it is for',
  'authz-server-validates-token', 'authz-accept-only-own-tokens', 'authz-no-token-passthrough',
  'authz-error-status-codes', 'authz-401-when-unauthorized'), async (t) => {
  const upstream = await HttpUpstream.start(t);
  const daemon = await Daemon.start(t, { log: { level: 'trace' }, listen: { tokens: TOKENS },
    servers: { s: tiny(), other: tiny(), web: { url: upstream.url } } }, { token: ROOT });
  for (const headers of [{}, bearer('wrong'), bearer(digest(ALL)), { authorization: `Basic ${ALL}` }]) {
    for (const [method, where] of [['POST', '/mcp'], ['GET', '/mcp/s'], ['DELETE', '/mcp'], ['GET', '/v1/health'],
      ['GET', '/v1/tools'], ['POST', '/v1/tools/s__ping/call'], ['OPTIONS', '/mcp']]) {
      const answer = await request(daemon.url, { path: where, method, headers });
      assert.equal(answer.status, 401, `${method} ${where}: ${answer.text}`);
      assert.match(answer.headers['www-authenticate'], /^Bearer realm="mcpx"/);
      assert.equal(JSON.parse(answer.text).error.code, 'http.unauthorized');
    }
  }
  // What clients ask for to find an authorization server; there is none.
  const metadata = await request(daemon.url, { path: '/.well-known/oauth-protected-resource' });
  assert.equal(metadata.status, 404);
  assert.equal((await request(daemon.url, { path: `/mcp?access_token=${ALL}`, method: 'POST' })).status, 401);

  assert.equal((await call(daemon, bearer(ALL))).message.result.content[0].text, 'pong');
  assert.equal((await call(daemon, bearer(ONE), { endpoint: '/mcp/s' })).message.result.content[0].text, 'pong');
  for (const endpoint of ['/mcp', '/mcp/other']) {
    const answer = await modern(daemon.url, 'tools/list', {}, { endpoint, headers: bearer(ONE) });
    assert.equal(answer.status, 403, answer.text);
    assert.equal(JSON.parse(answer.text).error.code, 'http.forbidden_endpoint');
  }
  await modern(daemon.url, 'tools/list', {}, { endpoint: '/mcp/web', headers: bearer(ALL) });
  assert.ok(upstream.requests.length > 0);
  assert.ok(upstream.requests.every((r) => r.headers.authorization === undefined), 'a token went on to a server');
  const malformed = await request(daemon.url, { path: '/mcp', method: 'POST', headers: { authorization: 'Bearer a, Bearer b' } });
  assert.equal(malformed.status, 400, malformed.text);
  const closed = await request(daemon.url, { path: '/v1/status', headers: bearer(ALL) });
  assert.equal(closed.status, 403);
  assert.match(JSON.parse(closed.text).error.remedy, /admin: true/);
  assert.equal((await request(daemon.url, { path: '/v1/status', headers: bearer(ROOT) })).status, 200);
  await daemon.stop();
  for (const secret of [ALL, ONE, ROOT]) assert.ok(!daemon.log().includes(secret), secret);
});

test('what one token has opened is not there for another', async (t) => {
  const dir = temporary(t);
  const { all, root } = TOKENS;
  const daemon = await Daemon.start(t, { listen: { tokens: { all, root } }, servers: {
    own: scripted(dir, 'own', { tools: [{ name: 'x', inputSchema: { type: 'object' } }] }, { scope: 'session' }) } },
  { dir, token: ROOT });
  const session = await Session.open(daemon.url, { headers: bearer(ALL) });
  const taken = await session.post(JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'ping' }),
    { headers: bearer(ROOT) });
  assert.equal(taken.status, 404, taken.text);
  const ended = await request(daemon.url, { path: '/mcp', method: 'DELETE',
    headers: { ...session.headers(), ...bearer(ROOT) } });
  assert.equal(ended.status, 404);
  assert.deepEqual((await session.call('ping')).message.result, {});
  // Modern callers have no session: an instance each per token, beside the one that read the lists.
  const before = startsOf(dir, 'own').length;
  const tool = { name: 'own__x', arguments: {} };
  for (const token of [ALL, ROOT, ALL, ROOT]) {
    const answer = await modern(daemon.url, 'tools/call', tool, { headers: bearer(token) });
    assert.ok(answer.message.result, answer.text);
  }
  assert.equal(startsOf(dir, 'own').length, before + 2);
});

test('mcpx makes a token, and shows it', async (t) => {
  const dir = temporary(t);
  const env = daemonEnvironment(dir);
  const cli = (args, more = {}) => run(binary('mcpx'), args, { env: { ...env, ...more } });
  const made = await cli(['token', 'new', 'laptop', '--admin', '--json']);
  assert.equal(made.code, 0, made.stderr);
  const { name, token, sha256 } = JSON.parse(made.stdout);
  assert.equal(name, 'laptop');
  assert.match(token, /^mcpx_[A-Za-z0-9_-]{43}$/);
  assert.equal(sha256, digest(token));
  const shown = await cli(['token', 'new', 'ci', '--endpoint', '/mcp', '--endpoint', '/mcp/s']);
  const ci = /mcpx_[A-Za-z0-9_-]{43}/.exec(shown.stdout)[0];
  // What it prints is what the configuration takes.
  const yaml = shown.stdout.slice(shown.stdout.indexOf('listen:'));
  const daemon = await Daemon.start(t, { servers: {} }, { dir, token,
    raw: (port) => `${yaml}    laptop: {sha256: "${sha256}", admin: true}\n  http: 127.0.0.1:${port}\n`
      + `servers: {s: ${JSON.stringify(tiny())}}\n` });
  const url = { MCPX_URL: daemon.url };
  const nothing = await cli(['status'], url);
  assert.equal(nothing.code, 1);
  assert.match(nothing.stderr, /carries no token/);
  const file = path.join(dir, 'token');
  writeFileSync(file, `${token}\n`);
  for (const [args, more] of [[['status'], { MCPX_TOKEN: token }], [['status'], { MCPX_TOKEN_FILE: file }],
    [['--token-file', file, 'status'], { MCPX_TOKEN: 'wrong' }]]) {
    const status = await cli(args, { ...url, ...more });
    assert.equal(status.code, 0, status.stderr);
  }
  const not = await cli(['status'], { ...url, MCPX_TOKEN: ci });
  assert.equal(not.code, 1);
  assert.match(not.stderr, /admin: true/);
  assert.equal((await cli(['status', '--token-file', path.join(dir, 'none')], url)).code, 2);

  const lines = (method, id) => `${JSON.stringify({ jsonrpc: '2.0', id, method,
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } })}\n`;
  const input = lines('initialize', 1) + lines('tools/list', 2);
  const bridged = await run(binary('mcpx'), ['connect', '--endpoint', 's'],
    { env: { ...env, ...url, MCPX_TOKEN: ci }, input });
  assert.equal(bridged.code, 0, bridged.stderr);
  const answers = bridged.stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(answers.find((a) => a.id === 2).result.tools.map((x) => x.name), ['ping']);
  const refused = await run(binary('mcpx'), ['connect'], { env: { ...env, ...url }, input: lines('initialize', 1) });
  const [error] = refused.stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(error.error.data.code, 'http.unauthorized');
  assert.match(error.error.data.remedy, /mcpx token new/);
});

test('over the Unix socket, which is the user\'s own, no token is needed', async (t) => {
  const dir = temporary(t);
  const socket = path.join(dir, 'mcpx.sock');
  const daemon = await Daemon.start(t, { listen: { tokens: TOKENS, unix: socket }, servers: { s: tiny() } },
    { dir, token: ROOT });
  const status = await run(binary('mcpx'), ['status', '--url', `unix:${socket}`],
    { env: { ...daemonEnvironment(dir), MCPX_TOKEN: 'not for here' } });
  assert.equal(status.code, 0, status.stderr);
  for (const revision of [...LEGACY, MODERN]) {
    const caller = await openCaller(t, daemon, revision, 'stdio', `unix:${socket}`);
    const { message } = await caller.request('tools/call', { name: 's__ping', arguments: {} });
    assert.equal(message.result?.content[0].text, 'pong', JSON.stringify(message));
    await caller.close();
  }
  assert.equal(daemon.wire.connections.filter((c) => c.kind === 'lines').length, 5, 'its frames are checked');
  const wrong = path.join(dir, 'wrong');
  writeFileSync(wrong, 'wrong');
  const shown = await run(binary('mcpx'), ['status', '--url', `unix:${socket}`, '--token-file', wrong],
    { env: daemonEnvironment(dir) });
  assert.equal(shown.code, 1);
  assert.equal((await call(daemon, {})).status, 401);
});

test('an address that others reach is not listened on without a token', async (t) => {
  const dir = temporary(t);
  const file = path.join(dir, 'mcpx.yaml');
  writeFileSync(file, JSON.stringify({ listen: { http: '0.0.0.0:0' }, servers: { s: tiny() } }));
  for (const args of [[], ['--check']]) {
    const refused = await run(binary('mcpxd'), ['--config', file, ...args], { env: daemonEnvironment(dir) });
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /other machines may reach 0\.0\.0\.0/);
    assert.match(refused.stderr, /mcpx token new/);
  }
  const daemon = await Daemon.start(t, { listen: { tokens: TOKENS }, servers: { s: tiny() } },
    { token: ROOT, host: '0.0.0.0' });
  assert.equal((await call(daemon, {})).status, 401);
  assert.equal((await call(daemon, bearer(ALL))).status, 200);
  // A token does not open the door to web pages and re-bound names.
  assert.equal((await call(daemon, { ...bearer(ALL), host: 'evil.example' })).status, 403);
  assert.equal((await call(daemon, { ...bearer(ALL), origin: 'http://evil.example' })).status, 403);
});

// A modern call as it goes over the wire.
function wire(name) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call',
    params: { name, arguments: {}, _meta: modernMeta() } });
  const fields = { ...modernHeaders('tools/call', { name }), 'content-length': body.length };
  return { body, headers: Object.entries(fields).map(([key, value]) => `${key}: ${value}\r\n`).join('') };
}

function certificate(dir, name) {
  const key = path.join(dir, `${name}.key`), cert = path.join(dir, `${name}.pem`);
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
    '-days', '2', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout', key, '-out', cert], { stdio: 'pipe' });
  return { cert, key };
}

test('TLS is spoken when a certificate is set, and nothing else', async (t) => {
  const dir = temporary(t);
  const files = certificate(dir, 'own');
  const ca = readFileSync(files.cert);
  const secure = (daemon, where, headers = {}) => new Promise((resolve, reject) => {
    https.get({ host: '127.0.0.1', port: daemon.port, path: where, ca, agent: false, headers }, (incoming) => {
      let text = '';
      incoming.on('data', (d) => { text += d; }).on('end', () => resolve({ status: incoming.statusCode, text }));
    }).on('error', reject);
  });
  const daemon = await Daemon.start(t, { servers: { s: tiny() },
    listen: { tls: files, timeouts: { handshake: '500ms' } } }, { dir, waitReady: false,
    probe: async (d) => (await secure(d, '/v1/health')).status === 200 });
  // Plain HTTP gets an answer in plain HTTP, and the end.
  const plain = await request(daemon.url, { path: '/v1/health' });
  assert.equal(plain.status, 400);
  assert.equal(JSON.parse(plain.text).error.code, 'http.tls_required');
  assert.equal(plain.headers.connection, 'close');
  const handshake = (options) => new Promise((resolve) => {
    const socket = tls.connect({ host: '127.0.0.1', port: daemon.port, ca, servername: 'localhost', ...options },
      () => { resolve(`${socket.getProtocol()} ${socket.alpnProtocol}`); socket.destroy(); });
    socket.on('error', (error) => resolve(error.code ?? 'refused'));
  });
  assert.equal(await handshake({ ALPNProtocols: ['h2', 'http/1.1'] }), 'TLSv1.3 http/1.1');
  assert.equal(await handshake({ maxVersion: 'TLSv1.2' }), 'TLSv1.2 false');
  assert.match(await handshake({ ALPNProtocols: ['h2'] }), /ALPN|ALERT|RESET|refused/i);
  assert.match(await handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    /^(?!TLSv)/);
  // One that never begins does not stay.
  const silent = net.connect(daemon.port, '127.0.0.1');
  silent.on('error', () => {});
  await within('the end of a silent handshake', 15_000, new Promise((resolve) => {
    silent.on('end', resolve).on('close', resolve).resume();
  }));
  silent.destroy();
  // The command line trusts it when told to.
  const env = { ...daemonEnvironment(dir), MCPX_URL: `https://localhost:${daemon.port}` };
  const distrust = await run(binary('mcpx'), ['status'], { env });
  assert.notEqual(distrust.code, 0);
  assert.match(distrust.stderr, /--ca/);
  const trust = await run(binary('mcpx'), ['status', '--ca', files.cert], { env });
  assert.equal(trust.code, 0, trust.stderr);
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } })}\n`;
  const bridged = await run(binary('mcpx'), ['connect'], { env: { ...env, MCPX_CA_FILE: files.cert }, input });
  assert.equal(JSON.parse(bridged.stdout).result.protocolVersion, '2025-11-25', bridged.stderr);
});

test('a certificate that cannot be used is told before anything starts', async (t) => {
  const dir = temporary(t);
  const one = certificate(dir, 'one'), two = certificate(dir, 'two');
  const file = path.join(dir, 'mcpx.yaml');
  writeFileSync(file, JSON.stringify({ listen: { http: '127.0.0.1:0', tls: { cert: one.cert, key: two.key } },
    servers: { s: tiny() } }));
  const checked = await run(binary('mcpxd'), ['--config', file, '--check'], { env: daemonEnvironment(dir) });
  assert.equal(checked.code, 2);
  assert.match(checked.stderr, /listen\.tls\.key .*is not the key of/);
  const started = await run(binary('mcpxd'), ['--config', file], { env: daemonEnvironment(dir) });
  assert.equal(started.code, 2);
  assert.match(started.stderr, /is not the key of/);
});

test('a reload brings other tokens and another certificate, and keeps what it must', async (t) => {
  const dir = temporary(t);
  const first = certificate(dir, 'first'), second = certificate(dir, 'second');
  const shown = (daemon) => new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port: daemon.port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    });
    socket.on('error', reject);
  });
  const status = (daemon, token, agent = false) => new Promise((resolve, reject) => {
    https.get({ host: '127.0.0.1', port: daemon.port, path: '/v1/health', rejectUnauthorized: false, agent,
      headers: bearer(token) }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode));
    }).on('error', reject);
  });
  const daemon = await Daemon.start(t, { listen: { tokens: { root: TOKENS.root }, tls: first }, servers: { s: tiny() } },
    { dir, host: '0.0.0.0', waitReady: false, probe: async (d) => await status(d, ROOT) === 200 });
  assert.equal(await shown(daemon), 'first');
  const kept = new https.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => kept.destroy());
  assert.equal(await status(daemon, ROOT, kept), 200);
  const reload = async (change) => {
    const config = JSON.parse(readFileSync(daemon.config, 'utf8'));
    change(config);
    writeFileSync(daemon.config, JSON.stringify(config));
    const before = daemon.log().length;
    daemon.process.kill('SIGHUP');
    await eventually('the reload', () => /reloaded |not reloaded/.test(daemon.log().slice(before)));
    return daemon.log().slice(before);
  };
  await reload((config) => {
    config.listen.tls = second;
    config.listen.tokens = { next: { sha256: digest(ALL), admin: true } };
  });
  await eventually('the other certificate', async () => await shown(daemon) === 'second');
  assert.equal(await status(daemon, ALL), 200);
  // Not even on a connection that it has opened before.
  assert.equal(await status(daemon, ROOT, kept), 401);
  const broken = await reload((config) => { config.listen.tls = { cert: first.cert, key: second.key }; });
  assert.match(broken, /not reloaded: .*is not the key of/);
  assert.equal(await shown(daemon), 'second');
  // The address is still the one that others reach, so the tokens are still asked for.
  const unguarded = await reload((config) => {
    Object.assign(config.listen, { tls: second, tokens: {}, http: `127.0.0.1:${daemon.port}` });
  });
  assert.match(unguarded, /the tokens stay in force/);
  assert.equal(await status(daemon, ALL), 200);
  assert.equal(await status(daemon, 'nobody'), 401);
});

test('a client that asks too often is told to wait, and others are not', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() },
    listen: { tokens: TOKENS }, limits: { requests_per_second: 1, request_burst: 50 } }, { token: ROOT });
  let refused;
  for (let i = 0; i < 200 && !refused; i++) {
    const answer = await call(daemon, bearer(ALL));
    if (answer.status !== 200) refused = answer;
  }
  assert.equal(refused?.status, 429);
  assert.ok(Number(refused.headers['retry-after']) >= 1);
  const { error } = JSON.parse(refused.text);
  assert.equal(error.code, 'http.rate_limited');
  assert.match(error.remedy, /limits\.requests_per_second/);
  assert.equal((await call(daemon, bearer(ONE), { endpoint: '/mcp/s' })).status, 200);
});

test('requests in progress are bounded for each token', async (t) => {
  const dir = temporary(t);
  const slow = scripted(dir, 'slow', { tools: [{ name: 'x', inputSchema: { type: 'object' } }],
    silent: ['tools/call'] });
  const daemon = await Daemon.start(t, { listen: { tokens: TOKENS }, servers: { slow, s: tiny() },
    limits: { requests: 2 } }, { dir, token: ROOT });
  const { body, headers } = wire('slow__x');
  const held = [1, 2].map(() => {
    const socket = net.connect(daemon.port, '127.0.0.1');
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ALL}\r\n${headers}\r\n${body}`);
    return socket;
  });
  await eventually('both are there', async () => (await daemon.server('slow')).in_flight === 2);
  const refused = await call(daemon, bearer(ALL));
  assert.equal(refused.status, 503);
  assert.equal(refused.headers['retry-after'], '1');
  assert.match(JSON.parse(refused.text).error.remedy, /limits\.requests/);
  assert.equal((await call(daemon, bearer(ONE), { endpoint: '/mcp/s' })).status, 200);
  held.forEach((socket) => socket.destroy());
  await eventually('there is room again', async () => (await call(daemon, bearer(ALL))).status === 200);
});

test('a client that does not take its answer is let go', async (t) => {
  const dir = temporary(t);
  const big = scripted(dir, 'big', { tools: [{ name: 'x', inputSchema: { type: 'object' } }], big: { x: 30_000_000 } });
  const daemon = await Daemon.start(t, { listen: { timeouts: { write: '300ms' } }, servers: { big } }, { dir });
  const { body, headers } = wire('big__x');
  const socket = net.connect(daemon.port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.pause();
  socket.on('error', () => {});
  socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`);
  await eventually('the call', async () => (await daemon.status()).connections === 2);
  await eventually('only who asks is left', async () => (await daemon.status()).connections === 1, 30_000);
});

const limitsOf = (pid) => /^Max open files +(\d+) +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))
  .slice(1).map(Number);

test('the daemon takes all the descriptors it may have, and its children what it was given', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } },
    { command: ['/bin/sh', '-c', 'ulimit -Sn 300 && exec "$0" "$@"'] });
  const [soft, hard] = limitsOf(daemon.pid);
  assert.equal(soft, hard);
  const child = daemon.children().find((p) => p.command.startsWith('/bin/sh'));
  assert.deepEqual(limitsOf(child.pid), [300, hard]);
});

test('too few descriptors are a smaller house, not a broken one', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } },
    { command: ['/bin/sh', '-c', 'ulimit -n 160 && exec "$0" "$@"'] });
  assert.match(daemon.log(), /160 files may be open, so 80 connections are taken instead of 4096/);
  const sockets = [];
  t.after(() => sockets.forEach((s) => s.destroy()));
  for (let i = 0; i < 300; i++) {
    sockets.push(await new Promise((resolve, reject) => {
      const socket = net.connect(daemon.port, '127.0.0.1');
      socket.once('connect', () => resolve(socket)).once('error', reject);
      socket.on('error', () => {});
    }));
  }
  for (let i = 0; i < 20; i++) {
    const answer = await modern(daemon.url, 'tools/call', { name: 's__ping', arguments: {} });
    assert.equal(answer.message?.result?.content[0].text, 'pong', answer.text);
  }
  assert.doesNotMatch(daemon.log(), /cannot accept/);
});

test('running out of descriptors costs the newcomers only, and passes', async (t) => {
  const daemon = await Daemon.start(t, { servers: { s: tiny() } });
  // Taken away while it runs: nothing it could have prepared for.
  const used = Number(execFileSync('sh', ['-c', `ls /proc/${daemon.pid}/fd | wc -l`]));
  execFileSync('prlimit', ['--pid', String(daemon.pid), `--nofile=${used + 20}`]);
  const sockets = [];
  t.after(() => sockets.forEach((s) => s.destroy()));
  for (let i = 0; i < 60; i++) {
    const socket = net.connect(daemon.port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
  }
  await eventually('it is told', () => /cannot accept on .*: too many open files/i.test(daemon.log()));
  sockets.forEach((s) => s.destroy());
  await eventually('it is served again', async () => (await call(daemon, {})).status === 200);
  const told = daemon.log().split('\n').filter((line) => /cannot accept/.test(line)).length;
  assert.ok(told < 10, `${told} lines`);
});
