// An upstream whose tool `ask` asks its client the question named in its arguments, and answers with
// what it was told: text {"answer"} or {"refused": code}; it also writes that to the file `note`. With
// `after` it asks when the call is over. `urls` needs a visit before anything, until `note` exists. Usage: node asking_server.mjs legacy|modern [ROOTS]; serveHttp() has the legacy one over HTTP.
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { npmDir } from './paths.mjs';

const MODERN = '2026-07-28';
const words = (text) => [{ role: 'user', content: { type: 'text', text } }];
export const questions = {
  form: { method: 'elicitation/create', params: { message: 'Name?', requestedSchema: {
    type: 'object', properties: { name: { type: 'string' }, colour: { type: 'string', default: 'red' } },
    required: ['name'] } } },
  url: { method: 'elicitation/create', params: { mode: 'url', message: 'Sign in',
    url: 'https://a.example/in?x=%41', elicitationId: 'id-1' } },
  sampling: { method: 'sampling/createMessage', params: { messages: words('Hi'), maxTokens: 7 } },
  tools: { method: 'sampling/createMessage', params: { messages: words('Hi'), maxTokens: 7,
    tools: [{ name: 'look', inputSchema: { type: 'object' } }] } },
  roots: { method: 'roots/list', params: {} },
};
const definition = { name: 'ask', description: 'Asks', inputSchema: { type: 'object', properties: {
  kind: { type: 'string' }, times: { type: 'integer' } } } };
const later = { name: 'complete', description: 'Says that an elicitation is complete',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } } } };
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

const completed = (elicitationId) => ({ method: 'notifications/elicitation/complete', params: { elicitationId } });
// What a server of 2025-11-25 answers when it can do nothing before the user went somewhere.
const urlsRequired = () => Object.assign(new Error('Sign in first'), { code: -32042, data: { elicitations: [
  { ...questions.url.params, elicitationId: 'id-2' }] } });

// The official SDK, asked to send what it is told. The file `roots` is written when it hears that its
// client's roots changed; what the tool `complete` is given it says is complete.
function legacyServer(roots) {
  const require = createRequire(path.join(npmDir, 'package.json'));
  const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
  const { CallToolRequestSchema, ListToolsRequestSchema, ResultSchema, RootsListChangedNotificationSchema } =
    require('@modelcontextprotocol/sdk/types.js');
  const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [definition, later] }));
  if (roots) {
    server.setNotificationHandler(RootsListChangedNotificationSchema, () => writeFileSync(roots, 'changed'));
  }
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendRequest }) => {
    if (params.name === 'complete') {
      await server.notification(completed(params.arguments.id));
      return text('told');
    }
    const { kind, times = 1, together = false, note, complete, after } = params.arguments;
    if (kind === 'urls' && note && existsSync(note)) return text('visited');
    if (kind === 'urls') throw urlsRequired();
    const told = (answer) => answer.then(({ _meta, ...answer }) => ({ answer }), (error) => ({ refused: error.code }));
    const ask = () => told(sendRequest(questions[kind], ResultSchema));
    if (after) {
      const later = () => told(server.request(questions[kind], ResultSchema));
      setTimeout(() => later().then((got) => writeFileSync(note, JSON.stringify(got))), 100);
      return text('later');
    }
    if (together) return text(await Promise.all(Array.from({ length: times }, ask)));
    const got = [];
    for (let i = 0; i < times; i++) got.push(await ask());
    if (complete) await server.notification(completed(questions.url.params.elicitationId));
    if (note) writeFileSync(note, JSON.stringify(times === 1 ? got[0] : got));
    return text(times === 1 ? got[0] : got);
  });
  return { server, require };
}

export async function serveHttp(t) {
  const { require } = legacyServer();
  const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const sessions = new Map();
  const listener = http.createServer(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (!transport && id) return response.writeHead(404).end();
    if (!transport) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID,
        onsessioninitialized: (fresh) => sessions.set(fresh, transport) });
      await legacyServer().server.connect(transport);
    }
    return transport.handleRequest(request, response);
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    for (const transport of sessions.values()) await transport.close();  // what is asked still, ends
    listener.closeAllConnections();
    listener.close();
  });
  return `http://127.0.0.1:${listener.address().port}/mcp`;
}

// 2026-07-28 by hand: as many rounds as it is told, its state counting them.
const CAPABLE = { form: (c) => c.elicitation && (c.elicitation.form || !c.elicitation.url),
  url: (c) => c.elicitation?.url, sampling: (c) => c.sampling, tools: (c) => c.sampling?.tools,
  roots: (c) => c.roots };
function modernCall({ arguments: { kind, times = 1 }, inputResponses = {}, requestState, _meta }) {
  const answered = requestState ? JSON.parse(Buffer.from(requestState, 'base64url')) : [];
  if (inputResponses.question) answered.push({ answer: inputResponses.question });
  if (answered.length === times) return { resultType: 'complete', ...text(times === 1 ? answered[0] : answered) };
  if (!CAPABLE[kind](_meta['io.modelcontextprotocol/clientCapabilities'])) {
    return { error: { code: -32021, message: 'cannot be asked', data: { requiredCapabilities: { [kind]: {} } } } };
  }
  const { elicitationId, ...params } = questions[kind].params;
  return { resultType: 'input_required', inputRequests: { question: { ...questions[kind], params } },
    requestState: Buffer.from(JSON.stringify(answered)).toString('base64url') };
}
// All of `kinds` in one result, and again until it has them all.
function modernTogether({ arguments: { kinds, state = true }, inputResponses = {}, requestState, _meta }) {
  const got = { ...(requestState && JSON.parse(requestState)), ...inputResponses };
  const open = kinds.filter((kind) => !got[kind]
    && CAPABLE[kind](_meta['io.modelcontextprotocol/clientCapabilities']));
  if (open.length === 0) return { resultType: 'complete', ...text({ got, requestState }) };
  return { resultType: 'input_required',
    inputRequests: Object.fromEntries(open.map((kind) => {
      const { elicitationId, ...params } = questions[kind].params;
      return [kind, { ...questions[kind], params }];
    })),
    ...(state && { requestState: JSON.stringify(got) }) };
}
function serveModern() {
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'public' };
  const answers = {
    'server/discover': () => ({ ...complete, supportedVersions: [MODERN], capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'asking', version: '1' } } }),
    'tools/list': () => ({ ...complete, tools: [definition] }),
    'tools/call': (params) => (params.arguments.kinds ? modernTogether : modernCall)(params),
  };
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const { error = answers[method] ? undefined : { code: -32601, message: 'no' }, ...result } =
      answers[method]?.(params) ?? {};
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(error ? { error } : { result }) }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'modern') {
    serveModern();
  } else {
    const { server, require } = legacyServer(process.argv[3]);
    const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
    await server.connect(new StdioServerTransport());
  }
}
