// Every revision of a caller against every revision of a server: five callers, over HTTP and over the
// standard streams of `mcpx connect`, in front of ten servers, each of one revision exactly, over
// standard streams and over HTTP. What each caller must see is put together from the table the servers
// have themselves (lib/exact.mjs). That mcpx's frames fit the schemas is checked as for every daemon.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { openCaller } from './lib/callers.mjs';
import { exposedUri } from './lib/compare.mjs';
import { Daemon, recorded, temporary, transcript } from './lib/daemon.mjs';
import { blocks, callResult, common, contents, defines, definitions, toolNames } from './lib/exact.mjs';
import { exactHttp } from './lib/exact_http.mjs';
import { conversation } from './lib/frames.mjs';
import { libDir } from './lib/paths.mjs';
import { REVISIONS, Schemas } from './lib/schema.mjs';
import { MODERN } from './lib/speak.mjs';
import { eventually } from './lib/wait.mjs';

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const LISTS = { tools: 'tools/list', prompts: 'prompts/list', resources: 'resources/list',
  resourceTemplates: 'resources/templates/list' };

// The servers: {name, revision, config, log()}; `log` is what the server wants known.
async function tenServers(t, dir) {
  const found = [];
  for (const [at, revision] of REVISIONS.entries()) {
    const name = `s${at}`;
    writeFileSync(path.join(dir, `${name}.record.jsonl`), '');
    found.push({ name, revision, transport: 'stdio', log: () => recorded(dir, name).filter((e) => e.at === 'log'),
      config: { command: process.execPath, args: [path.join(libDir, 'exact_stdio.mjs'), revision, name,
        path.join(dir, `${name}.record.jsonl`)] } });
    const over = await exactHttp(t, revision, `h${at}`);
    found.push({ name: `h${at}`, revision, transport: 'HTTP', log: () => over.exact.log,
      config: { url: over.url, ...(revision === '2024-11-05' && { type: 'sse' }) } });
  }
  return found;
}

// One caller's view of one server.
class Pair {
  constructor(caller, callerRevision, server) {
    Object.assign(this, { caller, server, to: callerRevision, from: server.revision });
    this.has = common(this.to, this.from);
    this.place = (uri) => exposedUri(server.name, uri);
    this.key = `${callerRevision} ${server.name} ${caller.constructor.name}`;
  }
  get modern() { return this.to === MODERN; }
  exposed(name) { return `${this.server.name}__${name}`; }
  async result(method, params, options) {
    const { message, told } = await this.caller.request(method, params, options);
    assert.ok(message?.result, `${method}: ${JSON.stringify(message)}`);
    return { result: message.result, told };
  }
  call(tool, args, options) {
    return this.result('tools/call', { name: this.exposed(tool), arguments: args }, options);
  }
  // A result without what every modern result has, which is looked at here.
  same(result, expected, { hints = false } = {}) {
    const { resultType, ttlMs, cacheScope, ...rest } = structuredClone(result);
    assert.equal(resultType, this.modern ? 'complete' : undefined);
    assert.equal(ttlMs !== undefined, hints && this.modern, 'ttlMs');
    assert.equal(cacheScope !== undefined, hints && this.modern, 'cacheScope');
    const info = rest._meta?.[SERVER_INFO];
    assert.equal(info?.name, this.modern ? (this.from === MODERN ? this.server.name : 'mcpx') : undefined);
    if (info) delete rest._meta[SERVER_INFO];
    if (info && Object.keys(rest._meta).length === 0) delete rest._meta;
    assert.deepEqual(rest, expected);
  }
}

