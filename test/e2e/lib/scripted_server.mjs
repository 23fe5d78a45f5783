// A fake stdio upstream that does what a JSON file says. Usage: node scripted_server.mjs SCRIPT.json
//
// Members of the script, all optional:
//   record      file that gets one JSON line per event, each with its process: {"at":"start",pid},
//               {"at":"line",text}, what mcpx really sent, byte for byte, {"at":"said",text}, what it was
//               told unless that is long, {"at":"end"}
//   era         "legacy" (default) | "modern" | "both"
//   serverInfo, capabilities, instructions
//   startup     {stderr: [lines], stderrBytes: n, stdout: [raw lines], exit: code, sleep: ms}
//   silent      [methods never answered]
//   silentOnce  [methods whose first request (over all starts, see `state`) is not answered]
//   silentFor   {method: n}          of one process the first n such requests are not answered
//   delay       {method: ms}
//   exitOn      {method: code}       exits instead of answering
//   exitAfter   {method: code}       answers, then exits
//   noise       {method: [raw lines written before the answer]}
//   tools, prompts, resources, templates   lists of definitions; a string is raw JSON text
//   pageSize    page length;  cursors: [cursor of page 2, of page 3, ...];  sameCursor: true
//   results     {tool: raw JSON text of the result}; the default echoes the arguments
//   errors      {tool: raw JSON text of the error}
//   counters    [tools that answer how often this process was called for them]
//   big         {tool: n}            a text of n bytes as result
//   initializeError  raw JSON text;  state: file that counts starts
//   methods     {method: raw JSON text of its result}, before all of the above
//   answerDiscover   raw JSON text of the result of server/discover
//   notices     {tool: [raw params]}   says notifications/com.example/news with these before the answer
//   subscribe   true: resources can be subscribed to, in either era, and the tool "touch" {uri} says to
//               those who did that one was updated;  unwatchable: [uris that cannot be]
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const script = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const era = script.era ?? 'legacy';
const MODERN = '2026-07-28';
const serverInfo = script.serverInfo ?? { name: 'scripted', version: '1.2.3' };

