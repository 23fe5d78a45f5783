// The four clients nobody here wrote, each driven through one plan: list everything, call tools,
// read resources, get prompts, complete arguments. The same client runs the same plan against the
// server itself and through mcpx; compare.mjs says what may differ.
import { createRequire } from 'node:module';
import path from 'node:path';

import { run } from './daemon.mjs';
import { inspector, npmDir, slow } from './paths.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));

// How a client names things: as the server does (direct, and /mcp/{server}), or as /mcp shows them.
export const plainNames = { name: (_, n) => n, uri: (_, u) => u };

const LISTS = [['tools', 'tools/list', 'tools'], ['prompts', 'prompts/list', 'prompts'],
  ['resources', 'resources/list', 'resources'],
  ['resourceTemplates', 'resources/templates/list', 'resources']];

const options = { timeout: 60_000 * slow };

// An error is a result too: code and message have to be the same.
async function outcome(promise) {
  try {
    return await promise;
  } catch (error) {
    return { failed: { code: error.code, message: String(error.message)
      .replace(/^MCP error -?\d+: /, '') } };
  }
}

async function drive(client, request, plan, naming) {
  const found = { initialized: { capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions() } };
  for (const [member, method, capability] of LISTS) {
    if (!client.getServerCapabilities()?.[capability]) continue;
    found[member] = [];
    for (let cursor; ;) {
      const page = await request(method, cursor === undefined ? {} : { cursor });
      found[member].push(...page[member]);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
  }
  found.results = [];
  for (const step of plan) {
    let answer;
    if (step.tool) {
      const progress = [];
      const onprogress = step.progress ? (p) => progress.push(p) : undefined;
      answer = await outcome(request('tools/call',
        { name: naming.name(step.server, step.tool), arguments: step.arguments }, { onprogress }));
      if (step.progress) answer = { ...answer, progress };
    } else if (step.read) {
      answer = await outcome(request('resources/read', { uri: naming.uri(step.server, step.read) }));
    } else if (step.prompt) {
      answer = await outcome(request('prompts/get',
        { name: naming.name(step.server, step.prompt), arguments: step.arguments }));
    } else {
      const ref = step.complete.type === 'ref/prompt'
        ? { ...step.complete, name: naming.name(step.server, step.complete.name) }
        : { ...step.complete, uri: naming.uri(step.server, step.complete.uri) };
      answer = await outcome(request('completion/complete',
        { ref, argument: step.argument, context: step.context }));
    }
    found.results.push({ step: label(step), answer });
  }
  return found;
}
export function label(step) {
  return `${step.server}: ${step.tool ?? step.read ?? step.prompt ?? JSON.stringify(step.complete)}`
    + `(${JSON.stringify(step.arguments ?? step.argument ?? {})})`;
}

// Targets: {url} or {command, args, env}.
async function withSdk1(target, plan, naming) {
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
  const { ResultSchema } = require('@modelcontextprotocol/sdk/types.js');
  const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
  const client = new Client({ name: 'e2e-sdk1', version: '1' });
  const transport = target.url ? new StreamableHTTPClientTransport(new URL(target.url))
    : new StdioClientTransport({ ...target, stderr: 'ignore' });
  await client.connect(transport, options);
  try {
    return await drive(client, (method, params, extra = {}) => client.request(
      { method, params }, ResultSchema, { ...options, ...extra }), plan, naming);
  } finally {
    if (target.url) await transport.terminateSession().catch(() => {});
    await client.close();
  }
}

async function withClient2(target, plan, naming, mode) {
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  const client = new Client({ name: 'e2e-client2', version: '1' }, { versionNegotiation: { mode } });
  const transport = target.url ? new StreamableHTTPClientTransport(new URL(target.url))
    : new StdioClientTransport({ ...target, stderr: 'ignore' });
  await client.connect(transport, options);
  try {
    return await drive(client, (method, params, extra = {}) => client.request(
      { method, params }, { ...options, ...extra }), plan, naming);
  } finally {
    await client.close();
  }
}

// One process per request: the plan has to be short.
export async function inspect(target, home, args) {
  const where = target.url ? ['--server-url', target.url, '--transport', 'http']
    : [target.command, ...target.args];
  const env = { ...process.env, ...(target.env ?? {}), HOME: home, MCP_STORAGE_DIR: home };
  const answer = await run(process.execPath,
    [inspector, '--cli', ...where, '-q', '--format', 'json', ...args], { env, timeout: 60_000 });
  if (answer.code !== 0 && answer.stdout.trim() === '') {
    throw new Error(`inspector ${args.join(' ')}: exit ${answer.code}: ${answer.stderr}`);
  }
  const body = JSON.parse(answer.stdout);
  return body.result ?? body;
}

async function withInspector(target, plan, naming, home) {
  const ask = (...args) => inspect(target, home, args);
  const found = { results: [] };
  const jobs = [];
  const capabilities = (await ask('--method', 'initialize')).capabilities ?? {};
  for (const [member, method, capability] of LISTS) {
    if (!capabilities[capability]) continue;
    jobs.push(async () => { found[member] = (await ask('--method', method))[member]; });
  }
  plan.forEach((step, at) => jobs.push(async () => {
    let answer;
    if (step.tool) {
      answer = await ask('--method', 'tools/call', '--tool-name', naming.name(step.server, step.tool),
        '--tool-args-json', JSON.stringify(step.arguments ?? {}));
    } else if (step.read) {
      answer = await ask('--method', 'resources/read', '--uri', naming.uri(step.server, step.read));
    } else if (step.prompt) {
      answer = await ask('--method', 'prompts/get', '--prompt-name',
        naming.name(step.server, step.prompt),
        ...Object.entries(step.arguments ?? {}).flatMap(([k, v]) => ['--prompt-args', `${k}=${v}`]));
    } else {
      return;
    }
    found.results[at] = { step: label(step), answer };
  }));
  const workers = [0, 1].map(async () => {
    for (let job; (job = jobs.shift());) await job();
  });
  await Promise.all(workers);
  found.results = found.results.filter(Boolean);
  return found;
}

export const clients = {
  'sdk 1.x': (target, plan, naming) => withSdk1(target, plan, naming),
  'client 2.x modern': (target, plan, naming) => withClient2(
    target, plan, naming, target.url ? { pin: '2026-07-28' } : 'auto'),
  'client 2.x auto': (target, plan, naming) => withClient2(target, plan, naming, 'auto'),
  inspector: (target, plan, naming, home) => withInspector(target, plan, naming, home),
};