const operations = {
  async list(pair) {
    const own = definitions(pair.has);
    for (const [member, method] of Object.entries(LISTS)) {
      const { result } = await pair.result(method, {});
      for (const item of own[member]) {
        const expected = { ...item };
        if (item.uri) expected.uri = pair.place(item.uri);
        else if (item.uriTemplate) expected.uriTemplate = pair.place(item.uriTemplate);
        else expected.name = pair.exposed(item.name);
        const id = Object.keys(expected).find((k) => k.startsWith('uri')) ?? 'name';
        assert.deepEqual(result[member].find((x) => x[id] === expected[id]), expected, method);
      }
    }
  },
  async call(pair) {
    const args = { who: pair.key, n: 1.5 };
    const { result } = await pair.call('echo', args);
    pair.same(result, callResult(pair.from, pair.to, args, { echo: args }, pair.place));
    const any = (await pair.call('any', args)).result;
    const structured = defines(pair.from, 'structuredAny') ? [1.5, args] : undefined;
    pair.same(any, callResult(pair.from, pair.to, args, structured, pair.place));
  },
  async read(pair) {
    for (const uri of ['exact://one', `exact://many/${pair.to}`]) {
      const { result } = await pair.result('resources/read', { uri: pair.place(uri) });
      pair.same(result, { contents: [contents(pair.has, pair.place(uri), `content of ${uri}`)],
        _meta: { 'vendor/d': 1 } }, { hints: true });
    }
  },
  async get(pair) {
    const { result } = await pair.result('prompts/get',
      { name: pair.exposed('greet'), arguments: { who: pair.to } });
    pair.same(result, { description: 'Greets', _meta: { 'vendor/g': 1 },
      messages: blocks(pair.from, pair.to, `hello ${pair.to}`, pair.place)
        .map((content) => ({ role: 'user', content })) });
  },
  async complete(pair) {
    const context = { arguments: { other: pair.key } };
    const { result } = await pair.result('completion/complete', {
      ref: { type: 'ref/prompt', name: pair.exposed('greet') },
      argument: { name: 'who', value: pair.key }, ...(defines(pair.to, 'context') && { context }) });
    pair.same(result, { completion: { values: [`${pair.key}-done`], total: 1, hasMore: false } });
    const seen = pair.server.log().find((e) => e.completed?.argument.value === pair.key).completed;
    assert.deepEqual(seen.ref, { type: 'ref/prompt', name: 'greet' });
    assert.deepEqual(seen.context, pair.has('context') ? context : undefined);
  },
  async error(pair) {
    const args = { who: pair.key };
    const failed = (await pair.caller.request('tools/call', { name: pair.exposed('fail'), arguments: args })).message;
    assert.deepEqual(failed.error, { code: 4711, message: 'my own words', data: { n: 1.5, args } });
    const uri = pair.place('exact://none');
    const missing = (await pair.caller.request('resources/read', { uri })).message;
    assert.deepEqual(missing.error,
      { code: pair.modern ? -32602 : -32002, message: 'Resource not found', data: { uri } });
  },
  async progress(pair) {
    const progressToken = `token ${pair.key}`;
    const { told } = await pair.call('work', {}, { progressToken });
    const progress = told.filter((m) => m.method === 'notifications/progress'
      && m.params.progressToken === progressToken);
    assert.deepEqual(progress.map((m) => m.params), [1, 2].map((n) => ({ progressToken, progress: n, total: 2,
      ...(pair.has('progressMessage') && { message: `step ${n}` }) })));
  },
  async log(pair) {
    await pair.caller.setLevel('error');
    assert.deepEqual(logsIn(await pair.call('work', {}, { level: 'error' })), []);
    await pair.caller.setLevel('warning');
    assert.deepEqual(logsIn(await pair.call('work', {}, { level: 'warning' })),
      [{ level: 'warning', logger: 'exact', data: { step: 2 } }]);
  },
  async cancel(pair) {
    const cancel = pair.caller.begin('tools/call',
      { name: pair.exposed('hang'), arguments: { key: pair.key } });
    const saw = (what) => eventually(`${what} at ${pair.server.name}`,
      () => pair.server.log().some((e) => e[what] === pair.key));
    await saw('hangs');
    assert.equal(await cancel(), undefined, 'a cancelled request has no answer');
    await saw('cancelled');
  },
};
const logsIn = ({ told }) => told.filter((m) => m.method === 'notifications/message').map((m) => m.params);

const changesOf = (caller) => caller.changes.filter((m) => m === 'notifications/tools/list_changed').length;

async function house(t) {
  const dir = temporary(t);
  const servers = await tenServers(t, dir);
  const daemon = await Daemon.start(t, {
    servers: Object.fromEntries(servers.map(({ name, config }) => [name, config])) }, { dir });
  for (const { name, revision } of servers) {
    assert.equal((await daemon.server(name)).state, 'ready', name);
    assert.match((await daemon.rest(`/v1/servers/${name}`)).text, new RegExp(revision), `${name} speaks ${revision}`);
  }
  return { dir, servers, daemon };
}

async function everyOperation(pair) {
  for (const [name, run] of Object.entries(operations)) {
    await run(pair).catch((error) => {
      error.message = `${name}: ${error.message}`;
      throw error;
    });
  }
}

test('matrix: callers of every revision with servers of every revision, over both transports', async (t) => {
  const { dir, servers, daemon } = await house(t);
  const callers = await Promise.all(['HTTP', 'stdio'].flatMap((transport) => REVISIONS.map(
    async (revision) => ({ revision, transport, caller: await openCaller(t, daemon, revision, transport) }))));

  for (const { revision, transport, caller } of callers) {
    await t.test(`caller of ${revision} over ${transport}`, async (s) => {
      if (revision !== MODERN) assert.equal(caller.opened.protocolVersion, revision);
      await Promise.all(servers.map((server) => s.test(`server of ${server.revision} over ${server.transport}`,
        () => everyOperation(new Pair(caller, revision, server)))));
    });
  }

  await t.test('list_changed of every server reaches every caller, and the new tool is listed', async () => {
    for (const server of servers) {
      const before = callers.map(({ caller }) => changesOf(caller));
      await new Pair(callers[REVISIONS.length - 1].caller, MODERN, server).call('change', {});
      await Promise.all(callers.map(async ({ revision, caller }, at) => {
        await eventually(`${revision} told of ${server.name}`, () => changesOf(caller) > before[at]);
        const { message } = await caller.request('tools/list', {});
        const names = message.result.tools.map((x) => x.name).filter((n) => n.startsWith(`${server.name}__`));
        assert.deepEqual(names, [...toolNames, 'changed'].map((n) => `${server.name}__${n}`));
      }));
    }
  });

  await t.test('the servers spoke their revision exactly', () => {
    for (const { name } of servers.filter((s) => s.transport === 'stdio')) {
      const lines = transcript(dir, name).filter((e) => ['line', 'said'].includes(e.at))
        .map(({ at, text }) => ({ from: at === 'said' ? 'mcpx' : 'peer', text }));
      const { checked, problems } = Schemas.load().check(conversation(lines, name));
      assert.deepEqual(problems, [], name);
      assert.ok(checked > 100, `${checked} frames of ${name}`);
    }
  });
});