function record(event) {
  if (script.record) appendFileSync(script.record, JSON.stringify({ time: Date.now(), pid: process.pid, ...event }) + '\n');
}
// Synchronous, whatever the pipe's size: the tests rely on what was written before an exit.
function writeAll(fd, text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
const KEPT = 65_536;
function say(line) {
  if (line.length < KEPT) record({ at: 'said', text: line });
  writeAll(1, line + '\n');
}
const raw = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

function starts() {
  if (!script.state) return 1;
  const count = existsSync(script.state) ? Number(readFileSync(script.state, 'utf8')) : 0;
  writeFileSync(script.state, String(count + 1));
  return count + 1;
}
const counts = {};
const seenOnce = new Set();
function firstTime(method) {
  const file = script.state ? `${script.state}.${method.replace('/', '_')}` : null;
  if (file ? existsSync(file) : seenOnce.has(method)) return false;
  seenOnce.add(method);
  if (file) writeFileSync(file, '');
  return true;
}

function capabilities() {
  if (script.capabilities) return raw(script.capabilities);
  const found = {};
  if (script.tools) found.tools = { listChanged: true };
  if (script.prompts) found.prompts = { listChanged: true };
  if (script.resources || script.templates || script.subscribe) {
    found.resources = { listChanged: true, ...(script.subscribe && { subscribe: true }) };
  }
  return JSON.stringify(found);
}

function list(member, items = [], params) {
  const size = script.pageSize ?? items.length;
  const cursors = script.cursors ?? [];
  const pages = Math.max(1, Math.ceil(items.length / (size || 1)));
  const cursorOf = (page) => cursors[page - 1] ?? `page-${page}`;
  let page = 0;
  if (params?.cursor !== undefined) {
    for (let i = 1; i < pages; i++) if (cursorOf(i) === params.cursor) page = i;
  }
  const part = items.slice(page * size, (page + 1) * size).map(raw).join(',');
  let next = page + 1 < pages ? cursorOf(page + 1) : undefined;
  if (script.sameCursor) next = 'again';
  return `{"${member}":[${part}]${next === undefined ? '' : `,"nextCursor":${JSON.stringify(next)}`}`
    + `${era === 'modern' ? ',"resultType":"complete","ttlMs":1000,"cacheScope":"private"' : ''}}`;
}

// --- Subscriptions to resources

const META = 'io.modelcontextprotocol/subscriptionId';
const UPDATED = 'notifications/resources/updated';
const subscribed = new Set();  // of the session
const listens = new Map();     // id of subscriptions/listen -> its URIs
const refused = (uri) => script.unwatchable?.includes(uri);
const tell = (method, params) => say(JSON.stringify({ jsonrpc: '2.0', method, params }));

function subscribe({ uri }) {
  if (refused(uri)) return { error: `{"code":-32002,"message":"Resource not found","data":{"uri":"${uri}"}}` };
  subscribed.add(uri);
  return '{}';
}
function listen(id, { notifications: wanted }) {
  const uris = (wanted.resourceSubscriptions ?? []).filter((uri) => !refused(uri));
  listens.set(id, uris);
  const honoured = { ...wanted, resourceSubscriptions: uris.length > 0 ? uris : undefined };
  tell('notifications/subscriptions/acknowledged', { _meta: { [META]: id }, notifications: honoured });
}
function touch({ uri }) {
  if (subscribed.has(uri)) tell(UPDATED, { uri });
  for (const [id, uris] of listens) if (uris.includes(uri)) tell(UPDATED, { _meta: { [META]: id }, uri });
  return '{"content":[]}';
}

const withType = (text) => (era === 'modern' && !text.includes('"resultType"')
  ? text.replace(/^\{/, '{"resultType":"complete",') : text);

const methods = {
  initialize: (p) => (era === 'modern' ? null
    : script.initializeError ? { error: script.initializeError }
    : `{"protocolVersion":${JSON.stringify(script.version ?? p.protocolVersion)},"capabilities":`
      + `${capabilities()},"serverInfo":${raw(serverInfo)}`
      + `${script.instructions ? `,"instructions":${JSON.stringify(script.instructions)}` : ''}}`),
  'server/discover': () => script.answerDiscover ?? (era === 'legacy' ? null
    : `{"resultType":"complete","supportedVersions":["${MODERN}"],"capabilities":${capabilities()},`
      + `"ttlMs":1000,"cacheScope":"private",`
      + `"_meta":{"io.modelcontextprotocol/serverInfo":${raw(serverInfo)}}}`),
  ping: () => '{}',
  'tools/list': (p) => (script.tools ? list('tools', script.tools, p) : null),
  'prompts/list': (p) => (script.prompts ? list('prompts', script.prompts, p) : null),
  'resources/list': (p) => (script.resources || script.templates
    ? list('resources', script.resources, p) : null),
  'resources/templates/list': (p) => (script.resources || script.templates
    ? list('resourceTemplates', script.templates, p) : null),
  'resources/subscribe': (p) => (script.subscribe ? subscribe(p) : null),
  'resources/unsubscribe': (p) => (script.subscribe ? (subscribed.delete(p.uri), '{}') : null),
  'tools/call': (p) => {
    if (script.subscribe && p.name === 'touch') return withType(touch(p.arguments));
    for (const news of script.notices?.[p.name] ?? []) {
      say(`{"jsonrpc":"2.0","method":"notifications/com.example/news","params":${raw(news)}}`);
    }
    if (script.errors?.[p.name]) return { error: script.errors[p.name] };
    if (script.results?.[p.name]) return withType(raw(script.results[p.name]));
    if (script.counters?.includes(p.name)) {
      counts[p.name] = (counts[p.name] ?? 0) + 1;
      return withType(JSON.stringify({ content: [{ type: 'text', text: String(counts[p.name]) }] }));
    }
    if (script.big?.[p.name]) {
      return withType(`{"content":[{"type":"text","text":"${'x'.repeat(script.big[p.name])}"}]}`);
    }
    return withType(JSON.stringify({ content: [{ type: 'text',
      text: `${p.name}:${JSON.stringify(p.arguments)}` }] }));
  },
  'prompts/get': (p) => withType(JSON.stringify({ messages: [{ role: 'user',
    content: { type: 'text', text: `${serverInfo.name}/${p.name}` } }] })),
  'resources/read': (p) => withType(JSON.stringify({ contents: [{ uri: p.uri, text: 'content' }] })),
  'completion/complete': () => withType('{"completion":{"values":["one","two"]}}'),
  'logging/setLevel': () => '{}',
};

async function answer(request) {
  const { id, method, params } = request;
  if (script.subscribe && era !== 'legacy' && method === 'subscriptions/listen') return listen(id, params);
  if (script.silent?.includes(method)) return;
  if (script.silentOnce?.includes(method) && firstTime(method)) return;
  if (script.silentFor?.[method] > 0) return void script.silentFor[method]--;
  if (script.delay?.[method]) await pause(script.delay[method]);
  if (script.exitOn && method in script.exitOn) process.exit(script.exitOn[method]);
  for (const line of script.noise?.[method] ?? []) say(line);
  const made = script.methods?.[method] !== undefined ? raw(script.methods[method])
    : methods[method]?.(params ?? {}) ?? null;
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  if (made === null) {
    say(`${head}"error":{"code":-32601,"message":"Method not found"}}`);
  } else if (typeof made === 'object') {
    say(`${head}"error":${raw(made.error)}}`);
  } else {
    say(`${head}"result":${made}}`);
  }
  if (script.exitAfter && method in script.exitAfter) process.exit(script.exitAfter[method]);
}

record({ at: 'start', number: starts(), env: script.recordEnv ? process.env : undefined });
const startup = script.startup ?? {};
for (const line of startup.stderr ?? []) writeAll(2, line + '\n');
if (startup.stderrBytes) writeAll(2, 'e'.repeat(startup.stderrBytes - 1) + '\n');
for (const line of startup.stdout ?? []) say(line);
if (startup.exit !== undefined) process.exit(startup.exit);
if (startup.sleep) await pause(startup.sleep);

let pending = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  pending += chunk;
  for (let at; (at = pending.indexOf('\n')) >= 0; pending = pending.slice(at + 1)) {
    const text = pending.slice(0, at);
    record({ at: 'line', text });
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      continue;
    }
    if (message.method !== undefined && message.id !== undefined) {
      answer(message);
    } else if (listens.delete(message.params?.requestId)) {
      continue;
    } else if (script.onNotification?.[message.method]) {
      for (const line of script.onNotification[message.method]) say(line);
    }
  }
});
process.stdin.on('end', () => {
  record({ at: 'end' });
  if (!script.ignoreEnd) process.exit(0);
});
if (script.ignoreTerm) process.on('SIGTERM', () => record({ at: 'term' }));
