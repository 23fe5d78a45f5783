// The command line against a running daemon, and `mcpx connect` across a restart of it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';

import { Daemon, daemonEnvironment, freePort, run, scripted, temporary, tiny } from './lib/daemon.mjs';
import { binary, npmDir, slow } from './lib/paths.mjs';
import { marked } from './lib/processes.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { eventually } from './lib/wait.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));
const mcpx = (daemon, ...args) => run(binary('mcpx'), args,
  { env: { ...daemonEnvironment(daemon.dir), MCPX_URL: daemon.url } });

test('cli: status, servers, tools and call show the daemon, in tables and as JSON', async (t) => {
  const daemon = await Daemon.start(t, { servers: { small: tiny(), gone: { command: 'no-such-program' } } });
  const human = {};
  for (const command of ['status', 'servers', 'tools']) {
    human[command] = await mcpx(daemon, command);
    assert.equal(human[command].code, 0, human[command].stderr);
    const json = await mcpx(daemon, command, '--json');
    assert.equal(json.code, 0, json.stderr);
    JSON.parse(json.stdout);
  }
  assert.match(human.servers.stdout, /small .*ready/);
  assert.match(human.servers.stdout, /gone .*failed/);
  assert.match(human.tools.stdout, /small__ping/);
  const detail = await mcpx(daemon, 'servers', 'gone');
  assert.match(detail.stdout, /no-such-program/);
  const called = await mcpx(daemon, 'call', 'small__ping', '{}');
  assert.deepEqual([called.code, called.stdout.trim()], [0, 'pong'], called.stderr);
  const raw = JSON.parse((await mcpx(daemon, 'call', 'small__ping', '--json')).stdout);
  assert.equal((raw.result ?? raw).content[0].text, 'pong');
});

test('cli: --refresh shows what a server lists now, though it announces nothing', async (t) => {
  const dir = temporary(t);
  const web = await ScriptedHttpServer.start(t, { tools: [{ name: 'old', inputSchema: { type: 'object' } }] });
  const daemon = await Daemon.start(t, { servers: { web: { url: web.url },
    gone: { command: 'no-such-program-anywhere' } } }, { dir });
  web.tools = [{ name: 'new', inputSchema: { type: 'object' } }];
  const tools = async () => (await mcpx(daemon, 'tools')).stdout;
  assert.match(await tools(), /web__old/);
  const shown = await mcpx(daemon, 'servers', 'web', '--refresh');
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /1 tools/);
  await eventually('the new list', async () => /web__new/.test(await tools()));
  const failed = await mcpx(daemon, 'servers', 'gone', '--refresh');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /no-such-program/);
  assert.equal((await mcpx(daemon, 'servers', '--refresh')).code, 2);
  assert.equal((await mcpx(daemon, 'servers', 'nobody', '--refresh')).code, 1);
});

test('cli: every command explains itself, and failures have exit codes', async (t) => {
  const daemon = await Daemon.start(t, { servers: { small: tiny() } });
  for (const command of [[], ['status'], ['servers'], ['tools'], ['call'], ['connect'], ['version']]) {
    const help = await mcpx(daemon, ...command, '--help');
    assert.equal(help.code, 0, command.join());
    assert.match(help.stdout, /usage: mcpx/);
  }
  assert.equal((await mcpx(daemon, 'version')).code, 0);
  assert.equal((await mcpx(daemon, 'no-such-command')).code, 2);
  assert.equal((await mcpx(daemon, 'status', '--no-such-option')).code, 2);
  const unknown = await mcpx(daemon, 'call', 'no__such__tool', '{}');
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /no__such__tool/);
  const away = await mcpx(daemon, 'status', '--url', `http://127.0.0.1:${await freePort()}`);
  assert.equal(away.code, 69);
  assert.ok(away.stderr.length > 10);
});

function sdk(daemon, ...args) {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const client = new Client({ name: 'e2e', version: '1' });
  return { client, transport: new StdioClientTransport({ command: binary('mcpx'), stderr: 'ignore',
    args: ['connect', '--url', daemon.url, ...args], env: daemonEnvironment(daemon.dir) }) };
}

test('connect: a stdio client goes on working when the daemon restarts', async (t) => {
  const dir = temporary(t);
  const servers = { s: scripted(dir, 's', { tools: [{ name: 'x', inputSchema: { type: 'object' } }] }) };
  const daemon = await Daemon.start(t, { servers }, { dir });
  const { client, transport } = sdk(daemon);
  await client.connect(transport);
  t.after(() => client.close());
  const call = async (n) => (await client.callTool({ name: 's__x', arguments: { n } }, undefined,
    { timeout: 30_000 * slow })).content[0].text;
  assert.equal(await call(1), 'x:{"n":1}');
  await daemon.stop();
  const waiting = call(2);  // asked for while nobody is there
  const again = await Daemon.start(t, { servers }, { dir, port: daemon.port });
  assert.equal(await waiting, 'x:{"n":2}');
  assert.equal(await call(3), 'x:{"n":3}');
  assert.deepEqual((await client.listTools()).tools.map((x) => x.name), ['s__x']);
  const left = await again.crash();
  await again.assertGone(left);
  const third = await Daemon.start(t, { servers }, { dir, port: daemon.port });
  assert.equal(await call(4), 'x:{"n":4}', 'after kill -9 too');
  void third;
});

test('connect: --spawn starts the daemon when nobody answers', async (t) => {
  const dir = temporary(t);
  const daemon = await Daemon.start(t, { servers: { small: tiny() } }, { dir });
  await daemon.stop();
  // Whatever goes wrong below, the daemon that was started must not outlive the test.
  t.after(() => marked(daemon.config).forEach((p) => process.kill(p.pid, 'SIGKILL')));
  const { client, transport } = sdk(daemon, '--spawn', '--config', daemon.config);
  await client.connect(transport, { timeout: 30_000 * slow });
  await daemon.waitReady();
  assert.deepEqual((await client.listTools()).tools.map((x) => x.name), ['small__ping']);
  const { pid } = await daemon.status();
  await client.close();
  assert.equal((await daemon.status()).pid, pid, 'it serves other clients after this one left');
  process.kill(pid, 'SIGTERM');
  await eventually('the spawned daemon ends', () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  }, 15_000);
});
